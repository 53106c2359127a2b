//! Requests to one bucket. They block; the caller runs them on a thread for that.

use std::{
    io,
    time::{Duration, SystemTime},
};

use airside_aws::{AwsIdentity, EMPTY, Keys, Signer, xml};
use airside_blocking_http::{Address, Client, Request, RequestTimeouts, Response, Trust, encode};
use jiff::{Timestamp, fmt::rfc2822};
use parking_lot::Mutex;

use crate::Authorities;

/// A page of a list is smaller.
const MAX_PAGE: u64 = 16 << 20;
/// A node waits for the answer.
const REQUEST_PATIENCE: RequestTimeouts = RequestTimeouts {
    connect: Duration::from_secs(5),
    silence: Duration::from_secs(30),
    grace: Duration::from_secs(60),
    speed: 1 << 10,
    tries: 2,
    pause: Duration::from_millis(200),
    longest_pause: Duration::from_secs(2),
};

/// Address and login of a bucket.
#[derive(Clone, Debug)]
pub struct BucketSettings {
    pub bucket: String,
    /// Text before every key; several mirrors share what is below it.
    pub prefix: String,
    pub region: String,
    /// Address of a server that is not AWS, with the bucket in the path.
    pub endpoint: Option<String>,
    /// Keys to sign with; without them, this machine's own identity.
    pub keys: Option<Keys>,
    /// Authorities of the certificate of a server that is not AWS, beside the public ones.
    pub authorities: Option<Authorities>,
}

pub(super) struct Bucket {
    /// Address of the bucket, with a slash at its end.
    base: String,
    prefix: String,
    region: String,
    identity: AwsIdentity,
    trust: Trust,
    /// Each is one caller's at a time.
    clients: Mutex<Vec<Client>>,
}

/// One object of a list.
pub(super) struct Item {
    /// Behind the prefix that was asked for.
    pub(super) name: String,
    pub(super) size: u64,
    /// Time in seconds since 1970.
    pub(super) time: i64,
}

impl Bucket {
    pub(super) fn open(settings: BucketSettings) -> io::Result<Self> {
        let BucketSettings {
            bucket,
            prefix,
            region,
            endpoint,
            keys,
            authorities,
        } = settings;
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(fine) || !airside_aws::is_host_part(&region) {
            let words = format!("{bucket:?} in {region:?} is not a bucket");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let base = match endpoint {
            Some(endpoint) => format!("{}/{bucket}/", endpoint.trim_end_matches('/')),
            None => format!("{}/{bucket}/", airside_aws::endpoint("s3", &region)),
        };
        let identity = match keys {
            Some(keys) => AwsIdentity::given(keys, &region),
            None => AwsIdentity::of_machine(&region),
        };
        let trust =
            authorities.map_or(Trust::Public, |own| Trust::Also(vec![own.pem().to_owned()]));
        let prefix = match prefix.trim_matches('/') {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        Ok(Self {
            base,
            prefix,
            region,
            identity,
            trust,
            clients: Mutex::default(),
        })
    }

    pub(super) fn address(&self, key: &str, query: &str) -> io::Result<Address> {
        let key = if key.is_empty() {
            String::new()
        } else {
            encode(&format!("{}{key}", self.prefix), b"/")
        };
        let mark = if query.is_empty() { "" } else { "?" };
        let address = Address::parse(&format!("{}{key}{mark}{query}", self.base));
        address.map_err(io::Error::other)
    }

    /// [`io::ErrorKind::NotFound`] where there is no such object.
    pub(super) fn send(&self, request: Request<'_>, payload_hash: &str) -> io::Result<Response> {
        let keys = self.identity.keys().map_err(io::Error::other)?;
        let signer = Signer {
            keys: &keys,
            region: &self.region,
            service: "s3",
        };
        let request = signer.sign(request, payload_hash, Timestamp::now());
        let idle = self.clients.lock().pop();
        let client = match idle {
            Some(client) => client,
            None => {
                Client::with_patience(&self.trust, REQUEST_PATIENCE).map_err(io::Error::other)?
            }
        };
        let answer = client.expect(request);
        self.clients.lock().push(client);
        answer.map_err(|error| match error.status() {
            Some(404) => io::Error::new(io::ErrorKind::NotFound, error),
            _ => io::Error::other(error),
        })
    }

    /// All objects below a name that ends with a slash.
    pub(super) fn list(&self, below: &str) -> io::Result<Vec<Item>> {
        let prefix = format!("{}{below}", self.prefix);
        let (mut items, mut token) = (Vec::new(), None::<String>);
        loop {
            let mut query = format!("list-type=2&prefix={}", encode(&prefix, b""));
            if let Some(token) = &token {
                query = format!("continuation-token={}&{query}", encode(token, b""));
            }
            let answer = self.send(Request::get(self.address("", &query)?), EMPTY)?;
            let page = answer.bytes(MAX_PAGE).map_err(io::Error::other)?;
            let page = String::from_utf8_lossy(&page);
            items.extend(
                xml::elements(&page, "Contents")
                    .into_iter()
                    .filter_map(|item| {
                        let time: Timestamp = xml::text(item, "LastModified")?.parse().ok()?;
                        Some(Item {
                            name: xml::text(item, "Key")?.strip_prefix(&prefix)?.to_owned(),
                            size: xml::text(item, "Size")?.parse().ok()?,
                            time: time.as_second(),
                        })
                    }),
            );
            token = xml::text(&page, "NextContinuationToken");
            if token.is_none() {
                return Ok(items);
            }
        }
    }
}

/// Returns nothing instead of an error where there is no such object.
pub(super) fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(it) => Ok(Some(it)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn parse_time(seconds: i64) -> SystemTime {
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    SystemTime::UNIX_EPOCH + since
}

pub(super) fn parse_http_time(text: &str) -> Option<SystemTime> {
    let time = rfc2822::parse(text).ok()?;
    Some(parse_time(time.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_servers() {
        let time = parse_http_time("Mon, 16 Nov 2026 05:00:00 GMT").unwrap();
        assert_eq!(time, parse_time(1_794_805_200));
        assert_eq!(parse_http_time("yesterday"), None);
    }

    #[test]
    fn what_is_no_bucket() {
        let settings = |bucket: &str, region: &str| BucketSettings {
            bucket: bucket.to_owned(),
            prefix: String::new(),
            region: region.to_owned(),
            endpoint: None,
            keys: None,
            authorities: None,
        };
        for (bucket, region) in [("", "eu-1"), ("a/b", "eu-1"), ("a", "x/y")] {
            assert!(
                Bucket::open(settings(bucket, region)).is_err(),
                "{bucket} {region}"
            );
        }
    }
}
