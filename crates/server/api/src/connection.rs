//! The parts of a connection that record which side waits for the other.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use airside_limits::{Activity, ConnectionPlace, InFlight, Peer, TransferPace, Turn};
use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// Time after which a client that takes nothing of an answer is gone, or means harm. People page
/// through a build's output.
const TAKING: Duration = Duration::from_secs(600);

/// Longest time for which a client may send nothing of a request's body.
const SENDING: Duration = Duration::from_secs(60);

/// A stream with its place, which it has for as long as anything reads or writes, web sockets
/// included.
pub(crate) struct Attended<S> {
    stream: S,
    place: ConnectionPlace,
}

impl<S> Attended<S> {
    pub(crate) fn new(stream: S, place: ConnectionPlace) -> Self {
        Self { stream, place }
    }

    /// Notes whether the client takes what is written.
    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        match &written {
            Poll::Pending => self.place.activity().stalls(TAKING),
            Poll::Ready(_) => self.place.activity().moves(),
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Attended<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Attended<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, data);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of a request. It fails when the client is too slow: handlers need no time limits of
/// their own.
pub(crate) struct Paced {
    body: Body,
    activity: Activity,
    pace: TransferPace,
    waiting: Option<Waiting>,
}

struct Waiting {
    since: Instant,
    end: Pin<Box<Sleep>>,
}

impl Paced {
    pub(crate) fn new(body: Body, activity: Activity) -> Self {
        Self {
            body,
            activity,
            pace: TransferPace::new(SENDING),
            waiting: None,
        }
    }

    fn poll_patience(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let patience = self.pace.left();
        let waiting = self.waiting.get_or_insert_with(|| Waiting {
            since: Instant::now(),
            end: Box::pin(tokio::time::sleep(patience)),
        });
        waiting.end.as_mut().poll(context)
    }
}

impl http_body::Body for Paced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            self.activity.stalls(SENDING);
            ready!(self.poll_patience(context));
            let words = "the client sent its request too slowly";
            let error = io::Error::new(io::ErrorKind::TimedOut, words);
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        };
        self.activity.moves();
        let waited = self.waiting.take().map(|waiting| waiting.since.elapsed());
        let data = frame
            .as_ref()
            .and_then(|frame| frame.as_ref().ok()?.data_ref());
        let bytes = data.map_or(0, Bytes::len);
        self.pace.moved(waited.unwrap_or_default(), bytes);
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer: its request is under way for as long as it lasts.
pub(crate) struct Answered {
    body: Body,
    _in_flight: InFlight,
    _turn: Option<Turn<Peer>>,
}

impl Answered {
    pub(crate) fn new(body: Body, in_flight: InFlight, turn: Option<Turn<Peer>>) -> Self {
        Self {
            body,
            _in_flight: in_flight,
            _turn: turn,
        }
    }
}

impl http_body::Body for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use airside_limits::{Limits, Peer, Places};
    use futures::StreamExt;

    use super::*;

    fn place() -> ConnectionPlace {
        let limits = Limits {
            overall: 1,
            per_peer: 1,
            grace: Duration::ZERO,
        };
        Places::new(limits)
            .enter(Peer::Here, Duration::from_secs(1))
            .unwrap()
    }

    /// A body of so many pieces, with a pause before each.
    fn body(pieces: usize, length: usize, pause: Duration) -> Body {
        let pieces = futures::stream::iter(0..pieces).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, io::Error>(Bytes::from(vec![b'x'; length]))
        });
        Body::from_stream(pieces)
    }

    async fn read(body: Body) -> Result<usize, axum::Error> {
        let place = place();
        let paced = Paced::new(body, place.activity().clone());
        let read = axum::body::to_bytes(Body::new(paced), usize::MAX).await;
        read.map(|bytes| bytes.len())
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_bodies_that_stall_or_drip_are_cut() {
        read(body(1, 10, SENDING * 2)).await.unwrap_err();
        // A byte every second: nothing stalls, and it would last for hours.
        let begun = Instant::now();
        read(body(10_000, 1, Duration::from_secs(1)))
            .await
            .unwrap_err();
        assert!(begun.elapsed() < SENDING * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_line_is_slow_and_works() {
        let length = 2048;
        let came = read(body(1000, length, Duration::from_secs(1))).await;
        assert_eq!(came.unwrap(), 1000 * length);
    }
}
