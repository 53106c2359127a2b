//! SHA-256 and length of whatever passes through.

use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};

/// Digest and length of the bytes that passed through a [`Hasher`] or [`HashingReader`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Lower-case hex.
    pub sha256: String,
    pub bytes: u64,
}

#[derive(Default)]
struct State {
    hash: Sha256,
    bytes: u64,
}

impl State {
    fn update(&mut self, data: &[u8]) {
        self.hash.update(data);
        self.bytes += data.len() as u64;
    }

    fn digest(self) -> Digest {
        Digest {
            sha256: hex::encode(self.hash.finalize()),
            bytes: self.bytes,
        }
    }
}

/// A writer that hashes what it passes on.
pub struct Hasher<W> {
    inner: W,
    state: State,
}

impl<W: Write> Hasher<W> {
    pub fn new(inner: W) -> Self {
        Self {
            inner,
            state: State::default(),
        }
    }

    pub fn finish(self) -> (W, Digest) {
        (self.inner, self.state.digest())
    }
}

impl<W: Write> Write for Hasher<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(data)?;
        self.state.update(&data[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A reader that hashes what is read through it.
pub struct HashingReader<R> {
    inner: R,
    state: State,
}

impl<R: Read> HashingReader<R> {
    pub fn new(inner: R) -> Self {
        Self {
            inner,
            state: State::default(),
        }
    }

    pub fn finish(self) -> (R, Digest) {
        (self.inner, self.state.digest())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.state.update(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn both_directions_give_the_same_digest() {
        let mut writer = Hasher::new(Vec::new());
        writer.write_all(b"abc").unwrap();
        let (written, digest) = writer.finish();
        assert_eq!(
            (written.as_slice(), digest.bytes, digest.sha256.as_str()),
            (&b"abc"[..], 3, ABC)
        );

        let mut reader = HashingReader::new(&b"abc"[..]);
        io::copy(&mut reader, &mut io::sink()).unwrap();
        assert_eq!(reader.finish().1, digest);
    }
}
