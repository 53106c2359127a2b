//! Seals what may not lie in the database in clear: AES-256-GCM, with a mark of the key and a
//! random nonce in front.
//!
//! ```text
//! version (1) · key id (4) · nonce (12) · sealed bytes and tag
//! ```

use std::sync::Arc;

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hmac,
};
use sha2::{Digest, Sha256};

/// 1 bound some bytes to the kind of row, 2 binds all of them to one row.
const VERSION: u8 = 2;
const MARK_LEN: usize = 5;

#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("the encryption key must have 32 bytes, this one has {0}")]
    KeyLength(usize),
    #[error("sealed data cannot be opened: it was damaged, or sealed with another key")]
    Open,
}

/// Seals with one key, and opens what that key or an older one sealed. Clones share the keys.
#[derive(Clone)]
pub struct Sealer {
    current: Arc<Key>,
    old: Vec<Arc<Key>>,
}

struct Key {
    mark: [u8; MARK_LEN],
    key: LessSafeKey,
    fingerprints: hmac::Key,
}

impl Key {
    fn new(bytes: &[u8]) -> Result<Self, SealError> {
        let key =
            UnboundKey::new(&AES_256_GCM, bytes).map_err(|_| SealError::KeyLength(bytes.len()))?;
        let digest = Sha256::new()
            .chain_update(b"airside key id")
            .chain_update(bytes)
            .finalize();
        let mark = [VERSION, digest[0], digest[1], digest[2], digest[3]];
        // A key of its own: what is sealed and what is named share nothing.
        let derived = Sha256::new()
            .chain_update(b"airside fingerprints")
            .chain_update(bytes)
            .finalize();
        Ok(Self {
            mark,
            key: LessSafeKey::new(key),
            fingerprints: hmac::Key::new(hmac::HMAC_SHA256, &derived),
        })
    }

    /// Returns true if a mark is this key's, in any version of the format.
    fn made(&self, mark: &[u8]) -> bool {
        let version = mark
            .first()
            .is_some_and(|version| (1..=VERSION).contains(version));
        version && mark[1..] == self.mark[1..]
    }

    fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut body = body.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let aad = Aad::from(name.as_bytes());
        let length = self.key.open_in_place(nonce, aad, &mut body).ok()?.len();
        body.truncate(length);
        Some(body)
    }
}

impl Sealer {
    pub fn new(key: &[u8]) -> Result<Self, SealError> {
        Ok(Self {
            current: Arc::new(Key::new(key)?),
            old: Vec::new(),
        })
    }

    /// Lets the sealer open what this older key sealed, too.
    pub fn with_old_key(mut self, key: &[u8]) -> Result<Self, SealError> {
        self.old.push(Arc::new(Key::new(key)?));
        Ok(self)
    }

    /// `name` binds the sealed bytes to the row they belong to.
    pub fn seal(&self, name: &str, clear: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = clear.to_vec();
        self.current
            .key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(name.as_bytes()),
                &mut sealed,
            )
            .expect("far below the length that AES-GCM can seal");
        [self.current.mark.as_slice(), &nonce, &sealed].concat()
    }

    pub fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let keys = || std::iter::once(&self.current).chain(&self.old);
        if let Some((mark, body)) = sealed.split_first_chunk::<MARK_LEN>()
            && let Some(key) = keys().find(|key| key.made(mark))
            && let Some(clear) = key.open(name, body)
        {
            return Ok(clear);
        }
        // The first version of the database had no mark.
        keys()
            .find_map(|key| key.open(name, sealed))
            .ok_or(SealError::Open)
    }

    /// A name for `clear` that is always the same and shows nothing of it without the current key.
    pub(crate) fn fingerprint(&self, name: &str, clear: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.current.fingerprints);
        context.update(name.as_bytes());
        context.update(&[0]);
        context.update(clear);
        hex::encode(context.sign())
    }

    /// A key for another purpose: always the same under the current key, and of no use for any
    /// other.
    pub fn key_for(&self, purpose: &str) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.current.fingerprints);
        // What is named begins with its name, which is never empty.
        context.update(&[0]);
        context.update(purpose.as_bytes());
        let mut key = [0; 32];
        key.copy_from_slice(context.sign().as_ref());
        key
    }

    /// Returns the mark that all bytes sealed with the current key begin with.
    pub(crate) fn mark(&self) -> [u8; MARK_LEN] {
        self.current.mark
    }

    /// Returns true if one of the keys has this mark.
    pub(crate) fn knows(&self, mark: &[u8]) -> bool {
        std::iter::once(&self.current)
            .chain(&self.old)
            .any(|key| key.made(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_for_purposes_depend_on_both() {
        let derive = |key: u8, purpose: &str| Sealer::new(&[key; 32]).unwrap().key_for(purpose);
        assert_eq!(derive(7, "a"), derive(7, "a"));
        assert_ne!(derive(7, "a"), derive(8, "a"));
        assert_ne!(derive(7, "a"), derive(7, "b"));
    }

    #[test]
    fn fingerprints_depend_on_key_name_and_content() {
        let print = |key: u8, name: &str, clear: &[u8]| {
            Sealer::new(&[key; 32]).unwrap().fingerprint(name, clear)
        };
        let same = print(7, "a", b"b");
        assert_eq!(same, print(7, "a", b"b"));
        for other in [
            print(8, "a", b"b"),
            print(7, "b", b"b"),
            print(7, "a", b"c"),
        ] {
            assert_ne!(same, other);
        }
    }

    #[test]
    fn opens_what_it_sealed_and_nothing_else() {
        let sealer = Sealer::new(&[7; 32]).unwrap();
        let sealed = sealer.seal("row", b"secret");
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(sealer.open("row", &sealed).unwrap(), b"secret");
        assert!(sealer.open("other row", &sealed).is_err());
        assert!(Sealer::new(&[8; 32]).unwrap().open("row", &sealed).is_err());
        for damaged in [
            &b"short"[..],
            b"",
            &sealed[..sealed.len() - 1],
            &sealed[1..],
        ] {
            assert!(sealer.open("row", damaged).is_err());
        }
        assert!(Sealer::new(b"short").is_err());
    }

    #[test]
    fn an_old_key_opens_but_does_not_seal() {
        let old = Sealer::new(&[7; 32]).unwrap();
        let new = Sealer::new(&[8; 32]).unwrap();
        let rotated = new.clone().with_old_key(&[7; 32]).unwrap();
        assert_eq!(rotated.open("row", &old.seal("row", b"a")).unwrap(), b"a");
        let sealed = rotated.seal("row", b"a");
        assert!(old.open("row", &sealed).is_err());
        assert_eq!(new.open("row", &sealed).unwrap(), b"a");
        assert!(rotated.knows(&old.mark()) && !new.knows(&old.mark()));
    }
}
