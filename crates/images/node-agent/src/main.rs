//! The agent of one node as a small program of its own: what `airside node` does, and nothing else.

use std::process::ExitCode;

use airside_node_agent::{NodeError, NodeOptions};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The agent of one node: keeps images that sets of the cluster want, and passes pulls on.
#[derive(Parser)]
#[command(name = "airside-node", version)]
struct Options {
    #[command(flatten)]
    node: NodeOptions,
}

/// Level of the log. The Kubernetes client's own messages about ended connections are left out:
/// watches begin anew by themselves.
const LOG: &str = "info,kube_client::client=error,kube_client::client::tls=warn";

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    GaveUp(#[from] airside_tasks::GaveUp),
}

fn main() -> ExitCode {
    // The program also accepts the server's command line, `airside node …`: one DaemonSet runs
    // either.
    let mut args: Vec<_> = std::env::args_os().collect();
    if args.get(1).is_some_and(|word| word == "node") {
        args.remove(1);
    }
    let options = Options::parse_from(args);
    let filter = tracing_subscriber::EnvFilter::try_from_env("AIRSIDE_LOG");
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| LOG.into()))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    airside_tasks::log_panics();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = %airside_model::chain(&error), "node agent failed");
            ExitCode::FAILURE
        }
    }
}

/// Runs on one thread: an agent waits nearly always.
fn run(options: &Options) -> Result<(), Failure> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    provider.install_default().ok();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(options));
    runtime.shutdown_background();
    result?;
    Ok(airside_tasks::verdict()?)
}

async fn serve(options: &Options) -> Result<(), Failure> {
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    airside_tasks::spawn("signals", async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stop.cancel();
    });
    Ok(options.node.run(shutdown).await?)
}
