//! The body of an answer: whole, in time, or an error.

use std::{
    io::{self, BufRead, Read},
    time::Instant,
};

use crate::{Error, RequestTimeouts, connect::Connection, message::find};

enum Left {
    /// This many bytes are left.
    Length(u64),
    /// This many bytes of the current chunk are left, and more chunks follow.
    Chunk(u64),
    /// The body lasts until the server closes the connection.
    Close,
    Nothing,
}

pub struct ResponseBody {
    connection: Option<Connection>,
    left: Left,
    length: Option<u64>,
    host: String,
    patience: RequestTimeouts,
    begun: Instant,
    received: u64,
}

impl ResponseBody {
    pub(crate) fn new(
        connection: Connection,
        headers: &[(String, String)],
        is_empty: bool,
        host: String,
        patience: RequestTimeouts,
    ) -> Result<Self, Error> {
        let chunked = find(headers, "transfer-encoding")
            .is_some_and(|coding| coding.to_ascii_lowercase().ends_with("chunked"));
        let length = match find(headers, "content-length").map(str::parse::<u64>) {
            Some(Err(_)) => {
                let what = "the length of its answer is not a number".to_owned();
                return Err(Error::Protocol { host, what });
            }
            other => other.and_then(Result::ok),
        };
        let left = match (is_empty, chunked, length) {
            (true, ..) => Left::Nothing,
            (_, true, _) => Left::Chunk(0),
            (_, _, Some(length)) => Left::Length(length),
            _ => Left::Close,
        };
        Ok(Self {
            connection: Some(connection),
            left,
            length,
            host,
            patience,
            begun: Instant::now(),
            received: 0,
        })
    }

    /// Returns the length, if the server sent it.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// All of it, if it is not longer than this.
    pub fn read_all(&mut self, limit: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let read = self.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.explain(error))?;
        if bytes.len() as u64 > limit {
            Err(Error::TooLarge {
                host: self.host.clone(),
                limit,
            })
        } else {
            Ok(bytes)
        }
    }

    /// Reads up to `limit` bytes, to show them to people.
    pub(crate) fn some(mut self, limit: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = (&mut self).take(limit).read_to_end(&mut bytes);
        bytes
    }

    /// The connection, if all of the body was read and another answer may follow.
    pub(crate) fn into_connection(self) -> Option<Connection> {
        match self.left {
            Left::Nothing | Left::Length(0) => self.connection,
            _ => None,
        }
    }

    /// Adds the address to an error of reading.
    pub fn explain(&self, error: io::Error) -> Error {
        match error.downcast::<Error>() {
            Ok(error) => error,
            Err(error) => Error::io(&self.host, error, self.patience.silence),
        }
    }

    fn in_time(&self) -> io::Result<()> {
        let taken = self.begun.elapsed();
        let expected = taken.as_secs().saturating_mul(self.patience.speed);
        if taken > self.patience.grace && self.received < expected {
            return Err(io::Error::other(Error::Slow {
                host: self.host.clone(),
                received: self.received,
                taken,
            }));
        }
        Ok(())
    }

    /// The size of the next piece; after the last one, what stands behind it is read too.
    fn next_chunk(connection: &mut Connection) -> io::Result<u64> {
        let bad = || io::Error::new(io::ErrorKind::InvalidData, "a piece of it has no size");
        let mut line = String::new();
        connection.take(4 << 10).read_line(&mut line)?;
        if line.trim().is_empty() && !line.is_empty() {
            // What ends the piece before.
            line.clear();
            connection.take(4 << 10).read_line(&mut line)?;
        }
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let size = line.split(';').next().unwrap_or_default().trim();
        u64::from_str_radix(size, 16).map_err(|_| bad())
    }
}

impl Read for ResponseBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(connection) = &mut self.connection else {
            return Ok(0);
        };
        if let Left::Chunk(0) = self.left {
            self.left = match Self::next_chunk(connection)? {
                0 => Left::Nothing,
                size => Left::Chunk(size),
            };
        }
        let most = match self.left {
            Left::Nothing | Left::Length(0) => return Ok(0),
            Left::Length(left) | Left::Chunk(left) => left.min(buffer.len() as u64),
            Left::Close => buffer.len() as u64,
        };
        let most = usize::try_from(most).unwrap_or(buffer.len());
        let count = connection.read(&mut buffer[..most])?;
        self.received += count as u64;
        match &mut self.left {
            Left::Length(left) | Left::Chunk(left) if count > 0 => *left -= count as u64,
            Left::Length(_) | Left::Chunk(_) if most > 0 => {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            _ => {}
        }
        self.in_time()?;
        Ok(count)
    }
}
