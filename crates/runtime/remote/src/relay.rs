//! The way of this machine's shims to the hub. The bytes are TLS between shim and hub: this machine
//! cannot read them, and a process that dials can do only what its claim allows.

use std::{io, sync::Arc};

use airside_model::chain;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    task::JoinSet,
    time::Duration,
};
use tracing::{debug, warn};

use crate::{HubAddress, link::dial};

/// Read at once: what a busy shim sends in two of TLS's records.
const AT_ONCE: usize = 32 * 1024;

/// Serves until it is dropped, and every connection with it.
pub(crate) async fn serve(listener: Arc<UnixListener>, hub: HubAddress) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((shim, _)) => {
                let hub = hub.clone();
                connections.spawn(airside_tasks::named("shim's connection", async move {
                    if let Err(error) = relay(shim, &hub).await {
                        debug!(%hub, error = %chain(&error), "connection of a shim ended");
                    }
                }));
            }
            Err(error) => {
                warn!(error = %chain(&error), "connection of a shim not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Passes messages on until either side ends the connection: neither says anything after the other
/// is gone.
async fn relay(shim: UnixStream, hub: &HubAddress) -> io::Result<()> {
    let hub = dial(hub).await?;
    let (from_shim, to_shim) = shim.into_split();
    let (from_hub, to_hub) = hub.into_split();
    tokio::select! {
        ended = pass(from_shim, to_hub) => ended,
        ended = pass(from_hub, to_shim) => ended,
    }
}

async fn pass(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> io::Result<()> {
    let mut from = BufReader::with_capacity(AT_ONCE, from);
    tokio::io::copy_buf(&mut from, &mut to).await?;
    to.shutdown().await
}
