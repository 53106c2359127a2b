//! The body of an answer, which keeps its connection in use until it is sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use airside_limits::InFlight;
use http_body::{Body, Frame, SizeHint};

/// A body during which its connection gives way to no other.
pub(crate) struct HoldingBody<B> {
    pub(crate) body: Pin<Box<B>>,
    pub(crate) _request: InFlight,
}

impl<B: Body> Body for HoldingBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.body.as_mut().poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
