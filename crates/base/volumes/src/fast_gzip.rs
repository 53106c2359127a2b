//! A gzip stream, made as fast as its content allows.
//!
//! Each piece stands by itself: what looks as if it were compressed already goes in as it is
//! (deflate's stored blocks), which costs next to nothing, and only the rest is compressed.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress};

/// Bytes that are looked at, and compressed, at once.
const PIECE: usize = 256 * 1024;

/// The most that one stored block holds.
const STORED: usize = 0xffff;

/// No name, no time, from Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// An empty stored block that is the last.
const LAST: [u8; 5] = [1, 0, 0, 0xff, 0xff];

pub(crate) struct FastGzip<W> {
    out: W,
    piece: Vec<u8>,
    compress: Compress,
    compressed: Vec<u8>,
    checksum: crc32fast::Hasher,
    /// Modulo 2³², as the format has it.
    length: u32,
}

impl<W: Write> FastGzip<W> {
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&HEAD)?;
        Ok(Self {
            out,
            piece: Vec::with_capacity(PIECE),
            compress: Compress::new(Compression::fast(), false),
            // What cannot be compressed becomes a little longer.
            compressed: Vec::with_capacity(PIECE + PIECE / 8),
            checksum: crc32fast::Hasher::new(),
            length: 0,
        })
    }

    /// Ends the stream. Without this it is cut.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.send_piece()?;
        self.out.write_all(&LAST)?;
        self.out
            .write_all(&self.checksum.finalize().to_le_bytes())?;
        self.out.write_all(&self.length.to_le_bytes())?;
        self.out.flush()
    }

    fn send_piece(&mut self) -> io::Result<()> {
        self.checksum.update(&self.piece);
        self.length = self.length.wrapping_add(self.piece.len() as u32);
        if !looks_random(&self.piece) && self.compress_piece()? {
            self.out.write_all(&self.compressed)?;
        } else {
            for block in self.piece.chunks(STORED) {
                let [low, high] = (block.len() as u16).to_le_bytes();
                self.out.write_all(&[0, low, high, !low, !high])?;
                self.out.write_all(block)?;
            }
        }
        self.piece.clear();
        Ok(())
    }

    /// Compresses the piece, and returns true if it became smaller. It ends on a whole byte and
    /// refers to nothing before it.
    fn compress_piece(&mut self) -> io::Result<bool> {
        self.compress.reset();
        self.compressed.clear();
        self.compress
            .compress_vec(&self.piece, &mut self.compressed, FlushCompress::Sync)
            .map_err(io::Error::other)?;
        let whole = self.compress.total_in() == self.piece.len() as u64
            && self.compressed.len() < self.compressed.capacity();
        Ok(whole && self.compressed.len() < self.piece.len())
    }
}

impl<W: Write> Write for FastGzip<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = data.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&data[..taken]);
        if self.piece.len() == PIECE {
            self.send_piece()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_piece()?;
        self.out.flush()
    }
}

/// True if all bytes are about as frequent in samples of `piece`: a compressor would look for
/// repetitions in vain.
fn looks_random(piece: &[u8]) -> bool {
    const SAMPLE: usize = 1024;
    const STEP: usize = 16 * 1024;
    if piece.len() < STEP {
        return false;
    }
    let mut seen = [0_u64; 256];
    let mut count = 0;
    for sample in piece
        .chunks(STEP)
        .map(|part| &part[..part.len().min(SAMPLE)])
    {
        sample.iter().for_each(|byte| seen[usize::from(*byte)] += 1);
        count += sample.len() as u64;
    }
    // Of equally frequent bytes the squares add up to n²/256 and some noise; text is at ten times
    // that.
    let squares: u64 = seen.iter().map(|seen| seen * seen).sum();
    let even = count * count / 256;
    squares < even + even / 8 + 4 * count
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    /// Bytes that are as good as random, and equal every time.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    fn text(length: usize) -> Vec<u8> {
        b"every word of this is here again and again. "
            .iter()
            .copied()
            .cycle()
            .take(length)
            .collect()
    }

    fn gzipped(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut gzip = FastGzip::new(&mut out).unwrap();
        gzip.write_all(data).unwrap();
        gzip.finish().unwrap();
        out
    }

    #[test]
    fn everything_comes_back() {
        let mixed = [text(PIECE + 5), noise(3 * PIECE), text(70_000), noise(900)].concat();
        for data in [
            Vec::new(),
            vec![7],
            text(PIECE),
            noise(PIECE),
            noise(STORED + 1),
            mixed,
        ] {
            let (mut back, packed) = (Vec::new(), gzipped(&data));
            GzDecoder::new(packed.as_slice())
                .read_to_end(&mut back)
                .unwrap();
            assert_eq!(back.len(), data.len());
            assert!(back == data);
        }
    }

    #[test]
    fn what_can_be_compressed_is_and_the_rest_grows_by_next_to_nothing() {
        assert!(gzipped(&text(1 << 20)).len() < 1 << 15);
        assert!(gzipped(&noise(1 << 20)).len() < (1 << 20) + 200);
    }
}
