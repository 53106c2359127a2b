//! `check`, `get` and `put` of `s3`.

use std::{fs, io::Write, path::Path};

use airside_model::{MetadataField, Version};
use base64::{Engine, prelude::BASE64_STANDARD};
use regex_lite::Regex;

use super::{
    bucket::Bucket,
    order::compare,
    settings::{InParams, ObjectSelector, OutParams, Pattern, Source},
    unpack::unpack,
};
use crate::{
    CheckInput, Failure, InRequest, OutRequest, Part, Produced,
    log::say,
    paths::{clear, the_one},
    request::read_with_warnings,
};

const PATH: &str = "path";
const VERSION_ID: &str = "version_id";

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let (mut source, wanted) = Source::read(request.source, log)?;
    let bucket = source.open()?;
    let from = request.version.unwrap_or_default();
    match wanted {
        ObjectSelector::Matching(pattern) => {
            let found = by_pattern(&bucket, &pattern, source.initial_path)?;
            let from = from.0.get(PATH).and_then(|path| pattern.version(path));
            let kept: Vec<String> = match from {
                Some(from) => found
                    .into_iter()
                    .filter(|path| {
                        pattern
                            .version(path)
                            .is_some_and(|v| compare(v, from).is_ge())
                    })
                    .collect(),
                None => found.into_iter().last().into_iter().collect(),
            };
            Ok(kept
                .into_iter()
                .map(|path| Version::from([(PATH, path)]))
                .collect())
        }
        ObjectSelector::File(file) => {
            let mut found = bucket.versions(&file)?;
            found.extend(source.initial_version);
            let given = from.0.get(VERSION_ID);
            let place = found.iter().position(|id| Some(id) == given).unwrap_or(0);
            found.truncate(place + 1);
            found.reverse();
            Ok(found
                .into_iter()
                .map(|id| Version::from([(VERSION_ID, id)]))
                .collect())
        }
    }
}

/// The paths that match, the oldest version first.
fn by_pattern(
    bucket: &Bucket,
    pattern: &Pattern,
    initial: Option<String>,
) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), pattern.text.as_str())];
    while let Some((prefix, rest)) = waiting.pop() {
        let Some((folder, below)) = rest.split_once('/') else {
            let listed = bucket.list(&prefix)?;
            found.extend(
                listed
                    .keys
                    .into_iter()
                    .filter(|key| pattern.version(key).is_some()),
            );
            continue;
        };
        // A folder without anything special in its name needs no look.
        if !folder.contains(|c| r"\*.[](){}?|^$+".contains(c)) {
            waiting.push((format!("{prefix}{folder}/"), below));
            continue;
        }
        let regex = Regex::new(&format!("^(?:{folder})$")).map_err(|_| {
            let words = format!("must be whole in each folder, and {folder:?} is not");
            Failure::source("regexp", words)
        })?;
        for name in bucket.list(&prefix)?.folders {
            let last = name
                .strip_prefix(&prefix)
                .unwrap_or(&name)
                .trim_end_matches('/');
            if regex.is_match(last) {
                waiting.push((name, below));
            }
        }
    }
    let version = |path: &String| pattern.version(path).unwrap_or_default().to_owned();
    found
        .sort_by(|one, other| compare(&version(one), &version(other)).then_with(|| one.cmp(other)));
    if let Some(initial) = initial.filter(|path| pattern.version(path).is_some()) {
        found.insert(0, initial);
    }
    Ok(found)
}

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let (mut source, wanted) = Source::read(request.source, log)?;
    let params: InParams = read_with_warnings(Part::Params, request.params, log)?;
    let version = request.version;
    let field = |key: &str| {
        let found = version.0.get(key).cloned();
        found.ok_or_else(|| Failure::said(format!("the version has no `{key}`")))
    };
    let (key, id, number, initial) = match &wanted {
        ObjectSelector::Matching(pattern) => {
            let path = field(PATH)?;
            let number = pattern.version(&path).map(str::to_owned).ok_or_else(|| {
                Failure::source(
                    "regexp",
                    format!("does not match the version's path {path:?}"),
                )
            })?;
            let initial = source.initial_path.as_ref() == Some(&path);
            (path, None, number, initial)
        }
        ObjectSelector::File(file) => {
            let id = field(VERSION_ID)?;
            let initial = source.initial_version.as_ref() == Some(&id);
            (file.clone(), Some(id.clone()), id, initial)
        }
    };
    let bucket = source.open()?;
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    let get = Get {
        bucket: &bucket,
        source: &source,
        params: &params,
        key: &key,
        id: id.as_deref(),
        dest,
    };
    let url = if initial {
        get.initial().map(|()| None)
    } else {
        get.object(log).map(Some)
    };
    let url = url.inspect_err(|_| clear(dest))?;
    get.write("version", &number)?;
    let version = match id {
        Some(id) => Version::from([(VERSION_ID, id)]),
        None => Version::from([(PATH, &key)]),
    };
    let url = url.filter(|_| !source.private);
    Ok(Produced {
        version,
        metadata: metadata(&key, url.as_deref()),
    })
}

struct Get<'a> {
    bucket: &'a Bucket,
    source: &'a Source,
    params: &'a InParams,
    key: &'a str,
    id: Option<&'a str>,
    dest: &'a Path,
}

impl Get<'_> {
    fn object(&self, log: &mut dyn Write) -> Result<String, Failure> {
        let file = self.dest.join(file_name(self.key)?);
        if !self
            .params
            .skip_download
            .unwrap_or(self.source.skip_download)
        {
            say(
                log,
                &format!("fetching {} from {}", self.key, self.bucket.name()),
            );
            self.bucket.download(self.key, self.id, &file)?;
            if self.params.unpack {
                unpack(&file)?;
            }
        }
        if self.params.download_tags {
            let tags = self.bucket.tags(self.key, self.id)?;
            let map: serde_json::Map<_, _> = tags
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect();
            self.write("tags.json", &serde_json::Value::Object(map).to_string())?;
        }
        let url = self.bucket.url(self.key, self.id, self.source.private)?;
        self.write("url", &url)?;
        self.write(
            "s3_uri",
            &format!("s3://{}/{}", self.bucket.name(), self.key),
        )?;
        Ok(url)
    }

    /// A version that is only written in the pipeline.
    fn initial(&self) -> Result<(), Failure> {
        let bytes = match (
            &self.source.initial_content_text,
            &self.source.initial_content_binary,
        ) {
            (_, Some(binary)) => BASE64_STANDARD
                .decode(binary.trim())
                .map_err(|_| Failure::source("initial_content_binary", "is not in base64"))?,
            (Some(text), None) => text.clone().into_bytes(),
            (None, None) => Vec::new(),
        };
        let path = self.dest.join(file_name(self.key)?);
        fs::write(&path, bytes).map_err(Failure::io(&path))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.dest.join(name);
        fs::write(&path, text).map_err(Failure::io(&path))
    }
}

/// The last part of a key; a key is not just any path.
fn file_name(key: &str) -> Result<&str, Failure> {
    let name = key.rsplit('/').next().unwrap_or_default();
    match name {
        "" | "." | ".." => Err(Failure::said(format!(
            "{key:?} does not end in the name of a file"
        ))),
        name => Ok(name),
    }
}

fn metadata(key: &str, url: Option<&str>) -> Vec<MetadataField> {
    let field = |name: &str, value: &str| MetadataField {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let name = key.rsplit('/').next().unwrap_or_default();
    let url = url.map(|url| field("url", url));
    std::iter::once(field("filename", name))
        .chain(url)
        .collect()
}

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let (mut source, wanted) = Source::read(request.source, log)?;
    let params: OutParams = read_with_warnings(Part::Params, request.params, log)?;
    let pattern = params.file.as_deref().ok_or_else(|| {
        Failure::params("file", "is missing: give the file, or a pattern for one")
    })?;
    let file = the_one(src, pattern, "file")?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let key = match &wanted {
        ObjectSelector::Matching(pattern) => format!("{}{name}", pattern.folder()),
        ObjectSelector::File(key) => key.clone(),
    };
    if let ObjectSelector::Matching(pattern) = &wanted
        && pattern.version(&key).is_none()
    {
        say(
            log,
            &format!("mind that {key} does not match the regexp: no check will find it"),
        );
    }
    let bucket = source.open()?;
    let headers = [
        ("Content-Type", params.content_type.as_deref()),
        ("x-amz-acl", params.acl.as_deref()),
        (
            "x-amz-server-side-encryption",
            source.server_side_encryption.as_deref(),
        ),
        (
            "x-amz-server-side-encryption-aws-kms-key-id",
            source.sse_kms_key_id.as_deref(),
        ),
    ];
    let headers: Vec<(&str, &str)> = headers
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    say(
        log,
        &format!("sending {name} to {key} in {}", bucket.name()),
    );
    let id = bucket.upload(&key, &file, &headers)?;
    let version = match (&wanted, &id) {
        (ObjectSelector::Matching(_), _) => Version::from([(PATH, &key)]),
        (ObjectSelector::File(_), Some(id)) => Version::from([(VERSION_ID, id)]),
        (ObjectSelector::File(_), None) => {
            let words = "needs a bucket that keeps versions, and this one does not";
            return Err(Failure::source("versioned_file", words));
        }
    };
    let url = bucket.url(&key, id.as_deref(), source.private)?;
    let url = Some(url).filter(|_| !source.private);
    Ok(Produced {
        version,
        metadata: metadata(&key, url.as_deref()),
    })
}
