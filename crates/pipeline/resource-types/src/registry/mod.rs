//! A container registry, by the distribution protocol: what `registry-image` asks of one.

mod asked;
mod auth;
mod document;
mod meter;
mod name;
mod pace;
mod tags;
mod upload;

use std::{
    cell::RefCell,
    fs::File,
    io::{self, Read, Write},
    path::Path,
    time::{Duration, Instant},
};

use airside_archive::Hasher;
use airside_blocking_http::{Address, Client, Error, Request, RequestTimeouts, Response, Trust};
use airside_oci::{Challenge, Descriptor, Digest, Repository, media_type::ACCEPT_MANIFESTS};

pub use self::{
    asked::{AskedImage, AskedRegistry, Asking, Standing},
    pace::RequestPause,
    tags::TagList,
};
pub(crate) use self::{
    document::{check_size, parse_config, parse_document},
    meter::Meter,
    name::{at_registry, read_repository, with_reference},
};
use crate::Failure;

/// Largest document that is read: more than any manifest, configuration or page of tags.
const MAX_DOCUMENT: u64 = 16 << 20;
/// Tokens live for five minutes at least, by the protocol's advice.
const TOKEN_LIFE: Duration = Duration::from_secs(120);
/// Number of tries for a blob if the connection breaks.
const TRIES: u32 = 3;

/// Credentials, trust and purpose of requests to a registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    pub(crate) user: Option<(String, String)>,
    pub(crate) certificates: Vec<String>,
    pub(crate) insecure: bool,
    pub(crate) push: bool,
    /// True if the registry has no TLS.
    pub(crate) plain: bool,
    pub(crate) patience: RequestTimeouts,
    pub(crate) pace: RequestPause,
}

pub(crate) struct Registry {
    client: Client,
    repository: Repository,
    base: String,
    access: Access,
    challenge: Option<Challenge>,
    header: RefCell<Option<(String, Instant)>>,
}

impl Registry {
    /// Asks the registry how it wants to be spoken to.
    pub(crate) fn connect(repository: Repository, access: Access) -> Result<Self, Failure> {
        let trust = match (access.insecure, access.certificates.is_empty()) {
            (true, _) => Trust::Anybody,
            (false, true) => Trust::Public,
            (false, false) => Trust::Also(access.certificates.clone()),
        };
        let client =
            Client::with_patience(&trust, access.patience).map_err(|error| match error {
                Error::Certificate(_) => Failure::source(
                    "ca_certs",
                    format!("is not valid: {}", airside_model::chain(&error)),
                ),
                other => Failure::from(other),
            })?;
        let host = repository.api_host();
        let plain = repository.is_local() || access.insecure;
        let mut bases = vec![format!("https://{host}"), format!("http://{host}")];
        if access.plain {
            bases.remove(0);
        } else if repository.is_local() {
            // On this machine no other program listens in, and few registries have certificates.
            bases.reverse();
        } else if !plain {
            bases.pop();
        }
        let mut last = None;
        for base in bases {
            let request = Request::get(Address::parse(&format!("{base}/v2/"))?);
            access.pace.wait();
            match client.send(request) {
                Ok(response) => {
                    let challenge = auth::read_challenge(&response)?;
                    return Ok(Self {
                        client,
                        repository,
                        base,
                        access,
                        challenge,
                        header: RefCell::default(),
                    });
                }
                Err(error) => last = last.or(Some(error)),
            }
        }
        Err(last.map_or_else(
            || Failure::said("the registry has no address"),
            Failure::from,
        ))
    }

    fn url(&self, path: &str) -> Result<Address, Failure> {
        let name = self.repository.name();
        Ok(Address::parse(&format!("{}/v2/{name}/{path}", self.base))?)
    }

    /// Adds the headers that the registry needs.
    fn signed<'a>(&self, request: Request<'a>) -> Result<Request<'a>, Failure> {
        let fresh = |(_, since): &(String, Instant)| since.elapsed() < TOKEN_LIFE;
        let mut kept = self.header.borrow_mut();
        if !kept.as_ref().is_some_and(fresh) {
            let scope = name::scope(&self.repository, self.access.push);
            let user = self.access.user.as_ref();
            let base = Address::parse(&self.base)?;
            let challenge = self.challenge.as_ref();
            let header = auth::answer_challenge(challenge, &self.client, &base, user, &scope)?;
            *kept = header.map(|header| (header, Instant::now()));
        }
        Ok(match &*kept {
            Some((header, _)) => request.header("Authorization", header),
            None => request,
        })
    }

    fn send(&self, request: Request<'_>) -> Result<Response, Failure> {
        let request = self.signed(request)?;
        self.access.pace.wait();
        Ok(self.client.send(request)?)
    }

    /// An answer that is a success, or words about what was asked for.
    fn expect(&self, request: Request<'_>, what: &str) -> Result<Response, Failure> {
        let method = request.method;
        let response = self.send(request)?;
        response
            .success(method)
            .map_err(|error| self.explain(error, what))
    }

    fn explain(&self, error: Error, what: &str) -> Failure {
        let host = self.repository.api_host();
        let Some(status) = error.status() else {
            return Failure::from(error);
        };
        let words = match status {
            404 => format!("{host} has no {what}"),
            401 | 403 => format!(
                "{host} denies access to {what}: check username and password ({})",
                airside_model::chain(&error)
            ),
            429 => format!(
                "{host} says that it is asked too often; ask for {what} later or log in ({})",
                airside_model::chain(&error)
            ),
            500.. => format!(
                "{host} has trouble with {what} ({})",
                airside_model::chain(&error)
            ),
            _ => return Failure::from(error),
        };
        Failure::Refused {
            status,
            retry_after: error.retry_after(),
            words,
        }
    }

    /// Returns the digest that a tag or digest stands for, if it is there.
    pub(crate) fn resolve(&self, reference: &str) -> Result<Option<Digest>, Failure> {
        let address = self.url(&format!("manifests/{reference}"))?;
        let request = Request::new("HEAD", address).header("Accept", ACCEPT_MANIFESTS);
        let response = self.send(request)?;
        let found = response.header("docker-content-digest").map(Digest::parse);
        match (response.status, found) {
            (404, _) => Ok(None),
            (200..300, Some(digest)) => {
                self.client.done(response);
                Ok(Some(digest?))
            }
            (401 | 403 | 429 | 500.., _) => {
                let what = with_reference(&self.repository, reference);
                let refused = response.success("HEAD").map(|_| None);
                refused.map_err(|error| self.explain(error, &what))
            }
            // Not every registry says it in the head, or knows HEAD.
            _ => Ok(self.manifest(reference)?.map(|(digest, _)| digest)),
        }
    }

    /// A manifest or index as it is stored, if it is there.
    pub(crate) fn manifest(&self, reference: &str) -> Result<Option<(Digest, Vec<u8>)>, Failure> {
        let address = self.url(&format!("manifests/{reference}"))?;
        let request = Request::get(address).header("Accept", ACCEPT_MANIFESTS);
        let response = self.send(request)?;
        if response.status == 404 {
            return Ok(None);
        }
        let what = with_reference(&self.repository, reference);
        let response = response
            .success("GET")
            .map_err(|error| self.explain(error, &what))?;
        let bytes = response.bytes(MAX_DOCUMENT)?;
        let digest = Digest::of_bytes(&bytes);
        if reference.starts_with("sha256:") && reference != digest.to_string() {
            return Err(Failure::said(format!("{what} is damaged: it is {digest}")));
        }
        Ok(Some((digest, bytes)))
    }

    /// A small blob, and what it should be.
    pub(crate) fn document(&self, blob: &Digest) -> Result<Vec<u8>, Failure> {
        let what = with_reference(&self.repository, &blob.to_string());
        let request = Request::get(self.url(&format!("blobs/{blob}"))?);
        let bytes = self.expect(request, &what)?.bytes(MAX_DOCUMENT)?;
        if Digest::of_bytes(&bytes) == *blob {
            Ok(bytes)
        } else {
            Err(Failure::said(format!("{what} is damaged")))
        }
    }

    /// A blob into a file, as often as it takes, but not for ever; never more of it than its
    /// descriptor says.
    pub(crate) fn download(
        &self,
        blob: &Descriptor,
        to: &Path,
        meter: &mut Meter<'_>,
    ) -> Result<(), Failure> {
        let mark = meter.mark();
        for number in 1.. {
            match self.download_once(blob, to, meter) {
                Err(failure) if number < TRIES && matches!(failure, Failure::Outbound(_)) => {
                    meter.back_to(mark);
                    meter.say(&format!(
                        "{failure}; fetching {} again",
                        blob.digest,
                        failure = airside_model::chain(&failure)
                    ));
                }
                Err(failure) => return Err(failure),
                Ok(()) => {
                    meter.blob_done();
                    return Ok(());
                }
            }
        }
        unreachable!("the loop has no end of its own")
    }

    fn download_once(
        &self,
        blob: &Descriptor,
        to: &Path,
        meter: &mut Meter<'_>,
    ) -> Result<(), Failure> {
        let (digest, size) = (&blob.digest, blob.size);
        let what = with_reference(&self.repository, &digest.to_string());
        let too_long = || {
            Failure::said(format!(
                "{what} is longer than the {size} bytes it should have"
            ))
        };
        let request = Request::get(self.url(&format!("blobs/{digest}"))?);
        let mut response = self.expect(request, &what)?;
        if response.body.length().is_some_and(|length| length > size) {
            return Err(too_long());
        }
        let mut left = size;
        let file = File::create(to).map_err(Failure::io(to))?;
        let mut hasher = Hasher::new(file);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let count = match response.body.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(response.body.explain(error).into()),
            };
            left = left.checked_sub(count as u64).ok_or_else(too_long)?;
            hasher
                .write_all(&buffer[..count])
                .map_err(Failure::io(to))?;
            meter.add(count as u64);
        }
        let found = hasher.finish().1.sha256;
        if found == digest.hex() {
            Ok(())
        } else {
            Err(Failure::said(format!(
                "{what} is damaged: it is sha256:{found}"
            )))
        }
    }
}
