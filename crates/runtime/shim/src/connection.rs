//! One connection to the hub: TCP, TLS and whole messages.

use std::{sync::Arc, time::Duration};

use airside_protocol::{
    ShimSays, ToHub, ToShim,
    codec::{self, Message},
    pin,
};
use bytes::BytesMut;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split},
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::identity::{HubAddress, Identity};

/// A hub that does not complete a connection in this time is not there.
const CONNECT: Duration = Duration::from_secs(10);
/// Time after which a peer that vanished is noticed, whatever is being waited for.
const VANISHED: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("the hub sent something unreadable: {0}")]
    Codec(#[from] codec::Error),
    #[error("the hub closed the connection")]
    Closed,
    #[error("the hub does not answer")]
    Silent,
}

/// Makes connections to the one hub there is.
pub(crate) struct Dialer {
    hub: HubAddress,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
}

impl Dialer {
    pub(crate) fn new(identity: &Identity) -> Self {
        // The name only helps routers on the way; trust comes from the pin.
        let host = match &identity.hub {
            HubAddress::Tcp { host, .. } => host.clone(),
            HubAddress::Socket(_) => "hub".to_owned(),
        };
        let name = ServerName::try_from(host)
            .or_else(|_| ServerName::try_from("hub"))
            .expect("\"hub\" is a valid name");
        let tls = pin::client(&identity.hub_pin);
        Self {
            hub: identity.hub.clone(),
            name,
            tls,
        }
    }

    pub(crate) async fn dial(&self) -> Result<(Receiver, Sender), Error> {
        timeout(CONNECT, self.connect())
            .await
            .map_err(|_| Error::Silent)?
    }

    async fn connect(&self) -> Result<(Receiver, Sender), Error> {
        let tls = TlsConnector::from(self.tls.clone())
            .connect(self.name.clone(), self.wire().await?)
            .await?;
        let (reader, writer) = split(tls);
        Ok((
            Receiver {
                reader,
                buffer: BytesMut::new(),
            },
            Sender { writer },
        ))
    }

    async fn wire(&self) -> Result<AnyWire, Error> {
        match &self.hub {
            HubAddress::Tcp { host, port } => {
                let tcp = TcpStream::connect((host.as_str(), *port)).await?;
                tcp.set_nodelay(true)?;
                notice_vanished_peer(&tcp)?;
                Ok(Box::new(tcp))
            }
            HubAddress::Socket(path) => Ok(Box::new(UnixStream::connect(path).await?)),
        }
    }
}

/// The stream under the bytes: TCP, or a socket.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

type AnyWire = Box<dyn Wire>;

fn notice_vanished_peer(tcp: &TcpStream) -> std::io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(tcp, true)?;
    sockopt::set_tcp_keepidle(tcp, VANISHED / 3)?;
    sockopt::set_tcp_keepintvl(tcp, VANISHED / 6)?;
    sockopt::set_tcp_keepcnt(tcp, 4)?;
    sockopt::set_tcp_user_timeout(tcp, VANISHED.as_millis() as u32)?;
    Ok(())
}

pub(crate) struct Receiver {
    reader: ReadHalf<TlsStream<AnyWire>>,
    buffer: BytesMut,
}

impl Receiver {
    /// The next message, if it comes before `limit` has passed.
    pub(crate) async fn receive_within(&mut self, limit: Duration) -> Result<ToShim, Error> {
        timeout(limit, self.receive())
            .await
            .map_err(|_| Error::Silent)?
    }

    pub(crate) async fn receive(&mut self) -> Result<ToShim, Error> {
        loop {
            if let Some(message) = codec::decode(&mut self.buffer)? {
                return Ok(message);
            }
            self.buffer.reserve(codec::MAX_PAYLOAD);
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Err(Error::Closed);
            }
        }
    }
}

pub(crate) struct Sender {
    writer: WriteHalf<TlsStream<AnyWire>>,
}

impl Sender {
    pub(crate) async fn send(&mut self, message: ToHub) -> Result<(), Error> {
        self.send_frame(&message.encode()).await
    }

    /// Sends a message that has its form already.
    pub(crate) async fn send_frame(&mut self, frame: &[u8]) -> Result<(), Error> {
        self.writer.write_all(frame).await?;
        Ok(())
    }

    pub(crate) async fn say(&mut self, says: ShimSays) -> Result<(), Error> {
        self.send(ToHub::Control(says)).await?;
        self.flush().await
    }

    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        self.writer.flush().await?;
        Ok(())
    }
}
