//! Errors of a request, in words for the build's log.

use std::{io, time::Duration};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{url:?} is not an address of a server: {why}")]
    Address { url: String, why: &'static str },
    #[error("cannot reach {host}: {source}")]
    Connect {
        host: String,
        /// True if every address is on loopback, and nothing listens there.
        refused_on_loopback: bool,
        #[source]
        source: io::Error,
    },
    /// The words are complete, so that there is no source to print after them.
    #[error("the connection to {host} cannot be trusted: {why}")]
    Untrusted { host: String, why: String },
    #[error(
        "{host} does not speak TLS, so it may be a server for plain HTTP: name it with http:// in its address, or, for \
         a registry, with `insecure: true` in the source"
    )]
    NotTls { host: String },
    #[error("a certificate to trust cannot be read: {0}")]
    Certificate(String),
    #[error("{host} sent nothing for {} seconds", .waited.as_secs())]
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
    /// An answer that is not a success.
    #[error("{method} {url} is answered with {status}{}", said(.words))]
    Status {
        method: &'static str,
        url: String,
        status: u16,
        words: String,
        /// The beginning of the answer, for programs that read a code in it. People are never shown
        /// it.
        answer: String,
        /// Time after which the server wants to be asked again.
        retry_after: Option<Duration>,
    },
}

/// Says what is wrong with a server's certificate, for people.
fn distrust(error: &rustls::Error) -> String {
    use rustls::CertificateError as Bad;
    let rustls::Error::InvalidCertificate(bad) = error else {
        return error.to_string();
    };
    let words = match bad {
        Bad::UnknownIssuer => "its certificate was signed by an authority that is not trusted here",
        Bad::Expired | Bad::ExpiredContext { .. } => "its certificate has expired",
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => "its certificate is not valid yet",
        Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
            "its certificate is for another name"
        }
        Bad::Revoked => "its certificate was revoked",
        // The rules' own words have no form of ours.
        Bad::Other(_) if bad.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is an authority's own, and not the one that was given to trust"
        }
        _ => return error.to_string(),
    };
    words.to_owned()
}

fn said(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(": {words}")
    }
}

impl Error {
    /// The status of an answer that is not a success.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns the time after which the server wants to be asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    pub(crate) fn untrusted(host: String, why: &rustls::Error) -> Self {
        Self::Untrusted {
            host,
            why: distrust(why),
        }
    }

    /// True if nothing listens on the loopback of this machine, or of the step that asks.
    pub fn is_refused_on_loopback(&self) -> bool {
        matches!(
            self,
            Self::Connect {
                refused_on_loopback: true,
                ..
            }
        )
    }

    /// True if the same request may succeed later.
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
                Ok(why) => Self::untrusted(host, &why),
                Err(source) => Self::Broken { host, source },
            },
        }
    }
}
