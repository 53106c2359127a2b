//! Creates a container from its folder and starts it.

use std::{
    fs::{self, File},
    path::Path,
};

use libcontainer::{container::builder::ContainerBuilder, syscall::syscall::SyscallType};

use super::mounts;
use crate::{
    bundle,
    container::{ContainerDir, Record},
    error::with_causes,
    plan::Plan,
    process::{self, Process},
};

pub(super) fn run(folder: &Path) -> Result<(), String> {
    let dir = ContainerDir::at(folder);
    let missing = |name| format!("{}: there is no {name}", folder.display());
    let read = |error: crate::Error| with_causes(&error);
    let plan: Plan = dir
        .read("plan.json")
        .map_err(read)?
        .ok_or_else(|| missing("plan.json"))?;
    let record: Record = dir
        .record()
        .map_err(read)?
        .ok_or_else(|| missing("record.json"))?;

    mounts::make(&plan, &dir.join("rootfs"), bundle::STATE)?;
    let stdio = |path: &Path| {
        let file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path);
        file.map_err(|error| format!("{}: {error}", path.display()))
    };
    let log = dir.join("shim.log");
    let mut container = ContainerBuilder::new(record.handle.to_string(), SyscallType::default())
        .with_root_path(dir.join("oci"))
        .map(|builder| builder.with_stdin(std::os::fd::OwnedFd::from(null())))
        .map_err(|error| with_causes(&error))?
        .with_stdout(stdio(&log)?)
        .with_stderr(stdio(&log)?)
        .as_init(folder)
        .with_systemd(false)
        .with_detach(true)
        .build()
        .map_err(|error| with_causes(&error))?;
    // The token is in it.
    let _ = fs::remove_file(dir.join("config.json"));

    let pid = container
        .pid()
        .ok_or("the container has no process")?
        .as_raw();
    let init = Process::of(pid).map_err(|error| format!("process {pid}: {error}"))?;
    let started = dir
        .write("init.json", &init)
        .map_err(|error| with_causes(&error))
        .and_then(|()| container.start().map_err(|error| with_causes(&error)))
        .and_then(|()| {
            dir.write("started", &())
                .map_err(|error| with_causes(&error))
        });
    if started.is_err()
        && let Some(fd) = init.open()
    {
        process::kill(&fd);
    }
    started
}

fn null() -> File {
    File::open("/dev/null").expect("every Linux has /dev/null")
}
