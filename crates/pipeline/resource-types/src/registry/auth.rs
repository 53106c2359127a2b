//! Who we are at a registry: nobody, somebody with a password, or somebody with a token.

use airside_blocking_http::{Address, Client, Request, Response, encode};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;

use crate::Failure;

const MAX_TOKEN: u64 = 1 << 20;

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Nothing,
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

impl Challenge {
    /// Reads the answer to the first question.
    pub(super) fn of(response: &Response) -> Result<Self, Failure> {
        if response.status != 401 {
            return Ok(Self::Nothing);
        }
        let headers = response.headers.iter();
        let asked = headers.filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
        let known = asked.filter_map(|(_, value)| Self::parse(value)).next();
        known.ok_or_else(|| {
            Failure::said(format!(
                "{} wants us to log in, but not in a way that is known here",
                response.address
            ))
        })
    }

    fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let value = |name: &str| {
            let start = rest.find(&format!("{name}=\""))? + name.len() + 2;
            let end = rest[start..].find('"')? + start;
            Some(rest[start..end].to_owned())
        };
        Some(Self::Bearer {
            realm: value("realm")?,
            service: value("service"),
        })
    }

    /// The header that answers it.
    pub(super) fn answer(
        &self,
        client: &Client,
        registry: &Address,
        user: Option<&(String, String)>,
        scope: &str,
    ) -> Result<Option<String>, Failure> {
        let basic = user.map(|(name, password)| {
            format!(
                "Basic {}",
                BASE64_STANDARD.encode(format!("{name}:{password}"))
            )
        });
        match self {
            Self::Nothing => Ok(None),
            Self::Basic => Ok(basic),
            Self::Bearer { realm, service } => {
                let mark = if realm.contains('?') { '&' } else { '?' };
                let mut url = format!("{realm}{mark}scope={}", encode(scope, b""));
                if let Some(service) = service {
                    url += &format!("&service={}", encode(service, b""));
                }
                let address = Address::parse(&url)?;
                let mut request = Request::get(address.clone());
                // A registry elsewhere must not lead to what only this machine can ask.
                if address.host() != registry.host() {
                    request = request.not_nearby();
                }
                if basic.is_some() && registry.is_secure() && !address.is_secure() {
                    return Err(Failure::said(format!(
                        "{registry} wants the password sent to {address}, which is not encrypted"
                    )));
                }
                if let Some(basic) = basic {
                    request = request.header("Authorization", basic);
                }
                token(client, request, realm).map(|token| Some(format!("Bearer {token}")))
            }
        }
    }
}

fn token(client: &Client, request: Request<'_>, realm: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Answer {
        token: Option<String>,
        access_token: Option<String>,
    }
    let bytes = client
        .fetch(request, MAX_TOKEN)
        .map_err(|error| match error.status() {
            Some(status @ (401 | 403)) => Failure::Refused {
                status,
                retry_after: None,
                words: format!(
                    "{realm} gives us no token: are username and password right? ({error})"
                ),
            },
            _ => Failure::from(error),
        })?;
    let answer: Answer = super::document::parse(&bytes, realm)?;
    let token = answer.token.or(answer.access_token);
    token.ok_or_else(|| Failure::said(format!("{realm} answers without a token")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_understood() {
        let bearer = Challenge::Bearer {
            realm: "https://a/token".to_owned(),
            service: Some("s".to_owned()),
        };
        for (header, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a/token\",service=\"s\",scope=\"x\"",
                Some(bearer),
            ),
            ("Bearer nothing", None),
            ("Digest realm=\"x\"", None),
        ] {
            assert_eq!(Challenge::parse(header), expected, "{header}");
        }
    }
}
