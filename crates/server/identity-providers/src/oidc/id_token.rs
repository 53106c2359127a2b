//! Verification of id tokens: signed by the provider, for us, for this login, and still valid.

use jsonwebtoken::{
    Algorithm, DecodingKey, Header, Validation, decode, decode_header,
    errors::ErrorKind,
    jwk::{Jwk, PublicKeyUse},
};
use serde_json::{Map, Value};

/// The most by which the provider's clock and ours may differ.
const SKEW_SECONDS: u64 = 60;

/// Signatures with a public key. A signature with a shared secret (or none) proves nothing.
const ACCEPTED: [Algorithm; 8] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
];

pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    #[error("there is none in the provider's answer")]
    Missing,
    #[error("it is not a signed token, or signed in a way that is not known here")]
    Malformed,
    #[error("it is signed with {0:?}, which is not accepted")]
    Algorithm(Algorithm),
    #[error("none of the provider's keys made its signature")]
    Key,
    #[error("it has expired, or is not valid yet; do the clocks agree?")]
    Time,
    #[error("it is of another issuer")]
    Issuer,
    #[error("it was made for another client")]
    Audience,
    #[error("it was made for another login")]
    Nonce,
    #[error("it lacks {0:?}")]
    Lacks(String),
    #[error("it is not a valid id token: {0}")]
    Other(String),
}

impl IdTokenError {
    /// Returns true if keys that are newer than ours may make the token good.
    pub(crate) fn may_be_another_key(&self) -> bool {
        matches!(self, Self::Key)
    }
}

pub(crate) fn verify(
    token: &str,
    keys: &[Jwk],
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, IdTokenError> {
    if token.is_empty() {
        return Err(IdTokenError::Missing);
    }
    let header = decode_header(token).map_err(|_| IdTokenError::Malformed)?;
    if !ACCEPTED.contains(&header.alg) {
        return Err(IdTokenError::Algorithm(header.alg));
    }
    let rules = rules(header.alg, expected);
    let candidates = keys.iter().filter(|key| fits(key, &header));
    for key in candidates.filter_map(|key| DecodingKey::from_jwk(key).ok()) {
        // Of the right kind: an RSA key is never taken for a secret, say.
        if !key.family().algorithms().contains(&header.alg) {
            continue;
        }
        match decode::<Map<String, Value>>(token, &key, &rules) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {}
            Err(error) => return Err(explain(error.kind())),
            Ok(data) => return check(data.claims, expected),
        }
    }
    Err(IdTokenError::Key)
}

fn rules(algorithm: Algorithm, expected: &Expected<'_>) -> Validation {
    let mut rules = Validation::new(algorithm);
    rules.leeway = SKEW_SECONDS;
    rules.validate_nbf = true;
    rules.set_audience(&[expected.client_id]);
    rules.set_issuer(&[expected.issuer]);
    rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    rules
}

fn fits(key: &Jwk, header: &Header) -> bool {
    let for_signing = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    let named = header.kid.is_none() || key.common.key_id == header.kid;
    for_signing && named
}

/// Checks the claims that the library does not look at.
fn check(
    claims: Map<String, Value>,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, IdTokenError> {
    if claims.get("nonce").and_then(Value::as_str) != Some(expected.nonce) {
        return Err(IdTokenError::Nonce);
    }
    match claims.get("azp") {
        Some(party) if party.as_str() != Some(expected.client_id) => Err(IdTokenError::Audience),
        _ => Ok(claims),
    }
}

fn explain(kind: &ErrorKind) -> IdTokenError {
    match kind {
        ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature => IdTokenError::Time,
        ErrorKind::InvalidIssuer => IdTokenError::Issuer,
        ErrorKind::InvalidAudience => IdTokenError::Audience,
        ErrorKind::MissingRequiredClaim(claim) => IdTokenError::Lacks(claim.clone()),
        ErrorKind::Base64(_) | ErrorKind::Json(_) | ErrorKind::Utf8(_) => IdTokenError::Malformed,
        other => IdTokenError::Other(format!("{other:?}")),
    }
}
