//! Asynchronous streams for code that blocks, on threads that may.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use airside_limits::TransferPace;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    runtime::Handle,
    time::Instant,
};

/// Longest time for which a client may take or send nothing.
const STALLED: Duration = Duration::from_secs(60);

/// Reads and writes by waiting, and fails when the client is too slow. Only for threads that are no
/// runtime's own.
pub(crate) struct Blocking<T> {
    inner: T,
    runtime: Handle,
    pace: TransferPace,
}

impl<T> Blocking<T> {
    /// Wraps `inner`; to be called within the runtime that drives it.
    pub(crate) fn new(inner: T) -> Self {
        Self {
            inner,
            runtime: Handle::current(),
            pace: TransferPace::new(STALLED),
        }
    }
}

/// Waits for what moves some bytes, for as long as the pace allows.
fn at_pace(
    runtime: &Handle,
    pace: &mut TransferPace,
    moving: impl Future<Output = io::Result<usize>>,
) -> io::Result<usize> {
    let since = Instant::now();
    let left = pace.left();
    let moved = runtime.block_on(async { tokio::time::timeout(left, moving).await });
    let words = "the client is too slow";
    let moved = moved.map_err(|_| io::Error::new(io::ErrorKind::TimedOut, words))??;
    pace.moved(since.elapsed(), moved);
    Ok(moved)
}

impl<T: AsyncRead + Unpin> Read for Blocking<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        at_pace(&self.runtime, &mut self.pace, self.inner.read(buffer))
    }
}

impl<T: AsyncWrite + Unpin> Write for Blocking<T> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        at_pace(&self.runtime, &mut self.pace, self.inner.write(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.runtime.block_on(self.inner.flush())
    }
}
