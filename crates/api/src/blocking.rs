//! Asynchronous streams for code that blocks, on threads that may.

use std::io::{self, Read, Write};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    runtime::Handle,
};

/// Reads and writes by waiting. Only for threads of `spawn_blocking`.
pub(crate) struct Blocking<T> {
    inner: T,
    runtime: Handle,
}

impl<T> Blocking<T> {
    /// To be called within the runtime that drives `inner`.
    pub(crate) fn new(inner: T) -> Self {
        Self {
            inner,
            runtime: Handle::current(),
        }
    }
}

impl<T: AsyncRead + Unpin> Read for Blocking<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.runtime.block_on(self.inner.read(buffer))
    }
}

impl<T: AsyncWrite + Unpin> Write for Blocking<T> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.runtime.block_on(self.inner.write(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.runtime.block_on(self.inner.flush())
    }
}
