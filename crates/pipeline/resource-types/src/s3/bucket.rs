//! A bucket of any server that speaks S3.

use std::{fs::File, io, path::Path};

use airside_archive::{Hasher, HashingReader};
use airside_blocking_http::{Address, Client, Payload, Request, Response, Trust, encode};
use jiff::Timestamp;

use crate::{
    Failure,
    aws::{self, EMPTY, Keys, Signer, sha256, xml},
};

/// A page of a list is smaller.
const MAX_PAGE: u64 = 16 << 20;
const TRIES: u32 = 3;
/// Bytes that one request may carry.
const MAX_UPLOAD: u64 = 5 << 30;
/// Seconds for which a presigned address is valid.
const PRESIGNED: u32 = 24 * 60 * 60;

/// Access to a bucket; `semver` fills it, too, for its s3 driver.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) bucket: String,
    pub(crate) keys: Option<Keys>,
    pub(crate) role: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) disable_ssl: bool,
    pub(crate) skip_ssl_verification: bool,
    pub(crate) ca_bundle: Option<String>,
    pub(crate) path_style: bool,
}

pub(crate) struct Bucket {
    client: Client,
    keys: Option<Keys>,
    region: String,
    /// The address of the bucket, without a slash at its end.
    base: String,
    name: String,
}

/// The contents of one folder.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) keys: Vec<String>,
    pub(super) folders: Vec<String>,
}

impl Bucket {
    pub(crate) fn open(access: Access) -> Result<Self, Failure> {
        let trust = match (access.skip_ssl_verification, access.ca_bundle) {
            (true, _) => Trust::Anybody,
            (false, Some(bundle)) => Trust::Also(vec![bundle]),
            (false, None) => Trust::Public,
        };
        let client = Client::new(&trust).map_err(|error| {
            Failure::source(
                "ca_bundle",
                format!("is not valid: {}", airside_model::chain(&error)),
            )
        })?;
        let region = access.region.unwrap_or_else(|| "us-east-1".to_owned());
        aws::host_part("region_name", &region)?;
        let name = access.bucket;
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if name.is_empty() || !name.bytes().all(fine) {
            return Err(Failure::source(
                "bucket",
                "is missing, or is not a name of a bucket",
            ));
        }
        let base = base(
            &name,
            &region,
            access.endpoint.as_deref(),
            access.disable_ssl,
            access.path_style,
        )?;
        let mut keys = access.keys;
        if let Some(role) = &access.role {
            let own = keys
                .or_else(aws::keys_of_environment)
                .ok_or_else(|| Failure::source("access_key_id", "is needed to take on a role"))?;
            keys = Some(aws::assume_role(&own, &region, role)?);
        }
        Ok(Self {
            client,
            keys,
            region,
            base,
            name,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn address(&self, key: &str, query: &str) -> Result<Address, Failure> {
        let mark = if query.is_empty() { "" } else { "?" };
        Ok(Address::parse(&format!(
            "{}/{}{mark}{query}",
            self.base,
            encode(key, b"/")
        ))?)
    }

    fn signed<'a>(&self, request: Request<'a>, hash: &str) -> Request<'a> {
        match &self.keys {
            Some(keys) => self.signer(keys).sign(request, hash, Timestamp::now()),
            None => request,
        }
    }

    fn signer<'a>(&'a self, keys: &'a Keys) -> Signer<'a> {
        Signer {
            keys,
            region: &self.region,
            service: "s3",
        }
    }

    fn explain(&self, error: airside_blocking_http::Error, what: &str) -> Failure {
        match error.status() {
            Some(404) => Failure::said(format!("there is no {what}")),
            Some(403) => Failure::said(format!(
                "the server denies access to {what} ({})",
                airside_model::chain(&error)
            )),
            _ => Failure::from(error),
        }
    }

    fn page(&self, query: &str) -> Result<String, Failure> {
        let request = Request::get(self.address("", query)?);
        let request = self.signed(request, EMPTY);
        let bytes = self
            .client
            .fetch(request, MAX_PAGE)
            .map_err(|error| self.explain(error, &format!("bucket {}", self.name)))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Lists a folder, given with its slash at the end.
    pub(super) fn list(&self, prefix: &str) -> Result<Listed, Failure> {
        let mut listed = Listed::default();
        let mut token: Option<String> = None;
        loop {
            let mut query = "delimiter=%2F&list-type=2".to_owned();
            if let Some(token) = &token {
                query = format!("continuation-token={}&{query}", encode(token, b""));
            }
            query += &format!("&prefix={}", encode(prefix, b""));
            let page = self.page(&query)?;
            let keys = xml::elements(&page, "Contents").into_iter();
            listed
                .keys
                .extend(keys.filter_map(|item| xml::text(item, "Key")));
            let folders = xml::elements(&page, "CommonPrefixes").into_iter();
            listed
                .folders
                .extend(folders.filter_map(|item| xml::text(item, "Prefix")));
            token = xml::text(&page, "NextContinuationToken");
            if token.is_none() {
                return Ok(listed);
            }
        }
    }

    /// The versions of one object, newest first.
    pub(super) fn versions(&self, key: &str) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        let mut markers: Option<(String, String)> = None;
        loop {
            let mut query = String::new();
            if let Some((key, version)) = &markers {
                query = format!("key-marker={}&", encode(key, b""));
                if !version.is_empty() {
                    query += &format!("version-id-marker={}&", encode(version, b""));
                }
            }
            query += &format!("prefix={}&versions=", encode(key, b""));
            let page = self.page(&query)?;
            for item in xml::elements(&page, "Version") {
                if xml::text(item, "Key").as_deref() == Some(key) {
                    found.extend(xml::text(item, "VersionId").filter(|id| id != "null"));
                }
            }
            match xml::text(&page, "NextKeyMarker") {
                Some(next) if next == *key => {
                    let version = xml::text(&page, "NextVersionIdMarker").unwrap_or_default();
                    markers = Some((next, version));
                }
                _ => return Ok(found),
            }
        }
    }

    fn get(
        &self,
        key: &str,
        version: Option<&str>,
    ) -> Result<Response, airside_blocking_http::Error> {
        let query = version.map(|id| format!("versionId={}", encode(id, b"")));
        let address = self.address(key, query.as_deref().unwrap_or_default());
        let address = address.map_err(|_| airside_blocking_http::Error::Address {
            url: key.to_owned(),
            why: "the key cannot be part of one",
        })?;
        self.client
            .expect(self.signed(Request::get(address), EMPTY))
    }

    /// A small object, if it is there.
    pub(crate) fn read(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        match self.get(key, None) {
            Ok(response) => Ok(Some(response.bytes(MAX_PAGE)?)),
            Err(error) if error.status() == Some(404) => Ok(None),
            Err(error) => Err(self.explain(error, &format!("{key} in bucket {}", self.name))),
        }
    }

    /// An object into a file, as often as it takes, but not for ever.
    pub(super) fn download(
        &self,
        key: &str,
        version: Option<&str>,
        to: &Path,
    ) -> Result<(), Failure> {
        let what = format!("{key} in bucket {}", self.name);
        let mut number = 1;
        loop {
            let once = || -> Result<(), Failure> {
                let got = self.get(key, version);
                let mut response = got.map_err(|error| self.explain(error, &what))?;
                let file = File::create(to).map_err(Failure::io(to))?;
                let copied = io::copy(&mut response.body, &mut Hasher::new(file));
                copied.map_err(|error| response.body.explain(error))?;
                Ok(())
            };
            match once() {
                Err(Failure::Outbound(_)) if number < TRIES => number += 1,
                result => return result,
            }
        }
    }

    /// A file as an object; the id of its version, if the bucket keeps versions.
    pub(super) fn upload(
        &self,
        key: &str,
        from: &Path,
        headers: &[(&str, &str)],
    ) -> Result<Option<String>, Failure> {
        let open = || File::open(from).map_err(Failure::io(from));
        let mut reader = HashingReader::new(open()?);
        io::copy(&mut reader, &mut io::sink()).map_err(Failure::io(from))?;
        let digest = reader.finish().1;
        if digest.bytes > MAX_UPLOAD {
            return Err(Failure::said("files of more than 5 GiB cannot be sent"));
        }
        let mut number = 1;
        loop {
            let mut file = open()?;
            let payload = Payload::Stream(&mut file, digest.bytes);
            match self.send(key, payload, &digest.sha256, headers) {
                Err(Failure::Outbound(error)) if number < TRIES && !is_final(&error) => number += 1,
                result => return result,
            }
        }
    }

    /// A small object.
    pub(crate) fn write(
        &self,
        key: &str,
        bytes: &[u8],
        headers: &[(&str, &str)],
    ) -> Result<(), Failure> {
        self.send(key, Payload::Bytes(bytes), &sha256(bytes), headers)
            .map(|_| ())
    }

    fn send(
        &self,
        key: &str,
        payload: Payload<'_>,
        hash: &str,
        headers: &[(&str, &str)],
    ) -> Result<Option<String>, Failure> {
        let mut request = Request::new("PUT", self.address(key, "")?).payload(payload);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let response =
            self.client
                .expect(self.signed(request, hash))
                .map_err(|error| match error.status() {
                    Some(412) => Failure::said(format!("{key} was changed in the meantime")),
                    _ => self.explain(error, &format!("bucket {} for {key}", self.name)),
                })?;
        let version = response.header("x-amz-version-id").map(str::to_owned);
        self.client.done(response);
        Ok(version.filter(|id| id != "null"))
    }

    /// The tags of an object, in order.
    pub(super) fn tags(
        &self,
        key: &str,
        version: Option<&str>,
    ) -> Result<Vec<(String, String)>, Failure> {
        let mut query = "tagging=".to_owned();
        if let Some(id) = version {
            query += &format!("&versionId={}", encode(id, b""));
        }
        let request = self.signed(Request::get(self.address(key, &query)?), EMPTY);
        let fetched = self.client.fetch(request, MAX_PAGE);
        let bytes = fetched.map_err(|error| self.explain(error, &format!("tags of {key}")))?;
        let page = String::from_utf8_lossy(&bytes);
        let tag = |item| Some((xml::text(item, "Key")?, xml::text(item, "Value")?));
        Ok(xml::elements(&page, "Tag")
            .into_iter()
            .filter_map(tag)
            .collect())
    }

    /// Returns the address of an object for people; valid for a day if the bucket is private.
    pub(super) fn url(
        &self,
        key: &str,
        version: Option<&str>,
        private: bool,
    ) -> Result<String, Failure> {
        let query = version.map(|id| format!("versionId={}", encode(id, b"")));
        let query = query.unwrap_or_default();
        let address = self.address(key, &query)?;
        Ok(match &self.keys {
            Some(keys) if private => {
                self.signer(keys)
                    .presign(&address, PRESIGNED, Timestamp::now())
            }
            _ => format!("{}{}", address.origin(), address.target()),
        })
    }
}

/// True if trying again cannot help.
fn is_final(error: &airside_blocking_http::Error) -> bool {
    error.status().is_some_and(|status| status < 500)
}

/// The bucket's name as part of the host or of the path.
fn base(
    bucket: &str,
    region: &str,
    endpoint: Option<&str>,
    plain: bool,
    path_style: bool,
) -> Result<String, Failure> {
    let scheme = if plain { "http" } else { "https" };
    let endpoint = match endpoint {
        Some(url) if url.contains("://") => url.to_owned(),
        Some(host) => format!("{scheme}://{host}"),
        None => format!("https://s3.{region}.amazonaws.com"),
    };
    let address = Address::parse(&endpoint).map_err(|error| {
        Failure::source(
            "endpoint",
            format!("is not valid: {}", airside_model::chain(&error)),
        )
    })?;
    let host = address.host().trim_matches(['[', ']']);
    let bare = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok();
    let (origin, path) = (
        address.origin(),
        address.target().trim_end_matches('/').to_owned(),
    );
    if path_style || bare || bucket.contains(['.', '_']) {
        return Ok(format!("{origin}{path}/{bucket}"));
    }
    let (scheme, authority) = origin.split_once("://").unwrap_or(("https", &origin));
    Ok(format!("{scheme}://{bucket}.{authority}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_the_host_or_in_the_path() {
        for (endpoint, plain, path_style, expected) in [
            (None, false, false, "https://b.s3.eu-1.amazonaws.com"),
            (None, false, true, "https://s3.eu-1.amazonaws.com/b"),
            (Some("s.x"), false, false, "https://b.s.x"),
            (Some("s.x:9"), true, true, "http://s.x:9/b"),
            (
                Some("http://127.0.0.1:9/"),
                false,
                false,
                "http://127.0.0.1:9/b",
            ),
        ] {
            assert_eq!(
                base("b", "eu-1", endpoint, plain, path_style).unwrap(),
                expected
            );
        }
        assert!(base("b", "r", Some("ftp://x"), false, false).is_err());
    }
}
