//! The way of output from the process's streams to the outbox, no faster than the spool has room.

use std::sync::Arc;

use airside_model::event::Source;
use airside_protocol::codec::MAX_PAYLOAD;
use tokio::task::JoinHandle;

use crate::{log::log, outbox::Outbox, stream::Stream};

/// Reads `stream` to its end in the background.
pub(crate) fn pump(stream: Arc<Stream>, source: Source, outbox: Arc<Outbox>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut buffer = vec![0; MAX_PAYLOAD];
        loop {
            outbox.room().await;
            match stream.read(&mut buffer).await {
                Ok(0) => return,
                Ok(read) => {
                    outbox.output(source, &buffer[..read]);
                    // A process that never pauses must not keep its output from being sent.
                    tokio::task::yield_now().await;
                }
                Err(error) => {
                    log(format_args!("cannot read what the process writes: {error}"));
                    return;
                }
            }
        }
    })
}
