//! Logins at a registry: none, a password, or a token.

use airside_blocking_http::{Address, Client, Request, Response};
use airside_oci::{BearerChallenge, Challenge, MAX_TOKEN_BYTES};
use base64::{Engine, prelude::BASE64_STANDARD};

use crate::Failure;

/// Reads the answer to the first question. `None` if the registry wants no login.
pub(super) fn read_challenge(response: &Response) -> Result<Option<Challenge>, Failure> {
    if response.status != 401 {
        return Ok(None);
    }
    let headers = response.headers.iter();
    let asked = headers.filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
    let mut known = asked.filter_map(|(_, value)| Challenge::parse(value));
    let unknown = || {
        Failure::said(format!(
            "{} wants us to log in, but not in a way that is known here",
            response.address
        ))
    };
    known.next().map(Some).ok_or_else(unknown)
}

/// Returns the header that answers a challenge.
pub(super) fn answer_challenge(
    challenge: Option<&Challenge>,
    client: &Client,
    registry: &Address,
    user: Option<&(String, String)>,
    scope: &str,
) -> Result<Option<String>, Failure> {
    let basic = user.map(|(name, password)| {
        let encoded = BASE64_STANDARD.encode(format!("{name}:{password}"));
        format!("Basic {encoded}")
    });
    match challenge {
        None => Ok(None),
        Some(Challenge::Basic) => Ok(basic),
        Some(Challenge::Bearer(bearer)) => {
            let token = request_token(bearer, client, registry, basic, scope)?;
            Ok(Some(format!("Bearer {token}")))
        }
    }
}

/// Requests a token. The realm is the registry's word, and is not trusted: it is never less safe
/// than the registry, and not on this machine unless the registry is.
fn request_token(
    challenge: &BearerChallenge,
    client: &Client,
    registry: &Address,
    basic: Option<String>,
    scope: &str,
) -> Result<String, Failure> {
    let origin = registry.origin();
    let url = challenge
        .token_url(&origin, Some(scope))
        .map_err(|error| Failure::said(format!("{origin}: {}", airside_model::chain(&error))))?;
    let address = Address::parse(&url)?;
    let realm = address.to_string();
    let mut request = Request::get(address.clone());
    // A name may still lead to this machine.
    if address.host() != registry.host() {
        request = request.not_nearby();
    }
    if let Some(basic) = basic {
        request = request.header("Authorization", basic);
    }
    let bytes = client
        .fetch(request, MAX_TOKEN_BYTES as u64)
        .map_err(|error| match error.status() {
            Some(status @ (401 | 403)) => Failure::Refused {
                status,
                retry_after: None,
                words: format!(
                    "{realm} gives us no token: are username and password right? ({})",
                    airside_model::chain(&error)
                ),
            },
            _ => Failure::from(error),
        })?;
    airside_oci::read_token(&bytes)
        .map_err(|error| Failure::said(format!("{realm}: {}", airside_model::chain(&error))))
}
