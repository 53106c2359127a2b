//! A runtime over temporary folders, and a stand-in for the shim.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use airside_model::{BuildId, Handle, InstallationId, StepKind, StepLabels, VolumeId, WorkerName};
use airside_rootfs::Images;
use airside_runtime::{
    ClaimEnvironment, Image, Mount, MountAccess, Observation, Observed, PlacementSpec, Runtime,
};
use airside_runtime_local::{Carriage, IsolationOptions, LocalOptions, LocalRuntime};
use airside_volumes::Volumes;
use futures::StreamExt;
use tempfile::TempDir;

/// The program that pulls and unpacks images.
fn images() -> airside_rootfs::Options {
    airside_rootfs::Options::new(vec![
        env!("CARGO_BIN_EXE_airside-rt").into(),
        "puller".into(),
    ])
}

pub struct Machine {
    pub root: TempDir,
    /// Folder of the containers: the root, unless a test wants them elsewhere.
    pub data: PathBuf,
    pub installation: InstallationId,
    pub volumes: Volumes,
    pub images: Images,
    pub hub: UnixListener,
    pub helper: Vec<OsString>,
    pub isolation: IsolationOptions,
}

impl Machine {
    /// `None` where containers cannot be made at all.
    pub fn new(name: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        Some(Self {
            volumes: Volumes::open(&root.path().join("volumes")).unwrap(),
            images: Images::open(&root.path().join("images"), images()).unwrap(),
            installation: InstallationId::new(format!("test-{name}-{}", std::process::id())),
            hub: listen(&root.path().join("hub")),
            helper: vec![env!("CARGO_BIN_EXE_airside-rt").into()],
            isolation: IsolationOptions::default(),
            data: root.path().to_owned(),
            root,
        })
    }

    /// Keeps containers and volumes elsewhere.
    pub fn put_on(&mut self, folder: &Path) {
        self.volumes = Volumes::open(&folder.join("volumes")).unwrap();
        self.data = folder.to_owned();
    }

    pub async fn runtime(&self) -> LocalRuntime {
        LocalRuntime::open(LocalOptions {
            root: self.data.clone(),
            worker: WorkerName::new("here"),
            installation: self.installation.clone(),
            shim: standin().to_owned(),
            helper: self.helper.clone(),
            volumes: self.volumes.clone(),
            images: self.images.clone(),
            hub_socket: self.root.path().join("hub/socket"),
            isolation: self.isolation.clone(),
            carriage: Carriage::Mounted,
            temporary: None,
        })
        .await
        .unwrap()
    }

    pub fn spec(&self, handle: &str, image: Image, script: &str) -> PlacementSpec {
        PlacementSpec {
            handle: Handle::new(handle),
            installation: self.installation.clone(),
            labels: StepLabels {
                team: "main".to_owned(),
                team_id: airside_model::TeamId(1),
                pipeline: None,
                job: None,
                build: BuildId(1),
                build_name: "1".to_owned(),
                step: "step".to_owned(),
                kind: StepKind::Task,
                attempt: 1,
                attempts: Vec::new(),
            },
            image,
            claim: ClaimEnvironment {
                hub_port: 0,
                hub_pin: "pin".to_owned(),
                token: script.to_owned(),
            },
            mounts: vec![output("/out")],
            limits: Default::default(),
            privileged: false,
            hermetic: false,
            user: None,
            tags: Vec::new(),
            native_type: None,
        }
    }

    /// Seals `/out` and gives its folder.
    pub async fn sealed(&self, runtime: &LocalRuntime, handle: &Handle) -> PathBuf {
        let volume = VolumeId::new(format!("out-{handle}"));
        runtime.seal(handle, "/out", &volume).await.unwrap();
        self.volumes.path(&volume).unwrap()
    }

    /// Nothing of this test's installation is left anywhere, and what it shared goes too.
    pub fn assert_clean(&self) {
        assert_eq!(
            fs::read_dir(self.root.path().join("containers"))
                .unwrap()
                .count(),
            0
        );
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(
            !mounts.contains(self.root.path().to_str().unwrap()),
            "{mounts}"
        );
        LocalRuntime::leave(&self.installation);
        let left = self.cgroups();
        assert!(
            left.is_empty(),
            "a container's control group is left: {left:?}"
        );
    }

    pub fn cgroups(&self) -> Vec<PathBuf> {
        let root = Path::new("/sys/fs/cgroup");
        let inside = format!("airside/{}", self.installation);
        let mut places = vec![root.join(&inside)];
        places.extend(
            fs::read_dir(root)
                .unwrap()
                .map(|entry| entry.unwrap().path().join(&inside)),
        );
        places.retain(|place| place.is_dir());
        places
    }
}

impl Drop for Machine {
    /// Also after a failure: the network's rules are the machine's.
    fn drop(&mut self) {
        LocalRuntime::leave(&self.installation);
    }
}

/// Listens where containers of any user may connect.
fn listen(folder: &Path) -> UnixListener {
    fs::create_dir(folder).unwrap();
    let socket = folder.join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o666)).unwrap();
    listener
}

pub fn output(path: &str) -> Mount {
    Mount {
        path: path.to_owned(),
        access: MountAccess::Output,
    }
}

pub fn input(path: &str, volume: &VolumeId) -> Mount {
    Mount {
        path: path.to_owned(),
        access: MountAccess::Input {
            volume: volume.clone(),
        },
    }
}

/// Waits until the runtime says that the container is gone, and why.
pub async fn gone(runtime: &LocalRuntime, handle: &Handle) -> String {
    let mut stream = runtime.observe();
    while let Some(Observation {
        handle: about,
        observed,
    }) = stream.next().await
    {
        if let Observed::Gone { reason, .. } = observed
            && about == *handle
        {
            return reason;
        }
    }
    panic!("the stream ended");
}

fn standin() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let program = folder.join("standin");
        let fresh = folder.join(format!("standin-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/common/standin.c");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-static", "-O1", "-o"])
            .arg(&fresh)
            .arg(source);
        assert!(compiler.status().unwrap().success());
        // Other test processes may be running theirs.
        fs::rename(&fresh, &program).unwrap();
        program
    })
}

/// An OCI layout with one image of one layer.
pub fn image(layout: &Path, files: &[(&str, &str)]) {
    let mut layer = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(text.len() as u64);
        layer
            .append_data(&mut header, name, text.as_bytes())
            .unwrap();
    }
    let blob = |data: &[u8]| {
        let hex = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(data));
        fs::create_dir_all(layout.join("blobs/sha256")).unwrap();
        fs::write(layout.join("blobs/sha256").join(&hex), data).unwrap();
        format!("sha256:{hex}")
    };
    let config = blob(br#"{"config":{"Env":["FROM_IMAGE=yes"]}}"#);
    let layer = blob(&layer.into_inner().unwrap());
    let manifest = serde_json::json!({
        "config": {"digest": config},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": layer}],
    });
    let manifest = blob(manifest.to_string().as_bytes());
    let index = serde_json::json!({"manifests": [{"digest": manifest}]});
    fs::write(layout.join("index.json"), index.to_string()).unwrap();
}

/// Returns true if all of these are installed.
pub fn have(programs: &[&str]) -> bool {
    let there = |name: &&str| {
        ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
            .iter()
            .any(|folder| fs::metadata(format!("{folder}/{name}")).is_ok())
    };
    programs.iter().all(there)
}
