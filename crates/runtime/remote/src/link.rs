//! The agent's connection to the hub.

use std::io;

use airside_protocol::{
    Join, SILENCE, ShimSays, ToHub,
    codec::{self, Json, Message},
    pin,
};
use bytes::BytesMut;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{AgentMessage, HubAddress, ServerMessage};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the hub sent something unreadable: {0}")]
    Codec(#[from] codec::Error),
    #[error("the hub closed the connection; its log may say why")]
    Closed,
    #[error("the hub does not answer")]
    Silent,
    #[error("the hub did not answer the request to join; is it another version of airside?")]
    Rude,
    #[error("{reason}")]
    Refused { reason: String, retry: bool },
}

/// A connection on which the agent was let in.
pub(crate) struct Link {
    pub(crate) receiver: Receiver,
    pub(crate) sender: Sender,
}

impl Link {
    /// Connects and joins; also gives the server's version.
    pub(crate) async fn join(
        hub: &HubAddress,
        pin: &str,
        join: Join,
    ) -> Result<(Self, String), Error> {
        timeout(SILENCE, Self::introduce(hub, pin, join))
            .await
            .map_err(|_| Error::Silent)?
    }

    async fn introduce(hub: &HubAddress, pin: &str, join: Join) -> Result<(Self, String), Error> {
        let tcp = dial(hub).await?;
        // The name only helps routers on the way; trust comes from the pin.
        let name = ServerName::try_from(hub.host.clone())
            .or_else(|_| ServerName::try_from("hub"))
            .map_err(io::Error::other)?;
        let tls = TlsConnector::from(pin::client(pin))
            .connect(name, tcp)
            .await?;
        let (reader, writer) = tokio::io::split(tls);
        let mut link = Self {
            receiver: Receiver {
                reader,
                buffer: BytesMut::new(),
            },
            sender: Sender { writer },
        };
        let hello = ToHub::Control(ShimSays::Join(Box::new(join)));
        link.sender.send(&hello).await?;
        match link.receiver.next_message().await? {
            ServerMessage::Welcome { version, .. } => Ok((link, version)),
            ServerMessage::Refused { reason, retry } => Err(Error::Refused { reason, retry }),
            _ => Err(Error::Rude),
        }
    }
}

/// A plain connection to the hub's port.
pub(crate) async fn dial(hub: &HubAddress) -> io::Result<TcpStream> {
    use rustix::net::sockopt;
    let tcp = TcpStream::connect((hub.host.as_str(), hub.port)).await?;
    tcp.set_nodelay(true)?;
    // A peer that vanished is noticed, whatever waits for it.
    sockopt::set_socket_keepalive(&tcp, true)?;
    sockopt::set_tcp_keepidle(&tcp, SILENCE)?;
    sockopt::set_tcp_keepintvl(&tcp, SILENCE / 3)?;
    sockopt::set_tcp_keepcnt(&tcp, 4)?;
    Ok(tcp)
}

pub(crate) struct Receiver {
    reader: ReadHalf<TlsStream<TcpStream>>,
    buffer: BytesMut,
}

impl Receiver {
    /// Waits for the next message of the server. Safe to cancel.
    pub(crate) async fn next_message(&mut self) -> Result<ServerMessage, Error> {
        loop {
            if let Some(Json(message)) = codec::decode(&mut self.buffer)? {
                return Ok(message);
            }
            self.buffer.reserve(codec::MAX_PAYLOAD);
            let read = timeout(SILENCE, self.reader.read_buf(&mut self.buffer)).await;
            match read.map_err(|_| Error::Silent)? {
                Ok(0) => return Err(Error::Closed),
                Ok(_) => {}
                // A hub that is killed has no time to say so.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(Error::Closed);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

pub(crate) struct Sender {
    writer: WriteHalf<TlsStream<TcpStream>>,
}

impl Sender {
    pub(crate) async fn say(&mut self, says: AgentMessage) -> Result<(), Error> {
        self.send(&Json(says)).await
    }

    async fn send(&mut self, message: &impl Message) -> Result<(), Error> {
        let write = async {
            self.writer.write_all(&message.encode()).await?;
            self.writer.flush().await
        };
        let written = timeout(SILENCE, write).await;
        written.map_err(|_| Error::Silent)?.map_err(Error::Io)
    }
}
