//! The pipe between the connection, which never blocks, and the (un)packing, which does nothing
//! else.

use std::io::{self, Read, Write};

use airside_protocol::codec::MAX_PAYLOAD;
use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

/// Enough to keep both sides busy.
const DEPTH: usize = 16;

pub(super) fn pipe() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(DEPTH)
}

pub(super) struct Source {
    pub(super) chunks: mpsc::Receiver<Bytes>,
    pub(super) current: Bytes,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.current = chunk,
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

pub(super) struct Sink(pub(super) mpsc::Sender<Bytes>);

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let length = data.len().min(MAX_PAYLOAD);
        let chunk = Bytes::copy_from_slice(&data[..length]);
        self.0
            .blocking_send(chunk)
            .map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
