//! `get`: the assets of a release, and files about it.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use airside_archive::Hasher;
use airside_blocking_http::Response;
use airside_model::Version;

use super::{
    api::{Api, copy},
    release::{Asset, Release},
    settings::{InParams, Source},
};
use crate::{
    Failure, InRequest, Part, Produced,
    log::say,
    paths::{clear, matches},
    request::read_with_warnings,
};

/// Larger than anything that GitHub makes of a repository's sources.
const MAX_SOURCES: u64 = 64 << 30;

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source, log)?;
    let params: InParams = read_with_warnings(Part::Params, request.params, log)?;
    let api = Api::new(&source.place)?;
    let get = Get {
        release: find(&api, &request.version)?,
        api,
        source: &source,
        params,
        dest,
    };
    get.all(log).inspect_err(|_| clear(dest))
}

/// Returns the release with the version's number, or else with its tag.
fn find(api: &Api<'_>, version: &Version) -> Result<Release, Failure> {
    let value = |key: &str| version.0.get(key).filter(|value| !value.is_empty());
    if let Some(id) = value("id")
        && let Some(release) = api.release(id)?
    {
        return Ok(release);
    }
    if let Some(tag) = value("tag")
        && let Some(release) = api.release_of_tag(tag)?
    {
        return Ok(release);
    }
    let words = format!("there is no release {} any more", version.canonical());
    Err(Failure::said(words))
}

struct Get<'a> {
    api: Api<'a>,
    source: &'a Source,
    params: InParams,
    release: Release,
    dest: &'a Path,
}

impl Get<'_> {
    fn all(&self, log: &mut dyn Write) -> Result<Produced, Failure> {
        let folder = if self.source.asset_dir {
            self.dest.join("assets")
        } else {
            self.dest.to_owned()
        };
        fs::create_dir_all(&folder).map_err(Failure::io(&folder))?;
        let commit = self.commit()?;
        self.describe(commit.as_deref())?;
        for asset in self.api.assets(self.release.listed.id)? {
            if asset.is_uploaded() && self.is_wanted(&asset.name) {
                self.download(&asset, &folder, log)?;
            }
        }
        let tag = self.release.listed.tag();
        for (wanted, kind, name) in [
            (
                self.params.include_source_tarball,
                "tarball",
                "source.tar.gz",
            ),
            (self.params.include_source_zip, "zipball", "source.zip"),
        ] {
            if wanted && !tag.is_empty() {
                say(log, &format!("downloading the sources as {name}"));
                let response = self.api.open_sources(kind, tag)?;
                write_body(response, MAX_SOURCES, &folder.join(name))?;
            }
        }
        Ok(Produced {
            version: self.release.listed.version(),
            metadata: self.release.metadata(commit.as_deref()),
        })
    }

    /// The tag of a draft need not be there yet.
    fn commit(&self) -> Result<Option<String>, Failure> {
        let listed = &self.release.listed;
        if listed.draft || listed.tag().is_empty() {
            return Ok(None);
        }
        self.api.commit_of(listed.tag()).map(Some)
    }

    /// Writes a file for each thing that is known of the release.
    fn describe(&self, commit: Option<&str>) -> Result<(), Failure> {
        let (listed, texts) = (&self.release.listed, &self.release.texts);
        let (id, time) = (
            listed.id.to_string(),
            listed.time().map(|time| time.to_string()),
        );
        let version = self.source.choice.tag_filter.version(listed.tag());
        for (name, text) in [
            ("id", Some(id.as_str())),
            ("tag", listed.tag_name.as_deref()),
            ("version", listed.tag_name.is_some().then_some(version)),
            ("url", texts.html_url.as_deref()),
            ("body", texts.body.as_deref()),
            ("timestamp", time.as_deref()),
            ("commit_sha", commit),
        ] {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                let path = self.dest.join(name);
                fs::write(&path, text).map_err(Failure::io(&path))?;
            }
        }
        Ok(())
    }

    fn is_wanted(&self, name: &str) -> bool {
        let globs = &self.params.globs;
        globs.is_empty() || globs.iter().any(|glob| matches(glob, name))
    }

    fn download(&self, asset: &Asset, folder: &Path, log: &mut dyn Write) -> Result<(), Failure> {
        if !asset.has_plain_name() {
            let words = format!(
                "the asset {:?} has a name that no file may have",
                asset.name
            );
            return Err(Failure::said(words));
        }
        say(log, &format!("downloading asset {}", asset.name));
        let response = self.api.open_asset(asset.id)?;
        let (bytes, hash) = write_body(response, asset.size, &folder.join(&asset.name))?;
        let is_same = asset
            .sha256()
            .is_none_or(|told| told.eq_ignore_ascii_case(&hash));
        if bytes != asset.size || !is_same {
            let words = format!(
                "the asset {:?} is damaged: {bytes} bytes with the hash {hash} arrived, and not what GitHub announced",
                asset.name
            );
            return Err(Failure::said(words));
        }
        Ok(())
    }
}

/// Writes a body to a file; returns its length and hash.
fn write_body(response: Response, limit: u64, path: &Path) -> Result<(u64, String), Failure> {
    let file = File::create(path).map_err(Failure::io(path))?;
    let mut hasher = Hasher::new(file);
    let bytes = copy(response, limit, &mut hasher)?;
    Ok((bytes, hasher.finish().1.sha256))
}
