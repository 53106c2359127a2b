//! Seals what may not lie in the database in clear: AES-256-GCM with a random nonce in front.

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("the encryption key must have 32 bytes, this one has {0}")]
    KeyLength(usize),
    #[error("sealed data cannot be opened: it was damaged, or sealed with another key")]
    Open,
}

#[derive(Clone)]
pub struct Sealer(Arc<LessSafeKey>);

impl Sealer {
    pub fn new(key: &[u8]) -> Result<Self, SealError> {
        let key =
            UnboundKey::new(&AES_256_GCM, key).map_err(|_| SealError::KeyLength(key.len()))?;
        Ok(Self(Arc::new(LessSafeKey::new(key))))
    }

    /// `name` binds the sealed bytes to the row they belong to.
    pub fn seal(&self, name: &str, clear: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = clear.to_vec();
        self.0
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(name.as_bytes()),
                &mut sealed,
            )
            .expect("far below the length that AES-GCM can seal");
        [nonce.as_slice(), &sealed].concat()
    }

    pub fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (nonce, body) = sealed
            .split_first_chunk::<NONCE_LEN>()
            .ok_or(SealError::Open)?;
        let mut body = body.to_vec();
        let length = self
            .0
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(name.as_bytes()),
                &mut body,
            )
            .map_err(|_| SealError::Open)?
            .len();
        body.truncate(length);
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_what_it_sealed_and_nothing_else() {
        let sealer = Sealer::new(&[7; 32]).unwrap();
        let sealed = sealer.seal("row", b"secret");
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(sealer.open("row", &sealed).unwrap(), b"secret");
        assert!(sealer.open("other row", &sealed).is_err());
        assert!(Sealer::new(&[8; 32]).unwrap().open("row", &sealed).is_err());
        assert!(sealer.open("row", b"short").is_err());
        assert!(Sealer::new(b"short").is_err());
    }
}
