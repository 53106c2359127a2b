//! Opaque tokens: random bytes with the expiry behind them, which `fly targets` reads and no server
//! trusts.

use airside_store::Micros;
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

/// A fresh token that says when it expires.
pub(crate) fn make(expires_at: Micros) -> String {
    let mut bytes = [0; 28];
    let random: [u8; 20] = rand::random();
    bytes[..20].copy_from_slice(&random);
    bytes[20..].copy_from_slice(&expires_at.seconds().to_le_bytes());
    STANDARD_NO_PAD.encode(bytes)
}

/// Returns the hash by which the store knows a token.
pub(crate) fn hash(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_28_bytes_that_end_in_its_expiry() {
        let token = make(Micros(1_700_000_000_500_000));
        let bytes = STANDARD_NO_PAD.decode(&token).unwrap();
        assert_eq!(bytes.len(), 28);
        assert_eq!(bytes[20..], 1_700_000_000_i64.to_le_bytes());
        assert!(!token.contains('='));
        assert_ne!(token, make(Micros(1_700_000_000_500_000)));
        assert_eq!(hash("a").len(), 64);
    }
}
