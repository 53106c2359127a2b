//! Many connections at once, from a hostile client.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the test needs for itself.
const OWN: usize = 256;

/// Connections that are held open, the newest of them if this process may not have that many files.
pub struct Flood<S> {
    held: VecDeque<S>,
    most: usize,
}

impl<S: Read + Write> Flood<S> {
    fn empty() -> Self {
        let found = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: found.maximum,
            maximum: found.maximum,
        };
        setrlimit(Resource::Nofile, raised).expect("a soft limit may be raised");
        let files = found.maximum.unwrap_or(u64::MAX);
        Self {
            held: VecDeque::new(),
            most: usize::try_from(files)
                .unwrap_or(usize::MAX)
                .saturating_sub(OWN),
        }
    }

    fn add(&mut self, connection: S) {
        if self.held.len() >= self.most {
            self.held.pop_front();
        }
        self.held.push_back(connection);
    }

    /// Sends more on every connection, whatever has become of it.
    pub fn send(&mut self, bytes: &[u8]) {
        for connection in &mut self.held {
            let _ = connection.write_all(bytes);
        }
    }

    /// The answer that came on each connection so far; empty where none did or it was cut.
    pub fn answers(&mut self) -> Vec<String> {
        let answers = self.held.iter_mut().map(|connection| {
            let mut answer = [0; 1024];
            let read = connection.read(&mut answer).unwrap_or(0);
            String::from_utf8_lossy(&answer[..read]).into_owned()
        });
        answers.collect()
    }

    pub fn held(&self) -> usize {
        self.held.len()
    }
}

impl Flood<TcpStream> {
    /// Opens this many connections, and sends the same first bytes on each.
    pub fn open(address: SocketAddr, count: usize, first: &[u8]) -> Self {
        let mut flood = Self::empty();
        for _ in 0..count {
            let mut connection = TcpStream::connect_timeout(&address, Duration::from_secs(60))
                .expect("the port is open");
            connection
                .set_read_timeout(Some(Duration::from_secs(60)))
                .expect("a connection has a time limit");
            // The other side may have closed it already.
            let _ = connection.write_all(first);
            flood.add(connection);
        }
        flood
    }
}

impl Flood<UnixStream> {
    /// Opens this many silent connections to a socket in the file system.
    pub fn open_at(path: &Path, count: usize) -> io::Result<Self> {
        let mut flood = Self::empty();
        for _ in 0..count {
            flood.add(UnixStream::connect(path)?);
        }
        Ok(flood)
    }
}
