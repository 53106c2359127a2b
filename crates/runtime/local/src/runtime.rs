//! The placement contract on this machine.

use std::{
    collections::HashSet,
    fs,
    os::{fd::OwnedFd, unix::fs::DirBuilderExt},
    path::Path,
    sync::Arc,
    time::Duration,
};

use airside_model::{Handle, InstallationId, VolumeId, WorkerName, chain};
use airside_pulls::PullProgress;
use airside_rootfs::{Digest, ImageSource, Rootfs};
use airside_runtime::{
    Board, Capabilities, Cause, Condition, Image, Listed, Observation, Observed, PlacementSpec,
    Runtime,
};
use async_trait::async_trait;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::watch,
    task::JoinSet,
};
use tracing::warn;

use crate::{
    Carriage, Error, LocalOptions, cgroup,
    container::{ContainerDir, Record, Status, plain_name},
    end,
    isolation::Isolation,
    leavings, make, network, obstacle, prepare,
    presence::{self, Presence},
    process::{self, Process, ProcessExit},
    remove,
};

/// Time limit that has no effect here: this machine is never silent while the server on it runs.
const LOST_AFTER: Duration = Duration::from_secs(300);

pub struct LocalRuntime {
    options: Arc<LocalOptions>,
    isolation: Arc<Isolation>,
    board: Arc<Board>,
    /// Containers that are being removed by this server: their end is not an exit of their own.
    removing: Arc<Mutex<HashSet<Handle>>>,
    /// One per living container; they end with the runtime, the containers do not.
    watchers: Mutex<JoinSet<()>>,
    condition: watch::Sender<Condition>,
    _presence: Option<Presence>,
}

impl LocalRuntime {
    /// Takes over the containers that are there already. Within a tokio runtime.
    pub async fn open(options: LocalOptions) -> Result<Self, Error> {
        plain_name(options.installation.as_str())?;
        let containers = options.root.join("containers");
        let mut builder = fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&containers)
            .map_err(Error::disk(&containers))?;
        airside_volumes::spread_folders(&containers);
        let options = Arc::new(options);
        let asked = options.clone();
        let (isolation, presence, condition) = blocking(move || {
            let presence = Presence::enter(&asked);
            leavings::sweep(asked.temporary.as_deref());
            let checked = obstacle::check_machine(&asked.root);
            if let Err(error) = &checked {
                warn!(
                    worker = %asked.worker, error = %chain(&error),
                    "no step can run on this machine"
                );
            }
            let condition = obstacle::condition(&checked);
            Ok((
                Isolation::find(&asked, checked.is_ok()),
                presence,
                condition,
            ))
        })
        .await?;
        let runtime = Self {
            options,
            isolation: Arc::new(isolation),
            board: Arc::default(),
            removing: Arc::default(),
            watchers: Mutex::default(),
            condition: watch::Sender::new(condition),
            _presence: presence,
        };
        let options = runtime.options.clone();
        for (handle, status) in blocking(move || survivors(&options)).await? {
            runtime.note(&handle, status);
        }
        Ok(runtime)
    }

    fn note(&self, handle: &Handle, status: Status) {
        let Status::Running(process) = status else {
            self.board.set(handle, self.exited(handle));
            return;
        };
        let news = self
            .board
            .set(handle, Observed::Started { node: self.node() });
        if news && let Err(gone) = self.watch(handle, &process) {
            self.board.end(handle, gone);
        }
    }

    /// Reports the container's end once it comes. The error is that end, if the container is gone
    /// already.
    fn watch(&self, handle: &Handle, process: &Process) -> Result<(), Observed> {
        let fd = process.open().ok_or_else(|| self.exited(handle))?;
        // SAFETY: the descriptor is owned by what is registered, which never gives away another.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(
            |error| {
                let reason = format!("container cannot be watched: {}", chain(&error));
                self.gone(Cause::Other, &reason)
            },
        )?;
        let (board, handle, removing) = (self.board.clone(), handle.clone(), self.removing.clone());
        let (options, removed, process) = (self.options.clone(), self.removed(), process.clone());
        let mut watchers = self.watchers.lock();
        while watchers.try_join_next().is_some() {}
        watchers.spawn(airside_tasks::named("watch of a container", async move {
            let exit = ended(&process, fd).await;
            let is_removed = removing.lock().contains(&handle);
            let gone = if is_removed {
                removed
            } else {
                end::observed(&options, &handle, exit)
            };
            board.end(&handle, gone);
        }));
        Ok(())
    }

    /// [`LocalRuntime::leave`], unless containers are left below `root`, which need it. Returns
    /// true if none was.
    pub fn leave_if_idle(root: &Path, installation: &InstallationId) -> bool {
        let idle =
            fs::read_dir(root.join("containers")).is_ok_and(|mut left| left.next().is_none());
        if idle {
            Self::leave(installation);
        }
        idle
    }

    /// Removes what the installation keeps on this machine even when no step runs.
    pub fn leave(installation: &InstallationId) {
        network::take_down(installation);
        cgroup::leave(installation);
        presence::leave(installation);
    }

    fn node(&self) -> Option<String> {
        Some(self.options.worker.to_string())
    }

    fn gone(&self, cause: Cause, reason: &str) -> Observed {
        Observed::Gone {
            node: self.node(),
            reason: reason.to_owned(),
            cause,
        }
    }

    /// The end of a container that nothing watched.
    fn exited(&self, handle: &Handle) -> Observed {
        end::observed(&self.options, handle, None)
    }

    fn removed(&self) -> Observed {
        self.gone(Cause::Removed, "container removed")
    }

    async fn make(&self, spec: &PlacementSpec) -> Result<(), Error> {
        let spec = Arc::new(spec.clone());
        let (options, wanted) = (self.options.clone(), spec.clone());
        let status = match blocking(move || make::existing(&options, &wanted)).await? {
            Some(status) => status,
            None => {
                let image = self.image(&spec).await?;
                let (options, wanted) = (self.options.clone(), spec.clone());
                let isolation = self.isolation.clone();
                blocking(move || make::container(&options, &isolation, &wanted, image.as_ref()))
                    .await?
            }
        };
        self.note(&spec.handle, status);
        Ok(())
    }

    /// Returns the root file system of the step's image. A pull shows in the container's
    /// observations.
    async fn image(&self, spec: &PlacementSpec) -> Result<Option<Rootfs>, Error> {
        let source = match &spec.image {
            Image::Shim | Image::Host | Image::Volume { .. } => return Ok(None),
            Image::Registry {
                reference, source, ..
            } => ImageSource::Registry {
                reference: reference.clone(),
                source: source.0.clone(),
                team: spec.labels.team_key(),
            },
            Image::OciLayout { path } => ImageSource::OciLayout(path.into()),
        };
        let listener = |progress: PullProgress| {
            let (reason, cause) = (String::new(), Cause::Pulling { progress });
            self.board
                .set(&spec.handle, Observed::Pending { reason, cause });
        };
        let images = &self.options.images;
        let made = images.ensure_reporting(&source, &listener).await;
        // From here on there is nothing to observe until the container starts.
        self.board.take_back(&spec.handle);
        Ok(Some(made?))
    }

    fn refuse(&self) -> impl FnOnce(Error) -> airside_runtime::Error {
        |error| error.into_runtime(&self.options.worker)
    }
}

#[async_trait]
impl Runtime for LocalRuntime {
    fn worker(&self) -> &WorkerName {
        &self.options.worker
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            mounts_volumes: self.options.carriage == Carriage::Mounted,
            lost_after: LOST_AFTER,
            has_host_image: true,
            pulls_images: false,
            fence_after: None,
        }
    }

    fn condition(&self) -> Option<watch::Receiver<Condition>> {
        Some(self.condition.subscribe())
    }

    async fn place(&self, spec: &PlacementSpec) -> Result<Option<String>, airside_runtime::Error> {
        self.make(spec).await.map_err(self.refuse())?;
        Ok(None)
    }

    fn observe(&self) -> BoxStream<'static, Observation> {
        self.board.observe()
    }

    async fn destroy(&self, handle: &Handle) -> Result<(), airside_runtime::Error> {
        let (options, wanted) = (self.options.clone(), handle.clone());
        self.removing.lock().insert(handle.clone());
        let destroyed = blocking(move || destroy(&options, &wanted)).await;
        if destroyed.is_ok() {
            self.board.forget(handle, self.removed());
        }
        self.removing.lock().remove(handle);
        destroyed.map_err(self.refuse())
    }

    async fn list(&self) -> Result<Vec<Listed>, airside_runtime::Error> {
        let options = self.options.clone();
        let found = blocking(move || ours(&options))
            .await
            .map_err(self.refuse())?;
        Ok(found
            .into_iter()
            .map(|(_, handle)| Listed {
                handle,
                uid: None,
                leaving: false,
            })
            .collect())
    }

    async fn seal(
        &self,
        handle: &Handle,
        path: &str,
        volume: &VolumeId,
    ) -> Result<(), airside_runtime::Error> {
        let (options, handle) = (self.options.clone(), handle.clone());
        let (path, volume) = (path.to_owned(), volume.clone());
        blocking(move || seal(&options, &handle, &path, &volume))
            .await
            .map_err(self.refuse())
    }

    async fn largest(&self) -> Result<Option<(Handle, u64)>, airside_runtime::Error> {
        let options = self.options.clone();
        blocking(move || {
            let sized = ours(&options)?.into_iter().filter_map(|(dir, handle)| {
                // One that is being removed takes no room for long.
                let bytes = airside_volumes::size_of(dir.path()).ok()?;
                Some((handle, bytes))
            });
            Ok(sized.max_by_key(|(_, bytes)| *bytes))
        })
        .await
        .map_err(self.refuse())
    }

    async fn collect_images(&self, unused_for: Duration) -> Result<u64, airside_runtime::Error> {
        let options = self.options.clone();
        blocking(move || {
            let images = &options.images;
            // Listed before it is known who stands on them: what is used from now on is leased.
            let idle = images.idle(unused_for)?;
            let in_use = images_in_use(&options)?;
            let mut collected = 0;
            for digest in idle.iter().filter(|digest| !in_use.contains(digest)) {
                collected += u64::from(images.remove(digest)?);
            }
            Ok(collected)
        })
        .await
        .map_err(self.refuse())
    }
}

/// The images on which containers stand.
fn images_in_use(options: &LocalOptions) -> Result<HashSet<Digest>, Error> {
    let mut found = HashSet::new();
    for (dir, _) in ours(options)? {
        found.extend(dir.record()?.and_then(|record| record.image));
    }
    Ok(found)
}

/// Waits until the process has ended, and returns its exit as far as the kernel tells it.
async fn ended(process: &Process, fd: AsyncFd<OwnedFd>) -> Option<ProcessExit> {
    // Only the end makes it readable, and an error would mean that the end cannot be known any
    // more.
    drop(fd.readable().await);
    process::exit(process, fd.get_ref())
}

fn survivors(options: &LocalOptions) -> Result<Vec<(Handle, Status)>, Error> {
    let mut found = Vec::new();
    for (dir, handle) in ours(options)? {
        let _lock = dir.lock()?;
        match dir.status()? {
            Status::Absent => {}
            status => found.push((handle, status)),
        }
    }
    Ok(found)
}

/// Returns the containers of this installation; half-made ones too, since the sweeper removes them.
fn ours(options: &LocalOptions) -> Result<Vec<(ContainerDir, Handle)>, Error> {
    let containers = options.root.join("containers");
    let mut found = Vec::new();
    for entry in fs::read_dir(&containers).map_err(Error::disk(&containers))? {
        let path = entry.map_err(Error::disk(&containers))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let (dir, handle) = (ContainerDir::at(&path), Handle::new(name));
        let record: Option<Record> = dir.record()?;
        if record.is_none_or(|record| record.installation == options.installation) {
            found.push((dir, handle));
        }
    }
    Ok(found)
}

fn destroy(options: &LocalOptions, handle: &Handle) -> Result<(), Error> {
    let dir = ContainerDir::new(&options.root.join("containers"), handle)?;
    if !dir.exists() {
        return Ok(());
    }
    let _lock = dir.lock()?;
    if dir
        .record()?
        .is_some_and(|record| record.installation != options.installation)
    {
        return Err(Error::Foreign {
            handle: handle.clone(),
        });
    }
    remove::container(&dir, &options.installation, handle)
}

fn seal(
    options: &LocalOptions,
    handle: &Handle,
    path: &str,
    volume: &VolumeId,
) -> Result<(), Error> {
    let dir = ContainerDir::new(&options.root.join("containers"), handle)?;
    if options.volumes.exists(volume) {
        return Ok(());
    }
    let record = dir.record()?.ok_or_else(|| Error::NoContainer {
        handle: handle.clone(),
    })?;
    let wanted = prepare::clean(path.as_ref());
    let output = record
        .outputs
        .iter()
        .find(|(at, _)| prepare::clean(at.as_ref()) == wanted);
    let (_, folder) = output.ok_or_else(|| Error::NoOutput {
        handle: handle.clone(),
        path: path.to_owned(),
    })?;
    Ok(options.volumes.adopt(&dir.output(folder), volume)?)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    airside_tasks::blocking("container", work).await?
}
