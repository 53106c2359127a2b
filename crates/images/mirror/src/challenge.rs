//! How a registry asks for a login, as far as a mirror must understand it: where anybody gets a token.

use http::{HeaderMap, header};
use serde::Deserialize;
use url::{Host, Url};

/// `Bearer realm="…",service="…",scope="…"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    realm: Url,
    service: Option<String>,
    scope: Option<String>,
}

/// What a realm answers; which of the two it is differs.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Challenge {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let texts = headers.get_all(header::WWW_AUTHENTICATE).into_iter();
        texts
            .filter_map(|text| Self::parse(text.to_str().ok()?))
            .next()
    }

    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let value = |key: &str| {
            let at = rest.find(&format!("{key}=\""))?;
            let rest = &rest[at + key.len() + 2..];
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        Some(Self {
            realm: Url::parse(&value("realm")?).ok()?,
            service: value("service"),
            scope: value("scope"),
        })
    }

    /// Returns the address at which a caller may ask for a token. A realm is what the registry says it is: never less safe than the registry, and
    /// not what only this machine can ask, unless the registry is there.
    pub(crate) fn address(&self, registry: &str) -> Option<String> {
        let is_safe = self.realm.scheme() == "https"
            || (self.realm.scheme() == "http" && registry.starts_with("http://"));
        let registry_host = Url::parse(registry).ok();
        let registry_host = registry_host.as_ref().and_then(Url::host_str);
        let is_safe = is_safe && (self.realm.host_str() == registry_host || !is_near(&self.realm));
        let mut address = self.realm.clone();
        {
            let mut pairs = address.query_pairs_mut();
            for (key, value) in [("service", &self.service), ("scope", &self.scope)] {
                if let Some(value) = value {
                    pairs.append_pair(key, value);
                }
            }
        }
        is_safe.then(|| address.into())
    }
}

/// Returns true if an address is written as one of this machine or of its link, where clouds have services that hand out keys.
fn is_near(realm: &Url) -> bool {
    match realm.host() {
        Some(Host::Ipv4(v4)) => v4.is_loopback() || v4.is_link_local() || v4.is_unspecified(),
        Some(Host::Ipv6(v6)) => {
            let mapped = v6.to_ipv4_mapped();
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unicast_link_local()
                || mapped.is_some_and(|v4| v4.is_loopback() || v4.is_link_local())
        }
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => true,
    }
}

/// What a registry takes as `Authorization`.
pub(crate) fn bearer(answer: &[u8]) -> Option<String> {
    let token: Token = serde_json::from_slice(answer).ok()?;
    let token = token.token.or(token.access_token);
    token
        .filter(|token| !token.is_empty())
        .map(|token| format!("Bearer {token}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_realms_on_this_machine_are_not_asked() {
        for (realm, registry, expected) in [
            ("http://169.254.169.254/x", "http://r.example", false),
            ("https://127.0.0.1/x", "https://r.example", false),
            ("https://localhost/x", "https://r.example", false),
            ("https://[::1]/x", "https://r.example", false),
            (
                "https://[::ffff:169.254.169.254]/x",
                "https://r.example",
                false,
            ),
            ("http://127.0.0.1:2/x", "http://127.0.0.1:1", true),
            ("https://auth.example/x", "https://r.example", true),
        ] {
            let challenge = Challenge::parse(&format!("Bearer realm=\"{realm}\"")).unwrap();
            assert_eq!(challenge.address(registry).is_some(), expected, "{realm}");
        }
    }

    #[test]
    fn where_tokens_are() {
        let text = r#"Bearer realm="https://auth.example/token",service="r.example",scope="repository:a:pull""#;
        let challenge = Challenge::parse(text).unwrap();
        assert_eq!(
            challenge.address("https://r.example").unwrap(),
            "https://auth.example/token?service=r.example&scope=repository%3Aa%3Apull"
        );
        let plain = Challenge::parse(r#"bearer realm="http://127.0.0.1:1/t""#).unwrap();
        assert!(plain.address("https://r.example").is_none());
        assert!(plain.address("http://127.0.0.1:2").is_some());
        for bad in [
            "",
            "Basic realm=\"x\"",
            "Bearer",
            "Bearer realm=\"x\"",
            "Bearer service=\"x\"",
        ] {
            assert_eq!(Challenge::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn tokens() {
        assert_eq!(bearer(br#"{"token": "a"}"#).as_deref(), Some("Bearer a"));
        assert_eq!(
            bearer(br#"{"access_token": "b", "x": 1}"#).as_deref(),
            Some("Bearer b")
        );
        for bad in ["", "{}", r#"{"token": ""}"#, "[]"] {
            assert_eq!(bearer(bad.as_bytes()), None, "{bad}");
        }
    }
}
