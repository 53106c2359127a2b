//! The server: opens the data folder, joins the parts, serves until a signal stops it.
//!
//! [`serve`] reads from top to bottom as what happens, and [`Server::open`] as who gets what. There
//! is no logic in here but what differs between `up` and `web`, which is all in [`Mode`].

mod agents;
mod artifact_images;
mod assembly;
mod builds;
mod collected_workers;
mod fleet;
mod foundation;
mod greeting;
pub mod listeners;
mod loops;
mod mode;
mod stop;
mod targets;
mod workers;

use std::sync::Arc;

use airside_api::{ApiState, Tls};
use airside_limits::{Files, Places};
use anyhow::Result;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::{
    data::DataFolder,
    logging::{self, Level},
    options::{Observing, ServerOptions},
    settings::{self, Setting, SettingVariables},
};

pub(crate) use assembly::Server;
use greeting::Greeting;
use listeners::Listeners;
pub use mode::Mode;

/// Stack of each of the server's threads; untouched pages cost nothing.
const STACK: usize = 16 << 20;

pub fn run(options: &ServerOptions, settings: &[Setting], mode: Mode) -> Result<()> {
    if options.configuration.print_config {
        settings::print(settings)?;
        return Ok(());
    }
    mode.check(options)?;
    let (log_level, traces) = logging::start(&options.observing)?;
    SettingVariables::of_settings(settings).warn_of_unknown();
    let result = on_threads(serve(options, mode, log_level));
    if let Some(traces) = traces {
        traces.finish();
    }
    result
}

/// Starts the log and runs `serve` until a signal ends it.
pub fn run_until_signal(
    observing: &Observing,
    serve: impl AsyncFnOnce(CancellationToken) -> Result<()>,
) -> Result<()> {
    let (_, traces) = logging::start(observing)?;
    let result = on_threads(async {
        let shutdown = CancellationToken::new();
        stop::on_signals(shutdown.clone())?;
        serve(shutdown).await
    });
    if let Some(traces) = traces {
        traces.finish();
    }
    result
}

/// Runs `main` on a multi-threaded runtime with the stack, TLS provider and open files that a
/// server needs.
pub fn on_threads<T>(main: impl Future<Output = Result<T>>) -> Result<T> {
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider is installed already"))?;
    let files = Files::raise();
    debug!(files = files.limit(), "limit of open files read");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Plans and resource types nest as deeply as their authors like.
        .thread_stack_size(STACK)
        .enable_all()
        .build()?;
    let result = runtime.block_on(main);
    // What still blocks (a name look-up, say) must not hold up the exit.
    runtime.shutdown_background();
    let result = result?;
    airside_tasks::verdict()?;
    Ok(result)
}

async fn serve(options: &ServerOptions, mode: Mode, log_level: Level) -> Result<()> {
    let shutdown = CancellationToken::new();
    // Signals are handled before anything that could take long.
    stop::on_signals(shutdown.clone())?;
    let reload = stop::on_hangup()?;
    let data = DataFolder::open(&options.database.data)?;
    let started = match Started::open(options, mode, log_level, &data, &shutdown).await {
        Ok(started) => started,
        Err(error) => {
            data.discard_new();
            return Err(error);
        }
    };
    let Started {
        mut server,
        listeners,
        tls,
        state,
        greeting,
    } = started;
    let mut loops = server.start_loops(&shutdown)?;
    loops.push(loops::start_live(&state, &shutdown));
    let places = Places::new(Files::now().connections());
    if let Some(listener) = listeners.metrics {
        listeners::serve_metrics(listener, state.clone(), places.clone(), shutdown.clone());
    }
    if let (Some(listener), Some(registry)) = (listeners.registry, server.registry()) {
        info!(address = %listener.local_addr()?, "image registry started");
        let (tls, places) = (tls.clone(), places.clone());
        listeners::serve_registry(listener, tls, registry, places, shutdown.clone());
    }
    greeting.print(mode);
    let entrance = options.listening.entrance(places);
    listeners::serve(listeners.api, tls, reload, state, entrance, shutdown).await?;
    server.engine.shut_down().await;
    for background in loops {
        background.await?;
    }
    server.leave(&data).await;
    stop::report_end(&server.left_containers().await);
    Ok(())
}

/// A server that can serve: whatever may fail at a start has not failed.
struct Started {
    server: Server,
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    state: ApiState,
    greeting: Greeting,
}

impl Started {
    async fn open(
        options: &ServerOptions,
        mode: Mode,
        log_level: Level,
        data: &DataFolder,
        shutdown: &CancellationToken,
    ) -> Result<Self> {
        let tls = options.listening.tls()?;
        let listeners = Listeners::bind(&options.listening).await?;
        let url = options.listening.url(listeners.api.local_addr()?)?;
        let users = mode.users(options, data)?;
        let server = Server::open(options, mode, data, &users.list, &url, shutdown).await?;
        let state = server.api(&url, options, log_level);
        Ok(Self {
            server,
            listeners,
            tls,
            state,
            greeting: Greeting { url, users },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_a_loop_that_panics_again_and_again_ends_the_program_in_order() {
        let ended = on_threads(async {
            let shutdown = CancellationToken::new();
            let broken = || async { panic!("a fault of the test") };
            airside_tasks::supervise("broken loop", &shutdown, broken);
            shutdown.cancelled().await;
            Ok(())
        });
        let words = ended.unwrap_err().to_string();
        assert!(words.contains("`broken loop` panicked 3 times"), "{words}");
        assert!(words.contains("a fault of the test"), "{words}");
    }
}
