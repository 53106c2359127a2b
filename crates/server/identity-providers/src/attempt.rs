//! Secrets that tie the way back from a provider to the way there.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// An attempt is made for one login and of no use for another. The server that starts a login keeps
/// it secret until the user comes back.
#[derive(Clone, Serialize, Deserialize)]
pub struct Attempt {
    /// Comes back inside the id token.
    pub(crate) nonce: String,
    /// Shown when the code is exchanged; the way there carries its hash alone (PKCE).
    pub(crate) verifier: String,
}

impl Attempt {
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        Self {
            nonce: random(),
            verifier: random(),
        }
    }

    pub(crate) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()))
    }
}

fn random() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}
