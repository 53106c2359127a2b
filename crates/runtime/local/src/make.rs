//! Makes a container, at most once per handle.

use std::{
    fs::{self, File},
    process::{Command, Stdio},
};

use airside_rootfs::Rootfs;
use airside_runtime::{Image, PlacementSpec};

use crate::{
    Carriage, Error, LocalOptions, bundle,
    container::{ContainerDir, Lock, Record, Status},
    isolation::Isolation,
    obstacle,
    plan::Plan,
    prepare::{Preparation, Prepared},
    remove,
};

/// Returns the state in which an earlier call with this handle left the container, if there was
/// one.
pub(crate) fn existing(
    options: &LocalOptions,
    spec: &PlacementSpec,
) -> Result<Option<Status>, Error> {
    if spec.installation != options.installation {
        return Err(Error::Foreign {
            handle: spec.handle.clone(),
        });
    }
    let dir = ContainerDir::new(&options.root.join("containers"), &spec.handle)?;
    if !dir.exists() {
        return Ok(None);
    }
    let _lock = dir.lock()?;
    adoptable(&dir, spec)
}

fn adoptable(dir: &ContainerDir, spec: &PlacementSpec) -> Result<Option<Status>, Error> {
    let Some(record) = dir.record()? else {
        return Ok(None);
    };
    if record.spec_hash != spec.hash() || record.installation != spec.installation {
        return Err(Error::Different {
            handle: spec.handle.clone(),
        });
    }
    match dir.status()? {
        Status::Absent => Ok(None),
        status => Ok(Some(status)),
    }
}

/// Makes and starts the container, unless another call did so in the meantime.
pub(crate) fn container(
    options: &LocalOptions,
    isolation: &Isolation,
    spec: &PlacementSpec,
    image: Option<&Rootfs>,
) -> Result<Status, Error> {
    obstacle::check(&options.root)?;
    let dir = ContainerDir::new(&options.root.join("containers"), &spec.handle)?;
    let lock = dir.lock()?;
    if let Some(status) = adoptable(&dir, spec)? {
        return Ok(status);
    }
    remove::unstarted(&dir, &options.installation, &spec.handle)?;
    let made = prepare(options, spec, image, &dir)
        .and_then(|prepared| commit(options, isolation, spec, image, &dir, prepared))
        .and_then(|()| start(options, &dir, &lock));
    // Without a process there was never a start: the handle may be used again.
    if made.is_err() && dir.init()?.is_none() {
        remove::container(&dir, &options.installation, &spec.handle)?;
    }
    made?;
    dir.status()
}

fn prepare(
    options: &LocalOptions,
    spec: &PlacementSpec,
    image: Option<&Rootfs>,
    dir: &ContainerDir,
) -> Result<Prepared, Error> {
    Preparation {
        dir,
        data: &options.root,
        volumes: &options.volumes,
        carriage: options.carriage,
    }
    .run(spec, image)
}

/// Writes everything the helper needs, the record last.
fn commit(
    options: &LocalOptions,
    isolation: &Isolation,
    spec: &PlacementSpec,
    image: Option<&Rootfs>,
    dir: &ContainerDir,
    prepared: Prepared,
) -> Result<(), Error> {
    let (folder, socket) = options.hub_socket()?;
    let mut config = bundle::config(spec, isolation, image, socket);
    if options.carriage == Carriage::Streamed && matches!(spec.image, Image::Volume { .. }) {
        bundle::lend_root(&mut config);
    }
    if let Some(files) = airside_limits::files_of_steps() {
        bundle::limit_files(&mut config, files);
    }
    dir.write("config.json", &config)?;
    dir.write(
        "plan.json",
        &Plan {
            mounts: prepared.mounts,
            shim: options.shim.clone(),
            hub: folder.to_owned(),
            ids: isolation.ids(spec),
            network: isolation.network(spec),
            maker: options.isolation.maker.clone(),
        },
    )?;
    let record = Record {
        handle: spec.handle.clone(),
        installation: spec.installation.clone(),
        spec_hash: spec.hash(),
        outputs: prepared.outputs,
        image: image.map(|image| image.digest.clone()),
    };
    dir.write("record.json", &record)
}

fn start(options: &LocalOptions, dir: &ContainerDir, lock: &Lock) -> Result<(), Error> {
    let log = dir.join("helper.log");
    let file = File::create(&log).map_err(Error::disk(&log))?;
    let [program, leading @ ..] = options.helper.as_slice() else {
        return Err(Error::Helper {
            message: "no helper program is configured".to_owned(),
        });
    };
    let lock = lock.0.try_clone().map_err(Error::disk(&log))?;
    // A group of its own: an interrupt at the server's terminal is not meant for it.
    let status = std::os::unix::process::CommandExt::process_group(&mut Command::new(program), 0)
        .args(leading)
        .arg("create")
        .arg(dir.path())
        .stdin(Stdio::from(lock))
        .stdout(Stdio::null())
        .stderr(Stdio::from(file))
        .status()
        .map_err(Error::disk(program.as_ref()))?;
    if status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(&log).unwrap_or_default();
    let said = said.trim();
    let message = if said.is_empty() {
        status.to_string()
    } else {
        said.to_owned()
    };
    Err(Error::Helper { message })
}
