//! Creates a container from its folder and starts it.

use std::{fs, path::Path};

use airside_model::chain;

use super::{maker, mounts, network};
use crate::{
    container::{ContainerDir, Record},
    plan::Plan,
    process::{self, Process},
};

pub(super) fn run(folder: &Path) -> Result<(), String> {
    let dir = ContainerDir::at(folder);
    let missing = |name| format!("{}: there is no {name}", folder.display());
    let read = |error: crate::Error| chain(&error);
    let plan: Plan = dir
        .read("plan.json")
        .map_err(read)?
        .ok_or_else(|| missing("plan.json"))?;
    let record: Record = dir
        .record()
        .map_err(read)?
        .ok_or_else(|| missing("record.json"))?;

    mounts::make(&plan, folder)?;
    let mut container = maker::create(&plan.maker, &dir, record.handle.as_str())?;
    // The token is in it.
    let _ = fs::remove_file(dir.join("config.json"));

    let pid = container.pid()?;
    let init = Process::of(pid).map_err(|error| format!("process {pid}: {}", chain(&error)))?;
    let joined = match &plan.network {
        Some(network) => network::join(network, pid),
        None => Ok(()),
    };
    let started = joined
        .and_then(|()| dir.write("init.json", &init).map_err(|error| chain(&error)))
        .and_then(|()| container.start())
        .and_then(|()| dir.write("started", &()).map_err(|error| chain(&error)));
    if started.is_err()
        && let Some(fd) = init.open()
    {
        process::kill(&fd);
    }
    started
}
