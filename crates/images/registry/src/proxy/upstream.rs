//! The address of the server's registry.

use std::{fmt, str::FromStr};

use http::{
    Uri,
    uri::{Authority, PathAndQuery, Scheme},
};

/// `http://HOST:PORT` or `https://HOST`, and nothing behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    scheme: Scheme,
    authority: Authority,
}

#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    #[error(
        "{0:?} is not a URL of a registry, such as http://10.0.0.1:5000 or https://ci.example.com:5000"
    )]
    Unclear(String),
}

impl Upstream {
    /// Returns the address of a request at the registry.
    pub(super) fn uri(&self, asked: &PathAndQuery) -> Option<Uri> {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(asked.clone());
        Uri::from_parts(parts).ok()
    }
}

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        let unclear = || UpstreamError::Unclear(text.to_owned());
        let parts = text.parse::<Uri>().map_err(|_| unclear())?.into_parts();
        let bare = parts.path_and_query.is_none_or(|path| path == "/");
        match (parts.scheme, parts.authority) {
            (Some(scheme), Some(authority))
                if bare
                    && [Scheme::HTTP, Scheme::HTTPS].contains(&scheme)
                    && !authority.as_str().contains('@') =>
            {
                Ok(Self { scheme, authority })
            }
            _ => Err(unclear()),
        }
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_may_be() {
        for good in [
            "http://10.0.0.1:5000",
            "https://ci.example.com",
            "http://[fd00::1]:5000",
        ] {
            assert_eq!(good.parse::<Upstream>().unwrap().to_string(), good);
        }
        assert!("https://ci.example.com/".parse::<Upstream>().is_ok());
        for bad in [
            "",
            "ci.example.com:5000",
            "ftp://a",
            "http://a/b",
            "http://a?b",
            "http://u:p@a",
            "/a",
        ] {
            assert!(bad.parse::<Upstream>().is_err(), "{bad}");
        }
    }
}
