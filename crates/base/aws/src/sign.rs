//! Signatures, version 4: what AWS and those who imitate it want to see on every request.

use airside_blocking_http::{Address, Request, encode};
use jiff::{Timestamp, tz::TimeZone};
use sha2::{Digest, Sha256};

use crate::Keys;

/// The hash of nothing.
pub const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// Stands for the hash of a body in addresses that are signed beforehand.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

pub struct Signer<'a> {
    pub keys: &'a Keys,
    pub region: &'a str,
    pub service: &'a str,
}

impl Signer<'_> {
    /// Adds the signature, over all headers that are there by now.
    pub fn sign<'r>(
        &self,
        request: Request<'r>,
        payload_hash: &str,
        now: Timestamp,
    ) -> Request<'r> {
        let (day, time) = stamps(now);
        let mut request = request
            .header("x-amz-content-sha256", payload_hash)
            .header("x-amz-date", &time);
        if let Some(token) = &self.keys.token {
            request = request.header("x-amz-security-token", token);
        }
        let mut headers: Vec<(String, String)> = request
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        headers.push(("host".to_owned(), request.address.authority()));
        headers.sort();
        let query = query(&request.address);
        let (signed, signature) = self.signature(
            request.method,
            &request.address,
            &query,
            &headers,
            payload_hash,
            (&day, &time),
        );
        let (id, scope) = (&self.keys.id, self.scope(&day));
        request.header(
            "Authorization",
            format!(
                "{ALGORITHM} Credential={id}/{scope}, SignedHeaders={signed}, Signature={signature}"
            ),
        )
    }

    /// Returns an address that can be fetched without keys for this many seconds.
    pub fn presign(&self, address: &Address, seconds: u32, now: Timestamp) -> String {
        let (day, time) = stamps(now);
        let mut pairs = query(address);
        let mut add = |name: &str, value: &str| pairs.push((name.to_owned(), encode(value, b"")));
        add("X-Amz-Algorithm", ALGORITHM);
        add(
            "X-Amz-Credential",
            &format!("{}/{}", self.keys.id, self.scope(&day)),
        );
        add("X-Amz-Date", &time);
        add("X-Amz-Expires", &seconds.to_string());
        add("X-Amz-SignedHeaders", "host");
        if let Some(token) = &self.keys.token {
            add("X-Amz-Security-Token", token);
        }
        pairs.sort();
        let headers = [("host".to_owned(), address.authority())];
        let (_, signature) =
            self.signature("GET", address, &pairs, &headers, UNSIGNED, (&day, &time));
        format!("{address}?{}&X-Amz-Signature={signature}", joined(&pairs))
    }

    fn scope(&self, day: &str) -> String {
        format!("{day}/{}/{}/aws4_request", self.region, self.service)
    }

    /// The names of the signed headers, and the signature.
    fn signature(
        &self,
        method: &str,
        address: &Address,
        query: &[(String, String)],
        headers: &[(String, String)],
        payload_hash: &str,
        (day, time): (&str, &str),
    ) -> (String, String) {
        let path = address.target().split('?').next().unwrap_or_default();
        let lines: String = headers
            .iter()
            .map(|(name, value)| format!("{name}:{value}\n"))
            .collect();
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let canonical = format!(
            "{method}\n{path}\n{}\n{lines}\n{names}\n{payload_hash}",
            joined(query)
        );
        let scope = self.scope(day);
        let text = format!(
            "{ALGORITHM}\n{time}\n{scope}\n{}",
            sha256(canonical.as_bytes())
        );
        let mut key = hmac(
            format!("AWS4{}", self.keys.secret).as_bytes(),
            day.as_bytes(),
        );
        for part in [self.region, self.service, "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        (names, hex::encode(hmac(&key, text.as_bytes())))
    }
}

/// `20130524` and `20130524T000000Z`.
fn stamps(now: Timestamp) -> (String, String) {
    let now = now.to_zoned(TimeZone::UTC);
    let day = now.strftime("%Y%m%d").to_string();
    (day, now.strftime("%Y%m%dT%H%M%SZ").to_string())
}

/// The pairs of a query, sorted; one without a value has an empty one.
fn query(address: &Address) -> Vec<(String, String)> {
    let query = address
        .target()
        .split_once('?')
        .map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    pairs.sort();
    pairs
}

fn joined(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 64;
    let mut padded = [0; BLOCK];
    if key.len() > BLOCK {
        padded[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        padded[..key.len()].copy_from_slice(key);
    }
    let with = |mask: u8| padded.map(|byte| byte ^ mask);
    let inner = Sha256::new()
        .chain_update(with(0x36))
        .chain_update(text)
        .finalize();
    let outer = Sha256::new()
        .chain_update(with(0x5c))
        .chain_update(inner)
        .finalize();
    outer.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: None,
        }
    }

    /// The examples of the S3 reference.
    #[test]
    fn signatures_are_those_of_the_reference() {
        let keys = keys();
        let signer = Signer {
            keys: &keys,
            region: "us-east-1",
            service: "s3",
        };
        let now: Timestamp = "2013-05-24T00:00:00Z".parse().unwrap();
        let get = |target: &str| {
            let url = format!("https://examplebucket.s3.amazonaws.com{target}");
            Request::get(Address::parse(&url).unwrap())
        };
        for (request, signature) in [
            (
                get("/test.txt").header("Range", "bytes=0-9"),
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                get("/?lifecycle"),
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                get("/?max-keys=2&prefix=J"),
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let signed = signer.sign(request, EMPTY, now);
            let (_, header) = signed.headers.last().unwrap();
            assert!(
                header.ends_with(&format!("Signature={signature}")),
                "{header}"
            );
        }
        let address = get("/test.txt").address;
        let url = signer.presign(&address, 86400, now);
        let signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
        assert!(
            url.ends_with(&format!("&X-Amz-Signature={signature}")),
            "{url}"
        );
    }

    #[test]
    fn keyed_hashes_are_those_of_the_reference() {
        for (key, text, hash) in [
            (
                vec![0x0b; 20],
                &b"Hi There"[..],
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex::encode(hmac(&key, text)), hash);
        }
    }
}
