//! `put`: pushes an image under all its tags.

use std::{
    collections::HashSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use airside_model::{MetadataField, Version, chain};

use super::{
    bundle::Bundle,
    settings::{Intent, OutParams, Source, tag_is_fine},
};
use crate::{
    Failure, OutRequest, Part, Produced,
    log::say,
    paths::{inside, the_one},
    registry::Registry,
    request::read,
    versions::Semver,
};

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source)?;
    let params: OutParams = read(Part::Params, request.params)?;
    let image = image(&params, src)?;
    let more = additional(&params, src)?;
    let bundle = Bundle::open(&image)?;
    let registry = source.registry(Intent::Push)?;
    let mut tags: Vec<String> = source.tag.iter().cloned().collect();
    if let Some(text) = &params.version {
        let version = Semver::parse(text).ok_or_else(|| {
            Failure::params(
                "version",
                format!("is {text:?}, which is not a semantic version"),
            )
        })?;
        tags.extend(numbered(&source, &params, &version, &registry)?);
    }
    tags.extend(more);
    let Some(first) = tags.first().cloned() else {
        let words = "or params.version must say which tag to push";
        return Err(Failure::source("tag", words));
    };
    if let Some(bad) = tags.iter().find(|tag| !tag_is_fine(tag)) {
        return Err(Failure::said(format!("{bad:?} is not a tag")));
    }
    send(&registry, &bundle, log)?;
    let top = &bundle.top;
    let mut named = HashSet::new();
    for tag in tags.iter().filter(|tag| named.insert(tag.as_str())) {
        say(log, &format!("pushing {}:{tag}", source.name()));
        registry.name(tag, &top.media_type, &top.bytes)?;
    }
    say(log, &format!("pushed {}", top.digest));
    let field = |name: &str, value: &str| MetadataField {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    Ok(Produced {
        version: Version::from([("tag", first), ("digest", top.digest.to_string())]),
        metadata: vec![
            field("repository", source.name()),
            field("tags", &tags.join(" ")),
        ],
    })
}

fn image(params: &OutParams, src: &Path) -> Result<PathBuf, Failure> {
    let name = params.image.as_deref().ok_or_else(|| {
        Failure::params(
            "image",
            "is missing: give a tarball or the folder of an OCI layout",
        )
    })?;
    the_one(src, name, "image")
}

fn additional(params: &OutParams, src: &Path) -> Result<Vec<String>, Failure> {
    let prefix = params.tag_prefix.as_deref();
    let Some(name) = &params.additional_tags else {
        return match prefix {
            Some(_) => Err(Failure::params(
                "tag_prefix",
                "needs params.additional_tags",
            )),
            None => Ok(Vec::new()),
        };
    };
    let path = inside(src, name)?;
    let text = fs::read_to_string(&path).map_err(|error| {
        Failure::params(
            "additional_tags",
            format!("is {name:?}, which cannot be read: {}", chain(&error)),
        )
    })?;
    let prefix = prefix.unwrap_or_default();
    Ok(text
        .split_whitespace()
        .map(|tag| format!("{prefix}{tag}"))
        .collect())
}

/// The tag of a version, and those of its series that it is the newest of.
fn numbered(
    source: &Source,
    params: &OutParams,
    version: &Semver,
    registry: &Registry,
) -> Result<Vec<String>, Failure> {
    let suffix = source
        .variant
        .as_ref()
        .map(|variant| format!("-{variant}"))
        .unwrap_or_default();
    let mut tags = vec![format!("{version}{suffix}")];
    if !params.bump_aliases || version.is_pre_release() {
        return Ok(tags);
    }
    let others: Vec<Semver> = registry
        .tags()?
        .iter()
        .filter_map(|tag| Semver::parse(tag.strip_suffix(&suffix)?))
        .filter(|other| !other.is_pre_release())
        .collect();
    let newest_of = |same: &dyn Fn(&Semver) -> bool| {
        !others
            .iter()
            .any(|other| same(other) && other.precedence(version).is_gt())
    };
    let major = |other: &Semver| other.major == version.major;
    let minor = |other: &Semver| major(other) && other.minor == version.minor;
    if newest_of(&|_| true) {
        tags.push(
            source
                .variant
                .clone()
                .unwrap_or_else(|| "latest".to_owned()),
        );
    }
    if newest_of(&major) {
        tags.push(format!("{}{suffix}", version.major));
    }
    if newest_of(&minor) {
        tags.push(format!("{}.{}{suffix}", version.major, version.minor));
    }
    Ok(tags)
}

/// Everything but the tags.
fn send(registry: &Registry, bundle: &Bundle, log: &mut dyn Write) -> Result<(), Failure> {
    let mut sent = HashSet::new();
    for blob in bundle.blobs.iter().filter(|blob| sent.insert(&blob.digest)) {
        if registry.has_blob(&blob.digest)? {
            continue;
        }
        let (mut reader, size) = bundle.blob(&blob.digest)?;
        say(log, &format!("sending {} ({size} bytes)", blob.digest));
        registry.upload(&blob.digest, &mut *reader, size)?;
    }
    for document in &bundle.below {
        let name = document.digest.to_string();
        registry.name(&name, &document.media_type, &document.bytes)?;
    }
    Ok(())
}
