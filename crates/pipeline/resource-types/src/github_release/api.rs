//! Requests to GitHub. The token goes to the servers that the source names, and nowhere else: a
//! redirection to another origin drops it.

use std::{fs::File, io::Read, path::Path};

use airside_blocking_http::{Address, Client, Payload, Request, Response, Trust, encode};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    answers::success,
    release::{Asset, ListedRelease, Release, ReleaseTexts},
    settings::GithubRepository,
};
use crate::Failure;

/// Number of entries in a page of a list: the largest that GitHub has.
const PAGE: usize = 100;
/// GitHub lists the newest 10,000 releases.
const MOST_PAGES: usize = 100;
/// Far larger than a page of releases with long descriptions and many assets.
const MAX_ANSWER: u64 = 64 << 20;
/// Tags may point to tags; GitHub's own tools give up after as many.
const MOST_TAGS: usize = 10;

const JSON: &str = "application/vnd.github+json";
const BYTES: &str = "application/octet-stream";

pub(super) struct Api<'a> {
    place: &'a GithubRepository,
    client: Client,
}

/// The object that a reference or a tag points to.
#[derive(Deserialize)]
struct Pointer {
    object: PointedObject,
}

#[derive(Deserialize)]
struct PointedObject {
    #[serde(rename = "type")]
    kind: String,
    sha: String,
}

impl<'a> Api<'a> {
    pub(super) fn new(place: &'a GithubRepository) -> Result<Self, Failure> {
        let trust = if place.insecure {
            Trust::Anybody
        } else {
            Trust::Public
        };
        let client = Client::new(&trust)?;
        Ok(Self { place, client })
    }

    pub(super) fn releases(&self) -> Result<Vec<ListedRelease>, Failure> {
        self.list("releases")
    }

    pub(super) fn assets(&self, release: u64) -> Result<Vec<Asset>, Failure> {
        self.list(&format!("releases/{release}/assets"))
    }

    /// Returns a release by its number, if it is there.
    pub(super) fn release(&self, id: &str) -> Result<Option<Release>, Failure> {
        self.find_release(&format!("releases/{}", encode(id, b"")))
    }

    /// Returns a published release by its tag, if it is there.
    pub(super) fn release_of_tag(&self, tag: &str) -> Result<Option<Release>, Failure> {
        self.find_release(&format!("releases/tags/{}", encode(tag, b"")))
    }

    fn find_release(&self, path: &str) -> Result<Option<Release>, Failure> {
        let response = self.client.send(self.request("GET", path)?)?;
        if response.status == 404 {
            return Ok(None);
        }
        let response = success(response, "GET", self.place)?;
        self.read_release(response).map(Some)
    }

    fn read_release(&self, response: Response) -> Result<Release, Failure> {
        let bytes = self.read(response)?;
        let (listed, texts) = (
            parse::<ListedRelease>(&bytes)?,
            parse::<ReleaseTexts>(&bytes)?,
        );
        Ok(Release { listed, texts })
    }

    /// Makes a release, or changes the one with this number.
    pub(super) fn write_release(&self, id: Option<u64>, form: &Value) -> Result<Release, Failure> {
        let (method, path) = match id {
            Some(id) => ("PATCH", format!("releases/{id}")),
            None => ("POST", "releases".to_owned()),
        };
        let text = form.to_string();
        let request = self
            .request(method, &path)?
            .payload(Payload::Bytes(text.as_bytes()));
        let response = success(self.client.send(request)?, method, self.place)?;
        self.read_release(response)
    }

    pub(super) fn delete_asset(&self, asset: u64) -> Result<(), Failure> {
        let request = self.request("DELETE", &format!("releases/assets/{asset}"))?;
        let response = self.client.send(request)?;
        // Another put may have been faster.
        if response.status != 404 {
            self.client.done(success(response, "DELETE", self.place)?);
        }
        Ok(())
    }

    /// Sends a file as an asset, as it is read.
    pub(super) fn upload(&self, release: u64, name: &str, path: &Path) -> Result<(), Failure> {
        let mut file = File::open(path).map_err(Failure::io(path))?;
        let length = file.metadata().map_err(Failure::io(path))?.len();
        let url = format!(
            "{}/repos/{}/{}/releases/{release}/assets?name={}",
            self.place.uploads,
            self.place.owner,
            self.place.repository,
            encode(name, b"")
        );
        let request = self
            .request_to("POST", &url, JSON)?
            .header("Content-Type", BYTES)
            .payload(Payload::Stream(&mut file, length));
        let response = success(self.client.send(request)?, "POST", self.place)?;
        self.read(response).map(|_| ())
    }

    /// Opens the content of an asset, wherever GitHub keeps it.
    pub(super) fn open_asset(&self, asset: u64) -> Result<Response, Failure> {
        let url = self.url(&format!("releases/assets/{asset}"));
        let request = self.request_to("GET", &url, BYTES)?;
        success(self.client.send(request)?, "GET", self.place)
    }

    /// Opens an archive of the sources at a tag; the kind is `tarball` or `zipball`.
    pub(super) fn open_sources(&self, kind: &str, tag: &str) -> Result<Response, Failure> {
        let request = self.request("GET", &format!("{kind}/{}", encode(tag, b"/")))?;
        success(self.client.send(request)?, "GET", self.place)
    }

    /// Returns the commit that a tag leads to.
    pub(super) fn commit_of(&self, tag: &str) -> Result<String, Failure> {
        let path = format!("git/ref/tags/{}", encode(tag, b"/"));
        let mut object = self.json::<Pointer>(&path)?.object;
        for _ in 0..MOST_TAGS {
            match object.kind.as_str() {
                "commit" => return Ok(object.sha),
                "tag" => {
                    let path = format!("git/tags/{}", encode(&object.sha, b""));
                    object = self.json::<Pointer>(&path)?.object;
                }
                other => {
                    let words = format!("the tag {tag:?} leads to a {other}, and not to a commit");
                    return Err(Failure::said(words));
                }
            }
        }
        let words = format!("the tag {tag:?} leads through more than {MOST_TAGS} other tags");
        Err(Failure::said(words))
    }

    /// Reads a list to its end; the pages are counted here, whatever addresses an answer has.
    fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Failure> {
        let mut all = Vec::new();
        for page in 1..=MOST_PAGES {
            let path = format!("{path}?per_page={PAGE}&page={page}");
            let response = self.client.send(self.request("GET", &path)?)?;
            let response = success(response, "GET", self.place)?;
            let link = response.header("link").unwrap_or_default();
            let has_next = link.contains("rel=\"next\"");
            let entries: Vec<T> = parse(&self.read(response)?)?;
            let is_empty = entries.is_empty();
            all.extend(entries);
            if !has_next || is_empty {
                break;
            }
        }
        Ok(all)
    }

    fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let response = self.client.send(self.request("GET", path)?)?;
        parse(&self.read(success(response, "GET", self.place)?)?)
    }

    fn read(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let bytes = response.body.read_all(MAX_ANSWER)?;
        self.client.done(response);
        Ok(bytes)
    }

    fn url(&self, path: &str) -> String {
        let place = self.place;
        format!(
            "{}/repos/{}/{}/{path}",
            place.api, place.owner, place.repository
        )
    }

    fn request<'r>(&self, method: &'static str, path: &str) -> Result<Request<'r>, Failure> {
        self.request_to(method, &self.url(path), JSON)
    }

    fn request_to<'r>(
        &self,
        method: &'static str,
        url: &str,
        accept: &str,
    ) -> Result<Request<'r>, Failure> {
        let request = Request::new(method, Address::parse(url)?).header("Accept", accept);
        Ok(match &self.place.token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        })
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        Failure::said(format!(
            "GitHub's answer cannot be read: {}",
            airside_model::chain(&error)
        ))
    })
}

/// Copies the body of an answer, up to a limit; one more byte is a failure.
pub(super) fn copy(
    response: Response,
    limit: u64,
    to: &mut impl std::io::Write,
) -> Result<u64, Failure> {
    let mut body = response.body;
    let copied = std::io::copy(&mut (&mut body).take(limit.saturating_add(1)), to);
    let bytes = copied.map_err(|error| body.explain(error))?;
    if bytes > limit {
        let words = format!("GitHub sends more than the {limit} bytes that are expected");
        return Err(Failure::said(words));
    }
    Ok(bytes)
}
