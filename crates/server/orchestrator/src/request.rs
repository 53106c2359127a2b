//! Requests for steps, and their results.

use airside_hub::Session;
use airside_model::{
    Handle, PlanId, StepLabels, VolumeId, WorkerName, event::Event, task::ContainerLimits,
};
use airside_protocol::{Executable, Order, Transfer, Tty};
use airside_runtime::{Image, Mount, MountAccess, PlacementSpec};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{container_ref::ContainerRef, pulls::ImageGet};

/// One step, complete: nothing about it is looked up later.
#[derive(Clone)]
pub struct StepRequest {
    pub plan: PlanId,
    pub labels: StepLabels,
    pub tags: Vec<String>,
    /// The native resource type that the step is for, if its program is the shim's own.
    pub native_type: Option<String>,
    pub image: Image,
    pub run: Executable,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    pub dir: String,
    pub user: Option<String>,
    pub tty: Option<Tty>,
    pub stdin: Option<String>,
    pub inputs: Vec<Artifact>,
    pub outputs: Vec<StepOutput>,
    /// Folders that must be there and are not artifacts.
    pub folders: Vec<String>,
    pub limits: ContainerLimits,
    pub privileged: bool,
    pub hermetic: bool,
    /// Standard output is the step's answer, not part of the log.
    pub answers: bool,
    /// Appended to the build's log when the process starts.
    pub start_event: Event,
    /// The get of the image, which lasts until the step is placed.
    pub image_get: Option<ImageGet>,
}

/// A volume at an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub volume: VolumeId,
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutput {
    pub name: String,
    pub path: String,
}

/// The end of a step. `C` is the cause of a stop, which its driver knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEnd<C = ()> {
    Exited(i32),
    /// The step could not be run, or was lost: the text says what happened and what to do.
    Errored(String),
    /// The step was asked to stop.
    Stopped(C),
}

impl<C> StepEnd<C> {
    /// Returns the end with another cause of a stop.
    pub fn map_stopped<D>(self, cause: impl FnOnce(C) -> D) -> StepEnd<D> {
        match self {
            Self::Exited(code) => StepEnd::Exited(code),
            Self::Errored(words) => StepEnd::Errored(words),
            Self::Stopped(stopped) => StepEnd::Stopped(cause(stopped)),
        }
    }
}

#[derive(Clone, Debug)]
pub struct StepResult {
    pub end: StepEnd,
    /// Standard output, where the request asked for it.
    pub answer: Vec<u8>,
    /// Output names and the volumes they became.
    pub outputs: Vec<(String, VolumeId)>,
}

impl StepResult {
    pub(crate) fn errored(message: impl Into<String>) -> Self {
        Self::ended(StepEnd::Errored(message.into()))
    }

    pub(crate) fn ended(end: StepEnd) -> Self {
        Self {
            end,
            answer: Vec::new(),
            outputs: Vec::new(),
        }
    }
}

/// The container of a step that has ended, held until the step's result is committed and it is
/// released.
#[derive(Default)]
pub struct ContainerHold(pub(crate) Option<HeldContainer>);

pub(crate) struct HeldContainer {
    pub(crate) container_ref: ContainerRef,
    pub(crate) afterwards: Afterwards,
    /// Absent where no shim has connected.
    pub(crate) session: Option<Session>,
}

/// The fate of a container once its step's result is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// The container stays for users who want to look inside.
    Kept,
    Destroyed,
}

impl ContainerHold {
    /// The worker that has the step's container.
    pub fn worker(&self) -> Option<&WorkerName> {
        let holding = self.0.as_ref()?;
        Some(&holding.container_ref.worker)
    }

    /// Marks the container of a lost step for destruction: wherever its process may still run, it
    /// has no right to.
    pub(crate) fn lost(mut self) -> Self {
        if let Some(holding) = &mut self.0 {
            holding.afterwards = Afterwards::Destroyed;
        }
        self
    }
}

/// The stored record of a placement, with which a resumed build follows the step; stored sealed.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PlacementRecord {
    pub(crate) spec: PlacementSpec,
    pub(crate) order: Order,
    pub(crate) outputs: Vec<(String, Transfer)>,
}

impl StepRequest {
    /// The volume that an output of this placement becomes: the same one however often it is asked.
    pub(crate) fn outputs_of(&self, handle: &Handle) -> Vec<(String, Transfer)> {
        let volume = |path: &str| {
            let digest = Sha256::digest(format!("{handle}\n{path}").as_bytes());
            VolumeId(format!("v-{}", &hex::encode(digest)[..32]))
        };
        self.outputs
            .iter()
            .map(|output| {
                let transfer = Transfer {
                    volume: volume(&output.path),
                    path: output.path.clone(),
                };
                (output.name.clone(), transfer)
            })
            .collect()
    }

    pub(crate) fn mounts(&self) -> Vec<Mount> {
        let inputs = self.inputs.iter().map(|input| Mount {
            path: input.path.clone(),
            access: MountAccess::Input {
                volume: input.volume.clone(),
            },
        });
        let outputs = self.outputs.iter().map(|output| Mount {
            path: output.path.clone(),
            access: MountAccess::Output,
        });
        inputs.chain(outputs).collect()
    }

    /// The shim's order. Where the runtime mounts volumes there is nothing to transfer.
    pub(crate) fn order(
        &self,
        outputs: &[(String, Transfer)],
        mounts_volumes: bool,
        fence_after_seconds: u64,
    ) -> Order {
        let mut order = Order {
            run: self.run.clone(),
            args: self.args.clone(),
            env: self.env.clone(),
            dir: self.dir.clone(),
            user: self.user.clone(),
            tty: self.tty,
            stdin: self.stdin.clone(),
            image: None,
            fetch: Vec::new(),
            make_dirs: self.folders.clone(),
            mounted: Vec::new(),
            hermetic: self.hermetic,
            upload: Vec::new(),
            fence_after_seconds,
        };
        if mounts_volumes {
            order.mounted = self.mounts().into_iter().map(|mount| mount.path).collect();
        } else {
            order.image = match &self.image {
                Image::Volume { volume } => Some(volume.clone()),
                _ => None,
            };
            order.fetch = self
                .inputs
                .iter()
                .map(|input| Transfer {
                    volume: input.volume.clone(),
                    path: input.path.clone(),
                })
                .collect();
            order
                .make_dirs
                .extend(self.outputs.iter().map(|output| output.path.clone()));
            order.upload = outputs
                .iter()
                .map(|(_, transfer)| transfer.clone())
                .collect();
        }
        order
    }
}
