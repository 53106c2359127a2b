//! The mirrored registries and their addresses.

use std::{fmt, str::FromStr};

use airside_oci::is_registry_host;
use http::{Uri, uri::Scheme};

/// One registry: the host that images are named by, and where it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    host: Host,
    base: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    One(String),
    /// Every registry that is not named otherwise.
    Others,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} does not name a registry: give HOST or HOST=URL, such as docker.io or r.example:5000=http://10.0.0.1:5000, or * for all"
)]
pub struct BadUpstream(String);

impl Registry {
    /// Returns the host in names of images; none if it stands for every host that is not named.
    pub fn host(&self) -> Option<&str> {
        match &self.host {
            Host::One(host) => Some(host),
            Host::Others => None,
        }
    }

    /// The URL that was given, if its host alone does not say where it is.
    pub fn url(&self) -> Option<&str> {
        self.base.as_deref()
    }
}

impl FromStr for Registry {
    type Err = BadUpstream;

    fn from_str(text: &str) -> Result<Self, BadUpstream> {
        let bad = || BadUpstream(text.to_owned());
        if text == "*" {
            return Ok(Self {
                host: Host::Others,
                base: None,
            });
        }
        let (host, base) = match text.split_once('=') {
            Some((host, base)) => (host, Some(base_of(base).ok_or_else(bad)?)),
            None => (text, None),
        };
        let is_host = (host.contains(['.', ':']) || host == "localhost") && is_registry_host(host);
        if is_host {
            Ok(Self {
                host: Host::One(host.to_owned()),
                base,
            })
        } else {
            Err(bad())
        }
    }
}

/// Scheme and host, without a slash at its end.
fn base_of(text: &str) -> Option<String> {
    let parts = text.parse::<Uri>().ok()?.into_parts();
    let bare = parts.path_and_query.is_none_or(|path| path == "/");
    let (scheme, authority) = (parts.scheme?, parts.authority?);
    let known = [Scheme::HTTP, Scheme::HTTPS].contains(&scheme);
    (bare && known && !authority.as_str().contains('@')).then(|| format!("{scheme}://{authority}"))
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.host().unwrap_or("*"))?;
        match &self.base {
            Some(base) => write!(f, "={base}"),
            None => Ok(()),
        }
    }
}

/// Every mirrored registry. No other host is asked: a mirror is not a way into other networks.
#[derive(Clone, Debug, Default)]
pub struct Registries(Vec<Registry>);

impl Registries {
    pub fn new(listed: impl IntoIterator<Item = Registry>) -> Self {
        Self(listed.into_iter().collect())
    }

    /// Returns the base address of the registry for images of this host.
    pub fn base(&self, host: &str) -> Option<String> {
        let one = self.0.iter().find(|known| known.host() == Some(host));
        let found = one.or_else(|| self.0.iter().find(|known| known.host == Host::Others))?;
        let base = found.base.clone();
        Some(base.unwrap_or_else(|| match host {
            "docker.io" => "https://registry-1.docker.io".to_owned(),
            host => format!("https://{host}"),
        }))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Registry> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_registries_are() {
        let listed =
            ["docker.io", "r.example:5000=http://10.0.0.1:5000/"].map(|text| text.parse().unwrap());
        let listed = Registries::new(listed);
        for (host, base) in [
            ("docker.io", Some("https://registry-1.docker.io")),
            ("r.example:5000", Some("http://10.0.0.1:5000")),
            ("r.example", None),
        ] {
            assert_eq!(listed.base(host).as_deref(), base, "{host}");
        }
        let all = Registries::new(["*".parse().unwrap()]);
        assert_eq!(all.base("r.example").as_deref(), Some("https://r.example"));
    }

    #[test]
    fn what_is_none() {
        for bad in [
            "",
            "name",
            "r.example=",
            "r.example=ftp://x",
            "r.example=http://x/y",
            "r.example=http://u:p@x",
            "a b.c",
            "*=x",
        ] {
            assert!(bad.parse::<Registry>().is_err(), "{bad}");
        }
        let text = "r.example=http://x:1";
        assert_eq!(text.parse::<Registry>().unwrap().to_string(), text);
    }
}
