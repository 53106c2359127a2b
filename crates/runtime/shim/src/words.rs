//! What the hub wants of the step, as it reaches the step's life from the control connection.

use std::time::Duration;

use airside_protocol::Order;
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) enum Word {
    /// The first successful claim. Later ones only resume the report.
    Claimed(Box<Order>),
    Stop {
        grace: Duration,
    },
    Committed,
    Exit,
    /// The claim is refused for good.
    Refused(String),
}

pub(crate) type Sender = mpsc::UnboundedSender<Word>;
pub(crate) type Receiver = mpsc::UnboundedReceiver<Word>;

/// Unbounded because the hub says these few things once; nothing that grows travels here.
pub(crate) fn channel() -> (Sender, Receiver) {
    mpsc::unbounded_channel()
}
