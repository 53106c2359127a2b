//! The rules on this machine. They need root; without it these tests do nothing.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use airside_conformance::{
    CauseName, Ground, NoProofs, Site, kill_first_process, program, refused_image, shim,
};
use airside_hub::Proofs;
use airside_model::{Handle, InstallationId, WorkerName};
use airside_rootfs::Images;
use airside_runtime::{AnyRuntime, Image, Mount, MountAccess, PlacementSpec};
use airside_runtime_local::{Carriage, IsolationOptions, LocalOptions, LocalRuntime};
use async_trait::async_trait;
use tempfile::TempDir;

struct Machine {
    /// Holds the image that steps run in.
    layout: TempDir,
}

impl Machine {
    fn offered() -> Option<Arc<dyn Site>> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let rootfs = std::env::var_os("AIRSIDE_ROOTFS")
            .expect("AIRSIDE_ROOTFS names a root file system; `make test-local` sets it");
        let layout = tempfile::tempdir().expect("a temporary folder");
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dev/image");
        let made = Command::new(tool)
            .arg("layout")
            .arg(rootfs)
            .arg(layout.path())
            .status();
        assert!(made.expect("dev/image runs").success());
        Some(Arc::new(Self { layout }))
    }
}

fn layout(path: PathBuf) -> Image {
    Image::OciLayout {
        path: path.into_os_string().into_string().expect("a plain path"),
    }
}

fn hub_socket(ground: &Ground) -> PathBuf {
    ground.dir.path().join("hub/socket")
}

#[async_trait]
impl Site for Machine {
    async fn open(&self, ground: &Ground, installation: &InstallationId) -> AnyRuntime {
        let root = ground.dir.path();
        let options = LocalOptions {
            root: root.join("runtime"),
            worker: WorkerName::new("here"),
            installation: installation.clone(),
            shim: shim(),
            helper: vec![program().into_os_string(), "rt".into()],
            volumes: ground.volumes.clone(),
            images: Images::open(
                &root.join("images"),
                airside_rootfs::Options::new(vec![program().into_os_string(), "puller".into()]),
            )
            .expect("an image store"),
            hub_socket: hub_socket(ground),
            isolation: IsolationOptions {
                processes: 400,
                ..IsolationOptions::default()
            },
            carriage: Carriage::Mounted,
            temporary: None,
        };
        Arc::new(LocalRuntime::open(options).await.expect("a runtime"))
    }

    fn proofs(&self) -> Arc<dyn Proofs> {
        Arc::new(NoProofs)
    }

    fn hub_ip(&self) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn image(&self) -> Image {
        layout(self.layout.path().to_owned())
    }

    fn missing_image(&self) -> (Image, String) {
        (
            layout(self.layout.path().join("no-such-image")),
            "no-such-image".to_owned(),
        )
    }

    fn cannot_arise(&self, cause: CauseName) -> Option<&'static str> {
        match cause {
            CauseName::NoRoom => Some("a machine sets no room aside for each container"),
            CauseName::Evicted => Some("no cluster moves containers here"),
            CauseName::ImageRefused
            | CauseName::OutOfMemory
            | CauseName::Killed
            | CauseName::CannotStart
            | CauseName::Pulling => None,
        }
    }

    fn provoke(&self, cause: CauseName, spec: &mut PlacementSpec) {
        if cause == CauseName::ImageRefused {
            spec.image = refused_image(Ipv4Addr::LOCALHOST.into());
        }
        if cause == CauseName::CannotStart {
            spec.mounts.push(Mount {
                path: "/bin/sh/below-a-file".to_owned(),
                access: MountAccess::Output,
            });
        }
    }

    async fn end_by(&self, _: CauseName, handle: &Handle) {
        kill_first_process(handle);
    }

    async fn labels(&self, _: &Handle) -> Option<BTreeMap<String, String>> {
        None
    }

    fn hub_socket(&self, ground: &Ground) -> Option<PathBuf> {
        Some(hub_socket(ground))
    }

    fn leave(&self, installation: &InstallationId) {
        LocalRuntime::leave(installation);
    }
}

airside_conformance::rules!(Machine::offered());

// Rules that only this runtime keeps so far.
airside_conformance::rules! { Machine::offered() =>
    isolation::the_machines_ports_are_closed_in_both_families
    limits::a_step_that_forks_for_ever_ends
}
