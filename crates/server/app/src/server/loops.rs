//! The loops that run in the background of a server, each started anew after a panic.

use std::sync::Arc;

use airside_api::ApiState;
use airside_tasks::{restart, supervise};
use anyhow::Result;
use tokio::{signal::unix::Signal, sync::Mutex, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{assembly::Server, stop, targets::Targets};

/// Starts what tells pages of changes, until the shutdown.
pub(super) fn start_live(state: &ApiState, shutdown: &CancellationToken) -> JoinHandle<()> {
    let (live, until) = (state.live.clone(), shutdown.clone());
    restart("live streams", move || {
        let (live, until) = (live.clone(), until.clone());
        async move {
            until.run_until_cancelled(live.run()).await;
        }
    })
}

impl Server {
    /// Starts what runs in the background until the shutdown.
    pub(crate) fn start_loops(
        &mut self,
        shutdown: &CancellationToken,
    ) -> Result<Vec<JoinHandle<()>>> {
        let mut loops = vec![
            self.start_sweeper(shutdown),
            self.start_collector(shutdown),
            self.start_key_rotation(shutdown),
            self.start_logins(shutdown),
        ];
        if let Some(driver) = self.driver.take() {
            let until = shutdown.clone();
            loops.push(supervise("scheduler", shutdown, move || {
                driver.clone().run(until.clone())
            }));
        }
        if let Some(checks) = self.check_loop.take() {
            let until = shutdown.clone();
            loops.push(supervise("checks", shutdown, move || {
                checks.clone().run(until.clone())
            }));
        }
        if let Some((control, parts)) = self.control.clone() {
            let until = shutdown.clone();
            loops.push(supervise("control", shutdown, move || {
                let (control, parts, until) = (control.clone(), parts.clone(), until.clone());
                async move { control.run(parts, until).await }
            }));
        }
        let hangup = stop::on_hangup()?;
        if let Some(targets) = self.targets.take() {
            loops.push(self.start_targets(targets, hangup, shutdown));
        }
        Ok(loops)
    }

    fn start_sweeper(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (orchestrator, until) = (self.orchestrator.clone(), shutdown.clone());
        supervise("sweeper", shutdown, move || {
            let (orchestrator, until) = (orchestrator.clone(), until.clone());
            async move { orchestrator.sweep_forever(until).await }
        })
    }

    fn start_collector(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (collector, until) = (self.collector.clone(), shutdown.clone());
        supervise("collector", shutdown, move || {
            collector.clone().run(until.clone())
        })
    }

    fn start_key_rotation(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (id_tokens, until) = (self.id_tokens.clone(), shutdown.clone());
        supervise("keys of id tokens", shutdown, move || {
            let (id_tokens, until) = (id_tokens.clone(), until.clone());
            async move { id_tokens.rotate_forever(until).await }
        })
    }

    fn start_logins(&self, shutdown: &CancellationToken) -> JoinHandle<()> {
        let (credentials, until) = (self.credentials.clone(), shutdown.clone());
        supervise("logins to secret managers", shutdown, move || {
            let (credentials, until) = (credentials.clone(), until.clone());
            async move {
                until.run_until_cancelled(credentials.tend_forever()).await;
            }
        })
    }

    fn start_targets(
        &self,
        targets: Targets,
        hangup: Signal,
        shutdown: &CancellationToken,
    ) -> JoinHandle<()> {
        let watched = Arc::new(Mutex::new((targets, hangup)));
        let (orchestrator, others) = (self.orchestrator.clone(), self.others.clone());
        let (metrics, until) = (self.metrics.clone(), shutdown.clone());
        supervise("targets", shutdown, move || {
            let (orchestrator, others) = (orchestrator.clone(), others.clone());
            let (metrics, until, watched) = (metrics.clone(), until.clone(), watched.clone());
            async move {
                let (targets, hangup) = &mut *watched.lock().await;
                targets
                    .run(orchestrator, others, metrics, hangup, until)
                    .await;
            }
        })
    }
}
