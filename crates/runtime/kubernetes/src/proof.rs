//! Checks that a claim comes from inside the very pod that was placed: the kubelet gives each pod a
//! short-lived token that names it, bound to an audience of our own, and the cluster's public keys
//! are enough to verify it.

use airside_model::{Handle, InstallationId};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header, jwk::Jwk};
use serde::Deserialize;

use crate::keys::{Keys, KeysError};

/// Time by which the clocks of the cluster and of this machine may differ.
const SKEW_SECONDS: u64 = 60;

#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    #[error("the pod's token cannot be read")]
    Malformed(#[source] jsonwebtoken::errors::Error),
    #[error("the pod's token is signed with {0:?}; only RS256 and ES256 are accepted")]
    Algorithm(Algorithm),
    #[error("the pod's token names no key")]
    NoKey,
    #[error("the pod's token is signed with the key {0:?}, which is none of the cluster's")]
    UnknownKey(String),
    #[error("the pod's token is not valid")]
    Invalid(#[source] jsonwebtoken::errors::Error),
    #[error("the pod's token is for {what} {found:?}, not {expected:?}")]
    Other {
        what: &'static str,
        found: String,
        expected: String,
    },
    /// The keys cannot be read, which is not the token's fault: try again later.
    #[error("the pod's token cannot be checked now")]
    Keys(#[from] KeysError),
}

impl ProofError {
    /// Returns true if the same token may be accepted later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Keys(_))
    }
}

/// Returns the audience of our tokens: one made for another audience proves nothing here, and the
/// other way round.
pub(crate) fn audience(installation: &InstallationId) -> String {
    format!("airside-{installation}")
}

/// The identity that a token must name.
pub(crate) struct Expected<'a> {
    pub(crate) audience: String,
    pub(crate) namespace: &'a str,
    pub(crate) handle: &'a Handle,
    pub(crate) uid: Option<&'a str>,
}

#[derive(Deserialize)]
struct Claims {
    #[serde(rename = "kubernetes.io")]
    kubernetes: Bound,
}

#[derive(Deserialize)]
struct Bound {
    namespace: String,
    pod: BoundPod,
}

#[derive(Deserialize)]
struct BoundPod {
    name: String,
    uid: String,
}

pub(crate) async fn verify(
    keys: &Keys,
    jwt: &str,
    expected: &Expected<'_>,
) -> Result<(), ProofError> {
    let jwt = jwt.trim();
    let header = decode_header(jwt).map_err(ProofError::Malformed)?;
    if !matches!(header.alg, Algorithm::RS256 | Algorithm::ES256) {
        return Err(ProofError::Algorithm(header.alg));
    }
    let id = header.kid.ok_or(ProofError::NoKey)?;
    let key = keys.find(&id).await?.ok_or(ProofError::UnknownKey(id))?;
    check(jwt, header.alg, &key, expected)
}

fn check(
    jwt: &str,
    algorithm: Algorithm,
    key: &Jwk,
    expected: &Expected<'_>,
) -> Result<(), ProofError> {
    let key = DecodingKey::from_jwk(key).map_err(ProofError::Invalid)?;
    // Validation refuses an algorithm that is not of the key's own family.
    let mut rules = Validation::new(algorithm);
    rules.leeway = SKEW_SECONDS;
    rules.validate_nbf = true;
    rules.set_audience(&[&expected.audience]);
    rules.set_required_spec_claims(&["exp", "aud"]);
    let Bound { namespace, pod } = decode::<Claims>(jwt, &key, &rules)
        .map_err(ProofError::Invalid)?
        .claims
        .kubernetes;
    same("namespace", namespace, expected.namespace)?;
    same("pod", pod.name, expected.handle.as_str())?;
    match expected.uid {
        Some(uid) => same("pod uid", pod.uid, uid),
        None => Ok(()),
    }
}

fn same(what: &'static str, found: String, expected: &str) -> Result<(), ProofError> {
    if found == expected {
        return Ok(());
    }
    Err(ProofError::Other {
        what,
        found,
        expected: expected.to_owned(),
    })
}

#[cfg(test)]
mod tests;
