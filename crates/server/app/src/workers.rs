//! This machine as a worker.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use airside_check_process::Checkers;
use airside_checks::WorkerCheckers;
use airside_model::{InstallationId, WorkerName};
use airside_orchestrator::WorkerEntry;
use airside_resource_types::Mirrors;
use airside_rootfs::Images;
use airside_runtime_local::{
    Carriage, IsolationOptions, LocalOptions, LocalRuntime, MetadataAccess,
};
use airside_store::{Store, WorkerKind};
use airside_volumes::Volumes;
use anyhow::{Context, Result};
use tracing::info;

use crate::data::DataFolder;

/// Returns the socket on which the hub listens for steps on this machine.
pub(crate) fn hub_socket(data: &DataFolder) -> PathBuf {
    data.join("hub").join("socket")
}

/// The name of the worker that this machine is.
const LOCAL: &str = "local";

pub(crate) fn program() -> Result<PathBuf> {
    std::env::current_exe().context("cannot find the airside program itself")
}

/// Returns the processes that run native checks on this machine. They reach what steps reach of the
/// link.
pub(crate) fn checkers(metadata: MetadataAccess) -> Result<WorkerCheckers> {
    let program = part("checker", metadata)?;
    Ok(WorkerCheckers {
        worker: WorkerName::new(LOCAL),
        checkers: Checkers::new(airside_check_process::Options::new(program)),
    })
}

/// The program that pulls and unpacks images, confined.
pub(crate) fn pullers(metadata: MetadataAccess) -> Result<Vec<OsString>> {
    part("puller", metadata)
}

fn part(name: &str, metadata: MetadataAccess) -> Result<Vec<OsString>> {
    let mut words = vec![program()?.into_os_string(), OsString::from(name)];
    if metadata == MetadataAccess::Allowed {
        words.push(OsString::from(airside_resource_types::METADATA_ACCESS));
    }
    Ok(words)
}

/// This machine as a worker.
pub(crate) async fn local(
    data: &DataFolder,
    store: &Store,
    volumes: Volumes,
    installation: &InstallationId,
    shim: &Path,
    isolation: IsolationOptions,
    mirrors: Mirrors,
) -> Result<WorkerEntry> {
    let worker = WorkerName::new(LOCAL);
    let program = program()?;
    let images = match data.images() {
        Some(images) => images,
        None => {
            let images = airside_rootfs::Options {
                mirrors,
                fullest: volumes.marks().high,
                ..airside_rootfs::Options::new(pullers(isolation.metadata_access)?)
            };
            Images::open(&data.join("images"), images)?
        }
    };
    let options = LocalOptions {
        root: data.join("runtime"),
        worker: worker.clone(),
        installation: installation.clone(),
        shim: shim.to_owned(),
        helper: vec![program.into_os_string(), OsString::from("rt")],
        volumes,
        images,
        hub_socket: hub_socket(data),
        isolation,
        carriage: Carriage::Mounted,
        temporary: data.temporary().map(Path::to_owned),
    };
    let runtime = LocalRuntime::open(options).await?;
    let state = store
        .register_worker(&worker, None, &[], WorkerKind::Local)
        .await?;
    match airside_runtime::Runtime::condition(&runtime).map(|now| now.borrow().words()) {
        Some(words) if !words.is_empty() => {
            let reason = words.join("; ");
            info!(%worker, reason, "worker registered; it takes no steps");
        }
        _ => info!(%worker, %state, "worker registered"),
    }
    Ok(WorkerEntry {
        runtime: Arc::new(runtime),
        team: None,
        tags: Vec::new(),
    })
}

/// Takes the machine's rules for steps away, if no step is left that needs them.
pub(crate) fn leave(data: &DataFolder, installation: &InstallationId) {
    LocalRuntime::leave_if_idle(&data.join("runtime"), installation);
}
