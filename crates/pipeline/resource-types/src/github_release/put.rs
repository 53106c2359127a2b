//! `put`: a release with assets, new or changed.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    api::Api,
    release::Release,
    settings::{OutParams, Source},
};
use crate::{
    Failure, OutRequest, Part, Produced,
    log::say,
    paths::{inside, matching},
    request::read_with_warnings,
};

/// Number of tries of an upload.
const TRIES: u32 = 10;

/// GitHub refuses longer descriptions.
const MAX_TEXT: u64 = 1 << 20;

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source, log)?;
    let params: OutParams = read_with_warnings(Part::Params, request.params, log)?;
    let form = Form::read(&params, src)?;
    let files = files(&params.globs, src)?;
    let api = Api::new(&source.place)?;
    let release = form.write(&api, &source, log)?;
    for file in &files {
        upload(&api, release.listed.id, file, log)?;
    }
    Ok(Produced {
        version: release.listed.version(),
        metadata: release.metadata(None),
    })
}

/// The texts of a release that a put makes.
struct Form {
    name: String,
    tag: String,
    body: Option<String>,
    commitish: Option<String>,
    generate_notes: bool,
}

impl Form {
    fn read(params: &OutParams, src: &Path) -> Result<Self, Failure> {
        let needed = |key: &str, name: &Option<String>| {
            text(key, name, src)?.ok_or_else(|| {
                Failure::params(
                    key,
                    format!("is missing: give a file with the release's {key}"),
                )
            })
        };
        let prefix = params.tag_prefix.as_deref().unwrap_or_default();
        let tag = needed("tag", &params.tag)?;
        if tag.is_empty() {
            return Err(Failure::params("tag", "is a file without a tag in it"));
        }
        Ok(Self {
            name: needed("name", &params.name)?,
            tag: format!("{prefix}{tag}"),
            body: text("body", &params.body, src)?,
            commitish: text("commitish", &params.commitish, src)?.filter(|text| !text.is_empty()),
            generate_notes: params.generate_release_notes,
        })
    }

    /// Makes the release, or changes the one that has the tag and removes its assets.
    fn write(
        &self,
        api: &Api<'_>,
        source: &Source,
        log: &mut dyn Write,
    ) -> Result<Release, Failure> {
        let releases = api.releases()?;
        let found = releases.iter().find(|release| release.tag() == self.tag);
        let Some(found) = found else {
            say(log, &format!("creating release {}", self.name));
            return api.write_release(None, &self.json(source, true));
        };
        for asset in api.assets(found.id)? {
            say(log, &format!("removing asset {}", asset.name));
            api.delete_asset(asset.id)?;
        }
        say(log, &format!("updating release {}", self.name));
        api.write_release(Some(found.id), &self.json(source, false))
    }

    /// A change leaves alone what the params do not name.
    fn json(&self, source: &Source, is_new: bool) -> Value {
        let choice = &source.choice;
        let mut form = json!({
            "tag_name": self.tag,
            "name": self.name,
            "draft": choice.drafts,
            "prerelease": choice.pre_release && !choice.release,
        });
        if let Some(body) = &self.body {
            form["body"] = json!(body);
        }
        if let Some(commitish) = &self.commitish {
            form["target_commitish"] = json!(commitish);
        }
        if is_new && self.generate_notes {
            form["generate_release_notes"] = json!(true);
        }
        form
    }
}

/// Returns the text of a file that a param names, if it does.
fn text(key: &str, name: &Option<String>, src: &Path) -> Result<Option<String>, Failure> {
    let Some(name) = name else {
        return Ok(None);
    };
    let path = inside(src, name)?;
    let mut text = String::new();
    let read = fs::File::open(&path)
        .and_then(|file| file.take(MAX_TEXT + 1).read_to_string(&mut text))
        .map_err(|error| {
            let words = format!(
                "is {name:?}, which cannot be read: {}",
                airside_model::chain(&error)
            );
            Failure::params(key, words)
        })?;
    if read as u64 > MAX_TEXT {
        let words = format!("is {name:?}, which has more than {MAX_TEXT} bytes");
        return Err(Failure::params(key, words));
    }
    Ok(Some(text.trim().to_owned()))
}

/// Returns the files that the patterns mean; each pattern must mean one at least.
fn files(globs: &[String], src: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for glob in globs {
        let mut found = matching(src, glob)?;
        found.retain(|path| path.is_file());
        if found.is_empty() {
            let words = format!("has {glob:?}, and no file among the inputs is called that");
            return Err(Failure::params("globs", words));
        }
        found.retain(|path| !all.contains(path));
        found.sort();
        all.extend(found);
    }
    Ok(all)
}

/// Sends a file; what a try that failed left is removed before the next one.
fn upload(api: &Api<'_>, release: u64, path: &Path, log: &mut dyn Write) -> Result<(), Failure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    say(log, &format!("uploading {name}"));
    let mut tries = 1;
    loop {
        let failure = match api.upload(release, &name, path) {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        if tries == TRIES || !is_worth_another_try(&failure) {
            return Err(failure);
        }
        tries += 1;
        say(
            log,
            &format!("{}; trying again", airside_model::chain(&failure)),
        );
        let assets = api.assets(release)?;
        for asset in assets.iter().filter(|asset| asset.name == name) {
            api.delete_asset(asset.id)?;
        }
    }
}

/// A refusal that names a mistake stays one.
fn is_worth_another_try(failure: &Failure) -> bool {
    match failure {
        Failure::Outbound(error) => error
            .status()
            .is_none_or(|status| status >= 500 || status == 422),
        _ => false,
    }
}
