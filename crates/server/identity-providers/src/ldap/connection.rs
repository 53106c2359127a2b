//! One connection to a directory, one question at a time.

use std::{io, sync::Arc};

use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::{
    LdapTls, SearchDepth, ber,
    entry::LdapEntry,
    filter::Filter,
    message::{self, LdapAnswer, Outcome},
    setup::LdapAddress,
};
use crate::error::{Fault, Result};

const SUCCESS: u32 = 0;
const NO_SUCH_OBJECT: u32 = 32;
/// Results that mean the name or the password is wrong: invalid credentials, and what some say
/// instead of a password that breaks their rules.
const WRONG: [u32; 2] = [49, 19];
/// No message that we ask for is nearly as long, and no search finds nearly as much.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
const MAX_ENTRIES: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Yes,
    No,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    last: u32,
}

impl Connection {
    /// Opens a connection, with TLS if there is a configuration for it: from the first byte, or
    /// after asking.
    pub(crate) async fn open(
        place: &LdapAddress,
        tls: LdapTls,
        config: Option<Arc<ClientConfig>>,
    ) -> Result<Self> {
        let unreachable = |error: io::Error| Fault::Unreachable {
            at: place.url.clone(),
            source: error.into(),
        };
        let address = (place.host.as_str(), place.port);
        let stream = TcpStream::connect(address).await.map_err(unreachable)?;
        let mut connection = Self {
            stream: Box::new(stream),
            last: 0,
        };
        let Some(config) = config else {
            return Ok(connection);
        };
        if tls == LdapTls::StartTls {
            connection.start_tls().await?;
        }
        let name = ServerName::try_from(place.host.clone());
        let name = name.map_err(|error| unreachable(io::Error::other(error)))?;
        let connecting = TlsConnector::from(config).connect(name, connection.stream);
        connection.stream = Box::new(connecting.await.map_err(unreachable)?);
        Ok(connection)
    }

    async fn start_tls(&mut self) -> Result<()> {
        let doing = "begin TLS";
        let (_, outcome) = self.request(doing, &message::start_tls()).await?;
        match outcome.code {
            SUCCESS => Ok(()),
            _ => Err(refused(doing, &outcome)),
        }
    }

    pub(crate) async fn bind(&mut self, dn: &str, password: &str) -> Result<Bound> {
        let doing = "check a password";
        let (_, outcome) = self.request(doing, &message::bind(dn, password)).await?;
        match outcome.code {
            SUCCESS => Ok(Bound::Yes),
            code if WRONG.contains(&code) => Ok(Bound::No),
            _ => Err(refused(doing, &outcome)),
        }
    }

    pub(crate) async fn search(
        &mut self,
        base: &str,
        reach: SearchDepth,
        filter: &Filter,
        attributes: &[&str],
    ) -> Result<Vec<LdapEntry>> {
        let doing = "search";
        let question = message::search(base, reach, filter, attributes);
        let (entries, outcome) = self.request(doing, &question).await?;
        match outcome.code {
            SUCCESS => Ok(entries),
            NO_SUCH_OBJECT => Ok(Vec::new()),
            _ => Err(refused(doing, &outcome)),
        }
    }

    /// Says goodbye to the directory, if it still listens.
    pub(crate) async fn close(mut self) {
        let message = message::wrap(self.last + 1, &message::unbind());
        let _ = self.stream.write_all(&message).await;
        let _ = self.stream.shutdown().await;
    }

    /// Sends a request and returns the entries before the end, and the end.
    async fn request(
        &mut self,
        doing: &'static str,
        question: &[u8],
    ) -> Result<(Vec<LdapEntry>, Outcome)> {
        self.last += 1;
        let failed = |why: String| Fault::Directory { doing, why };
        let broken = |error: io::Error| failed(format!("the connection broke: {error}"));
        let message = message::wrap(self.last, question);
        self.stream.write_all(&message).await.map_err(broken)?;
        self.stream.flush().await.map_err(broken)?;
        let mut entries = Vec::new();
        while entries.len() <= MAX_ENTRIES {
            let message = self.receive().await.map_err(broken)?;
            match message::read(&message, self.last) {
                Some(LdapAnswer::Entry(entry)) => entries.push(entry),
                Some(LdapAnswer::Reference) => {}
                Some(LdapAnswer::Done(outcome)) => return Ok((entries, outcome)),
                None => return Err(failed("its answer is not an LDAP message".to_owned())),
            }
        }
        Err(failed(format!("it found more than {MAX_ENTRIES} entries")))
    }

    /// The next message, without its frame. Reads not a byte more: TLS may begin after it.
    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let nonsense = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).await?;
        let more = match (head[0], ber::more_length_bytes(head[1])) {
            (ber::SEQUENCE, Some(more)) => more,
            _ => return nonsense("what it sends is not LDAP"),
        };
        let mut length = vec![0; more];
        self.stream.read_exact(&mut length).await?;
        let length = ber::length(head[1], &length);
        if length > MAX_MESSAGE_BYTES {
            return nonsense("its answer is too long");
        }
        let mut message = vec![0; length];
        self.stream.read_exact(&mut message).await?;
        Ok(message)
    }
}

fn refused(doing: &'static str, outcome: &Outcome) -> Fault {
    let why = format!("result {} {}", outcome.code, outcome.words);
    let why = why.trim_end().to_owned();
    Fault::Directory { doing, why }
}
