//! `get`: an image as a root file system, a tarball or a folder of blobs.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    path::Path,
};

use airside_archive::Limits;
use airside_model::{MetadataField, chain};
use airside_oci::{Digest, ImageConfig};
use regex_lite::Regex;
use serde_json::json;

use super::{
    image::{self, Image},
    layout,
    settings::{Format, InParams, Source},
};
use crate::{
    Failure, InRequest, Part, Produced,
    log::say,
    registry::{Meter, Registry, check_size, with_reference},
    request::read,
    scratch::Scratch,
};

/// A size beyond any image in use; a bound on what a hostile one can do to the disk.
const LIMITS: Limits = Limits {
    bytes: 64 << 30,
    entries: 4_000_000,
};

/// Factor by which a layer may grow when it is unpacked: far more than files do, far less than a
/// bomb.
const GROWTH: u64 = 100;
/// Bytes that a layer may unpack to however small it is.
const ALWAYS: u64 = 64 << 20;

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source)?;
    let params: InParams = read(Part::Params, request.params)?;
    let field = |key: &str| request.version.0.get(key).map(String::as_str);
    let digest = field("digest").ok_or_else(|| Failure::said("the version has no `digest`"))?;
    let digest = Digest::parse(digest)?;
    let tag = field("tag").unwrap_or("latest").to_owned();
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    say(log, &format!("fetching {}@{digest}", source.name()));
    let get = Get {
        source: &source,
        params: &params,
        digest,
        tag,
        dest,
    };
    let metadata = source.ask(log, |registry, log| {
        let fetched = get.from(registry, log);
        if fetched.is_err() {
            crate::paths::clear(dest);
        }
        fetched.map(Some)
    })?;
    let write = |name: &str, text: &str| {
        let path = dest.join(name);
        fs::write(&path, text).map_err(Failure::io(&path))
    };
    write("tag", &get.tag)?;
    write("digest", &get.digest.to_string())?;
    write("repository", source.name())?;
    Ok(Produced {
        version: request.version,
        metadata: metadata.unwrap_or_default(),
    })
}

struct Get<'a> {
    source: &'a Source,
    params: &'a InParams,
    digest: Digest,
    tag: String,
    dest: &'a Path,
}

impl Get<'_> {
    fn from(
        &self,
        registry: &Registry,
        log: &mut dyn Write,
    ) -> Result<Vec<MetadataField>, Failure> {
        let platform = self.source.platform(self.params.platform.as_ref());
        let mut metadata = vec![
            field("repository", self.source.name()),
            field("tag", &self.tag),
        ];
        let labelled = self.source.label_regex.is_some() || self.source.annotation_regex.is_some();
        if self.params.skip_download && !labelled {
            return Ok(metadata);
        }
        if self.params.format == Format::OciLayout && !self.params.skip_download {
            let meter = Meter::logging(&self.name(), log);
            layout::write(registry, &self.digest, &self.dest.join("oci"), meter)?;
            if !labelled {
                return Ok(metadata);
            }
        }
        let image = image::resolve(registry, &self.digest, &platform)?;
        check_size(&image.manifest, LIMITS.bytes)?;
        let config = image.config(registry)?;
        let labels = config.config.labels.clone().unwrap_or_default();
        for (key, regex, map) in [
            ("label_regex", &self.source.label_regex, &labels),
            (
                "annotation_regex",
                &self.source.annotation_regex,
                &image.manifest.annotations,
            ),
        ] {
            let Some(regex) = regex else { continue };
            let regex = Regex::new(regex).map_err(|error| {
                Failure::source(
                    key,
                    format!("must be a regular expression: {}", chain(&error)),
                )
            })?;
            let found = map.iter().filter(|(name, _)| regex.is_match(name));
            metadata.extend(found.map(|(name, value)| field(name, value)));
        }
        if self.params.skip_download {
            return Ok(metadata);
        }
        match self.params.format {
            Format::Rootfs => self.rootfs(registry, &image, &config, log)?,
            Format::Oci => self.tarball(registry, &image, log)?,
            Format::OciLayout => return Ok(metadata),
            Format::Description => self.describe(&config)?,
        }
        self.json("labels.json", &json!(labels))?;
        Ok(metadata)
    }

    fn rootfs(
        &self,
        registry: &Registry,
        image: &Image,
        config: &ImageConfig,
        log: &mut dyn Write,
    ) -> Result<(), Failure> {
        let rootfs = self.dest.join("rootfs");
        fs::create_dir(&rootfs).map_err(Failure::io(&rootfs))?;
        // Beside what it becomes: there is room for it where there is room for the image.
        let scratch = Scratch::within(self.dest)?;
        let file = scratch.path().join("layer");
        let layers = &image.manifest.layers;
        let mut meter = Meter::logging(&self.name(), log);
        meter.expect(layers);
        for layer in layers {
            registry.download(layer, &file, &mut meter)?;
            unpack(&file, &rootfs)
                .map_err(|words| Failure::said(format!("layer {}: {words}", layer.digest)))?;
        }
        meter.finish();
        self.describe(config)
    }

    /// Returns the image's name for the log.
    fn name(&self) -> String {
        format!("{}:{}", self.source.name(), self.tag)
    }

    /// Writes the metadata that it takes to run a program in the image.
    fn describe(&self, config: &ImageConfig) -> Result<(), Failure> {
        let settings = &config.config;
        self.json(
            "metadata.json",
            &json!({
                "env": settings.env, "user": settings.user.as_deref().unwrap_or_default(),
                "cmd": settings.cmd, "entrypoint": settings.entrypoint,
            }),
        )
    }

    /// Writes the image as `docker load` takes it.
    fn tarball(
        &self,
        registry: &Registry,
        image: &Image,
        log: &mut dyn Write,
    ) -> Result<(), Failure> {
        let path = self.dest.join("image.tar");
        let scratch = Scratch::new()?;
        let blob = scratch.path().join("blob");
        let file = File::create(&path).map_err(Failure::io(&path))?;
        let mut builder = tar::Builder::new(file);
        let mut layers = Vec::new();
        let config = &image.manifest.config;
        let blobs = &image.manifest.layers;
        let mut meter = Meter::logging(&self.name(), log);
        meter.expect(image.manifest.blobs());
        for (descriptor, is_layer) in
            std::iter::once((config, false)).chain(blobs.iter().map(|layer| (layer, true)))
        {
            registry.download(descriptor, &blob, &mut meter)?;
            let name = if is_layer {
                format!("{}.tar.gz", descriptor.digest.hex())
            } else {
                descriptor.digest.to_string()
            };
            // A layer that is there twice is one file.
            if is_layer && layers.contains(&name) {
                layers.push(name);
                continue;
            }
            let mut opened = File::open(&blob).map_err(Failure::io(&blob))?;
            let size = opened.metadata().map_err(Failure::io(&blob))?.len();
            let mut header = header(size);
            let added = builder.append_data(&mut header, &name, &mut opened);
            added.map_err(Failure::io(&path))?;
            if is_layer {
                layers.push(name);
            }
        }
        meter.finish();
        let repository = self.source.repository()?;
        let manifest = json!([{
            "Config": config.digest.to_string(),
            "RepoTags": [with_reference(&repository, &self.tag)],
            "Layers": layers,
        }])
        .to_string();
        let mut header = header(manifest.len() as u64);
        let added = builder.append_data(&mut header, "manifest.json", manifest.as_bytes());
        added
            .and_then(|()| builder.finish())
            .map_err(Failure::io(&path))
    }

    fn json(&self, name: &str, value: &serde_json::Value) -> Result<(), Failure> {
        let path = self.dest.join(name);
        fs::write(&path, format!("{value}\n")).map_err(Failure::io(&path))
    }
}

fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header
}

fn field(name: &str, value: &str) -> MetadataField {
    MetadataField {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// Applies a layer, whatever it is compressed with: labels are not to be relied upon.
fn unpack(layer: &Path, rootfs: &Path) -> Result<(), String> {
    let file = File::open(layer).map_err(|error| chain(&error))?;
    let stored = file.metadata().map_err(|error| chain(&error))?.len();
    let grown = stored.saturating_mul(GROWTH).saturating_add(ALWAYS);
    let limits = Limits {
        bytes: grown.min(LIMITS.bytes),
        ..LIMITS
    };
    let reader =
        decompressed(BufReader::with_capacity(1 << 16, file)).map_err(|error| chain(&error))?;
    airside_archive::unpack_layer(reader, rootfs, &limits).map_err(|error| chain(&error))
}

fn decompressed(mut reader: BufReader<File>) -> std::io::Result<Box<dyn Read>> {
    let first = reader.fill_buf()?;
    Ok(match first {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(reader)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::stream::read::Decoder::with_buffer(reader)?),
        _ => Box::new(reader),
    })
}
