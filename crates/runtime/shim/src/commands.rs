//! The hub's commands for the step, on their way from the control connection to the step's life.

use std::time::Duration;

use airside_protocol::Order;
use tokio::sync::mpsc;

#[derive(Debug)]
pub(crate) enum HubCommand {
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

pub(crate) type Sender = mpsc::UnboundedSender<HubCommand>;
pub(crate) type Receiver = mpsc::UnboundedReceiver<HubCommand>;

/// Unbounded because the hub says these few things once; nothing that grows travels here.
pub(crate) fn channel() -> (Sender, Receiver) {
    mpsc::unbounded_channel()
}
