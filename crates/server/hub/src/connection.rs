//! Frames over one TLS connection.

use std::io;

use airside_limits::{ConnectionPlace, InFlight};
use airside_protocol::{
    HubSays, SILENCE, ToHub, ToShim,
    codec::{self, Message},
};
use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf},
    time::Instant,
};
use tokio_rustls::server::TlsStream;

/// Bytes read at once where nothing large is on its way; most connections are silent most of the
/// time.
const LITTLE: usize = 8 * 1024;

/// The stream under a shim's bytes: TCP, or the socket that local steps have mounted.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

pub(crate) type AnyWire = Box<dyn Wire>;

pub(crate) struct Receiver {
    stream: ReadHalf<TlsStream<AnyWire>>,
    buffer: BytesMut,
    heard: Instant,
    /// Place among strangers, held until the peer has shown who it is.
    stranger: Option<Stranger>,
}

/// The place of a peer that is not known yet.
struct Stranger {
    place: ConnectionPlace,
    /// While its first word is judged, it does not give way.
    judged: Option<InFlight>,
}

pub(crate) struct Sender {
    stream: WriteHalf<TlsStream<AnyWire>>,
}

/// Splits a connection of a peer that has this place until it is known.
pub(crate) fn split(stream: TlsStream<AnyWire>, place: ConnectionPlace) -> (Receiver, Sender) {
    let (read, write) = tokio::io::split(stream);
    let buffer = BytesMut::with_capacity(LITTLE);
    (
        Receiver {
            stream: read,
            buffer,
            heard: Instant::now(),
            stranger: Some(Stranger {
                place,
                judged: None,
            }),
        },
        Sender { stream: write },
    )
}

impl Receiver {
    /// The first word is here, and it is this side's turn.
    pub(crate) fn is_judged(&mut self) {
        if let Some(stranger) = &mut self.stranger {
            stranger.judged = Some(stranger.place.activity().begin(SILENCE));
        }
    }

    /// The peer has shown who it is: it needs no place among strangers, and may say more at a time.
    pub(crate) fn is_known(&mut self) {
        self.stranger = None;
    }

    fn longest(&self) -> usize {
        match self.stranger {
            Some(_) => codec::MAX_FIRST_FRAME,
            None => codec::MAX_FRAME,
        }
    }

    /// The next message; an error also when the peer has been silent for too long. Safe to cancel.
    pub(crate) async fn next(&mut self) -> io::Result<ToHub> {
        self.next_of().await
    }

    /// Returns the next message of a peer that speaks another vocabulary than shims.
    pub(crate) async fn next_of<M: Message>(&mut self) -> io::Result<M> {
        loop {
            match codec::decode_within(self.longest(), &mut self.buffer) {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
            // Room for the rest of a message: what grows bit by bit is copied as often.
            let room = codec::missing(&self.buffer).clamp(LITTLE, codec::MAX_PAYLOAD + LITTLE);
            self.buffer.reserve(room);
            let read = self.stream.read_buf(&mut self.buffer);
            match tokio::time::timeout_at(self.heard + SILENCE, read).await {
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(Ok(0)) => return Err(closed()),
                Ok(result) => result.map_err(in_words)?,
            };
            self.heard = Instant::now();
        }
    }
}

/// Returns the error for a peer that is gone. Its leave of TLS does not matter: frames show what is
/// whole.
fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the peer closed the connection",
    )
}

/// The library's own text on a closed connection is for those who write servers.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => closed(),
        _ => error,
    }
}

impl Sender {
    pub(crate) async fn send(&mut self, message: &impl Message) -> io::Result<()> {
        let write = async {
            self.stream.write_all(&message.encode()).await?;
            self.stream.flush().await
        };
        tokio::time::timeout(SILENCE, write)
            .await
            .map_err(|_| io::ErrorKind::TimedOut)?
    }

    pub(crate) async fn say(&mut self, says: HubSays) -> io::Result<()> {
        self.send(&ToShim::Control(says)).await
    }

    pub(crate) async fn refuse(&mut self, reason: impl Into<String>, retry: bool) {
        let says = HubSays::Refused {
            reason: reason.into(),
            retry,
        };
        // The peer may be gone already; then it needs no answer.
        if self.say(says).await.is_ok() {
            let _ = self.stream.shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_closes_is_told_of_in_words() {
        let of_tls =
            "peer closed connection without sending TLS close_notify: https://docs.rs/rustls";
        let told = in_words(io::Error::new(io::ErrorKind::UnexpectedEof, of_tls));
        assert_eq!(told.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(told.to_string(), "the peer closed the connection");
        let other = in_words(io::Error::new(io::ErrorKind::InvalidData, "no frame"));
        assert_eq!(other.to_string(), "no frame");
    }
}
