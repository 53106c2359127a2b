//! `http`: a plain file of a web server, with a version for each time that it changed.
//!
//! A change is seen by the server's ETag, or else by when it says the file was changed, or else
//! by the hash of what is there.

mod settings;

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use airside_archive::{Hasher, HashingReader};
use airside_blocking_http::{Client, Payload, Request, Response};
use airside_model::{MetadataField, Version, chain};

pub(crate) use self::settings::FORMS;
use self::settings::{InParams, OutParams, Source};
use crate::{
    CheckInput, Failure, InRequest, OutRequest, Part, Produced,
    log::say,
    paths::{clear, the_one},
    request::read,
};

const ETAG: &str = "etag";
const LAST_MODIFIED: &str = "last_modified";
const SHA256: &str = "sha256";

pub(crate) fn check(request: CheckInput, _log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let source = Source::read(request.source)?;
    let client = source.client()?;
    let now = current(&source, &client)?;
    let given = request.version.filter(|given| *given != now);
    // Whether the given one is gone cannot be known; it was there once, and comes before what is
    // now.
    Ok(given.into_iter().chain([now]).collect())
}

/// Returns the version that the server has now.
fn current(source: &Source, client: &Client) -> Result<Version, Failure> {
    let head = client.send(source.request("HEAD")?)?;
    if matches!(head.status, 429 | 500..) {
        head.success("HEAD")?;
    } else if head.is_success()
        && let Some(version) = told(&head)
    {
        return Ok(version);
    }
    // Some servers know no HEAD, or send no validator with it.
    let mut response = get(source, client)?;
    match told(&response) {
        Some(version) => Ok(version),
        None => {
            let mut hasher = Hasher::new(io::sink());
            let copied = io::copy(&mut response.body, &mut hasher);
            copied.map_err(|error| response.body.explain(error))?;
            Ok(Version::from([(SHA256, hasher.finish().1.sha256)]))
        }
    }
}

fn get(source: &Source, client: &Client) -> Result<Response, Failure> {
    let response = client.send(source.request("GET")?)?;
    response
        .success("GET")
        .map_err(|error| match error.status() {
            Some(404) => Failure::said(format!("there is nothing at {}", source.shown())),
            Some(401 | 403) => Failure::said(format!(
                "the server denies access to {}: check username and password ({error})",
                source.shown(),
                error = chain(&error)
            )),
            _ => Failure::from(error),
        })
}

fn told(response: &Response) -> Option<Version> {
    let etag = response.header("etag").map(|etag| (ETAG, etag));
    let date = response
        .header("last-modified")
        .map(|date| (LAST_MODIFIED, date));
    let (key, value) = etag.or(date)?;
    Some(Version::from([(key, value)]))
}

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source)?;
    let params: InParams = read(Part::Params, request.params)?;
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    let name = source.file_name();
    let fetched = if params.skip_download {
        Ok(0)
    } else {
        download(&source, &request.version, &dest.join(&name), log)
    };
    let size = fetched.inspect_err(|_| clear(dest))?;
    let write = |name: &str, text: &str| {
        let path = dest.join(name);
        fs::write(&path, text).map_err(Failure::io(&path))
    };
    let shown = request.version.0.values().next().map_or("", String::as_str);
    write("version", shown)?;
    write("url", &source.shown())?;
    Ok(Produced {
        version: request.version,
        metadata: vec![
            field("url", &source.shown()),
            field("filename", &name),
            field("size", &size.to_string()),
        ],
    })
}

/// Fetches the file, and makes sure that it is still the version that was asked for.
fn download(
    source: &Source,
    wanted: &Version,
    to: &Path,
    log: &mut dyn Write,
) -> Result<u64, Failure> {
    say(log, &format!("fetching {}", source.shown()));
    let mut response = get(source, &source.client()?)?;
    let file = File::create(to).map_err(Failure::io(to))?;
    let mut hasher = Hasher::new(file);
    let told = told(&response);
    let copied = io::copy(&mut response.body, &mut hasher);
    copied.map_err(|error| response.body.explain(error))?;
    let digest = hasher.finish().1;
    let found = if wanted.0.contains_key(SHA256) {
        Version::from([(SHA256, digest.sha256)])
    } else {
        told.unwrap_or_default()
    };
    if found != *wanted {
        return Err(Failure::said(format!(
            "{} has changed: version {} is gone, and {} is there now",
            source.shown(),
            wanted.canonical(),
            found.canonical()
        )));
    }
    Ok(digest.bytes)
}

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source)?;
    let params: OutParams = read(Part::Params, request.params)?;
    let pattern = params.file.as_deref().ok_or_else(|| {
        Failure::params("file", "is missing: give the file, or a pattern for one")
    })?;
    let path = the_one(src, pattern, "file")?;
    let open = || File::open(&path).map_err(Failure::io(&path));
    let mut reader = HashingReader::new(open()?);
    io::copy(&mut reader, &mut io::sink()).map_err(Failure::io(&path))?;
    let digest = reader.finish().1;
    say(
        log,
        &format!("sending {} bytes to {}", digest.bytes, source.shown()),
    );
    let client = source.client()?;
    let mut file = open()?;
    let mut request = source.request("PUT")?;
    if let Some(kind) = &params.content_type {
        request = request.header("Content-Type", kind);
    }
    let payload = Payload::Stream(&mut file, digest.bytes);
    let response = client.expect(request.payload(payload))?;
    client.done(response);
    Ok(Produced {
        version: current(&source, &client)?,
        metadata: vec![
            field("url", &source.shown()),
            field("size", &digest.bytes.to_string()),
        ],
    })
}

fn field(name: &str, value: &str) -> MetadataField {
    MetadataField {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// A request for the file.
impl Source {
    fn request<'a>(&self, method: &'static str) -> Result<Request<'a>, Failure> {
        let mut request = Request::new(method, self.address.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        Ok(request)
    }
}
