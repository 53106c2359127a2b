//! What can go wrong with a request, in words for the build's log.

use std::{io, time::Duration};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{url:?} is no address of a server: {why}")]
    Address { url: String, why: &'static str },
    #[error("cannot reach {host}: {source}")]
    Connect {
        host: String,
        #[source]
        source: io::Error,
    },
    #[error("the connection to {host} cannot be trusted: {source}")]
    Untrusted {
        host: String,
        #[source]
        source: rustls::Error,
    },
    #[error(
        "{host} does not speak TLS, so it may be a server for plain HTTP: name it with http:// in its address, or, for \
         a registry, with `insecure: true` in the source"
    )]
    NotTls { host: String },
    #[error("a certificate to trust cannot be read: {0}")]
    Certificate(String),
    #[error("{host} said nothing for {} seconds", .waited.as_secs())]
    Silent { host: String, waited: Duration },
    #[error("{host} is too slow: {received} bytes in {} seconds", .taken.as_secs())]
    Slow {
        host: String,
        received: u64,
        taken: Duration,
    },
    #[error("{host} ended its answer early")]
    Cut { host: String },
    #[error("{host} does not speak HTTP: {what}")]
    Protocol { host: String, what: String },
    #[error("{host} answers with more than {limit} bytes where less is expected")]
    TooLarge { host: String, limit: u64 },
    #[error("{host} leads from one address to the next without end")]
    Redirects { host: String },
    #[error("the connection to {host} broke: {source}")]
    Broken {
        host: String,
        #[source]
        source: io::Error,
    },
    /// An answer that is no success.
    #[error("{method} {url} is answered with {status}{}", said(.words))]
    Status {
        method: &'static str,
        url: String,
        status: u16,
        words: String,
        /// How long the server asks us to stay away.
        retry_after: Option<Duration>,
    },
}

fn said(words: &str) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!(": {words}"),
    }
}

impl Error {
    /// The status of an answer that is no success.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// How long the server asks us to stay away.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether asking again may help.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Connect { .. } | Self::Cut { .. } | Self::Broken { .. }
        )
    }

    /// Sorts what reading and writing says.
    pub(crate) fn io(host: &str, source: io::Error, waited: Duration) -> Self {
        let host = host.to_owned();
        match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent { host, waited },
            io::ErrorKind::UnexpectedEof => Self::Cut { host },
            _ => match source.downcast::<rustls::Error>() {
                Ok(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)) => {
                    Self::NotTls { host }
                }
                Ok(source) => Self::Untrusted { host, source },
                Err(source) => Self::Broken { host, source },
            },
        }
    }
}
