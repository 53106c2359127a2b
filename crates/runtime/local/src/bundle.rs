//! The container in the words of the OCI runtime specification.

use std::path::Path;

use airside_protocol::env;
use airside_rootfs::Rootfs;
use airside_runtime::{Image, PlacementSpec};
use serde_json::{Value, json};

use crate::{
    capabilities, cgroup, helper, ids::IdRange, isolation::Isolation, rootless, shim_path,
};

/// Folder of the shim's spool.
pub(crate) const STATE: &str = "/.airside/state";
/// Folder at which the folder with the hub's socket is mounted.
const HUB: &str = "/.airside/hub";
/// Folder in which a shim puts an image together that is an artifact. It is beside the shim's own
/// folder, which goes along into that image.
const ROOT: &str = "/.airside-root";
const DEFAULT_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Settings of a step in the host image, whose programs would wait at a terminal for a key that
/// nothing presses.
const NO_PAGERS: [&str; 2] = ["PAGER=cat", "GIT_PAGER=cat"];

const MASKED: [&str; 12] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
];

const READ_ONLY: [&str; 5] = [
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

pub(crate) fn config(
    spec: &PlacementSpec,
    isolation: &Isolation,
    image: Option<&Rootfs>,
    hub_socket: &str,
) -> Value {
    let surroundings = Surroundings {
        ids: isolation.ids(spec),
        own_network: isolation.network(spec).is_some(),
    };
    let mut linux = json!({
        "namespaces": surroundings.namespaces(),
        "cgroupsPath": cgroup::path(&spec.installation, &spec.handle),
        "resources": resources(spec, isolation.processes),
    });
    if let Some(ids) = surroundings.ids {
        let mapping = json!([{"containerID": 0, "hostID": ids.first(), "size": ids.count()}]);
        linux["uidMappings"] = mapping.clone();
        linux["gidMappings"] = mapping;
    }
    if spec.privileged {
        if Path::new("/dev/fuse").exists() {
            linux["devices"] = json!([
                {"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229, "fileMode": 0o666}
            ]);
        }
    } else {
        linux["maskedPaths"] = json!(MASKED);
        linux["readonlyPaths"] = json!(READ_ONLY);
    }
    json!({
        "ociVersion": "1.0.2",
        "hostname": spec.handle,
        "root": {"path": helper::mounts::rootfs(), "readonly": false},
        "process": process(spec, image, hub_socket),
        "mounts": mounts(spec, &surroundings),
        "linux": linux,
    })
}

/// The shim puts the root file system together by itself, and gets its place.
pub(crate) fn lend_root(config: &mut Value) {
    if let Some(environment) = config["process"]["env"].as_array_mut() {
        environment.push(json!(format!("{}={ROOT}", env::ROOT)));
    }
}

/// Gives the step this soft and this hard limit of open files, whatever the server has for itself.
pub(crate) fn limit_files(config: &mut Value, (soft, hard): (u64, u64)) {
    config["process"]["rlimits"] = json!([{"type": "RLIMIT_NOFILE", "soft": soft, "hard": hard}]);
}

/// The parts of the bundle that differ between containers.
struct Surroundings {
    ids: Option<IdRange>,
    own_network: bool,
}

fn process(spec: &PlacementSpec, image: Option<&Rootfs>, hub_socket: &str) -> Value {
    let capabilities = if spec.privileged {
        capabilities::privileged()
    } else {
        capabilities::shim()
    };
    json!({
        "terminal": false,
        "user": {"uid": 0, "gid": 0},
        "args": [shim_path()],
        "env": environment(spec, image, hub_socket),
        "cwd": "/",
        // sudo must work.
        "noNewPrivileges": false,
        "capabilities": {
            "bounding": capabilities, "effective": capabilities, "permitted": capabilities,
        },
    })
}

/// The image's, as a kubelet would give it, and the claim's.
fn environment(spec: &PlacementSpec, image: Option<&Rootfs>, hub_socket: &str) -> Vec<String> {
    let image_env = image.map(|image| image.env.as_slice()).unwrap_or_default();
    let mut environment = Vec::new();
    if !image_env.iter().any(|entry| entry.starts_with("PATH=")) {
        environment.push(DEFAULT_PATH.to_owned());
    }
    environment.extend(image_env.iter().cloned());
    if matches!(spec.image, Image::Host) {
        environment.extend(NO_PAGERS.map(str::to_owned));
    }
    for (name, value) in [
        (env::HUB, format!("unix:{HUB}/{hub_socket}")),
        (env::HUB_PIN, spec.claim.hub_pin.clone()),
        (env::HANDLE, spec.handle.to_string()),
        (env::TOKEN, spec.claim.token.clone()),
        (env::STATE, STATE.to_owned()),
    ] {
        environment.push(format!("{name}={value}"));
    }
    if let Some(user) = image.and_then(|image| image.user.as_ref()) {
        environment.push(format!("{}={user}", env::IMAGE_USER));
    }
    if !spec.privileged {
        let mask = capabilities::mask(&capabilities::unprivileged());
        environment.push(format!("{}={mask:x}", env::TASK_CAPABILITIES));
        environment.push(format!("{}=default", env::TASK_SECCOMP));
    }
    environment
}

impl Surroundings {
    fn namespaces(&self) -> Value {
        let mut kinds = vec!["pid", "mount", "ipc", "uts"];
        if Path::new("/proc/self/ns/cgroup").exists() {
            kinds.push("cgroup");
        }
        if self.ids.is_some() {
            kinds.push("user");
        }
        if self.own_network {
            kinds.push("network");
        }
        kinds
            .into_iter()
            .map(|kind| json!({"type": kind}))
            .collect()
    }

    /// The kernel shows /sys afresh only to those who own their network.
    fn sys(&self, access: Option<&str>) -> Value {
        let mut options = vec!["nosuid", "noexec", "nodev"];
        options.extend(access);
        if (self.ids.is_some() || rootless::is_inside()) && !self.own_network {
            options.push("rbind");
            return json!({"destination": "/sys", "type": "bind", "source": "/sys", "options": options});
        }
        json!({"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": options})
    }
}

fn resources(spec: &PlacementSpec, processes: u32) -> Value {
    let mut resources = json!({
        "devices": [{"allow": spec.privileged, "access": "rwm"}],
        "pids": {"limit": processes},
    });
    if let Some(bytes) = spec.limits.memory {
        resources["memory"] = json!({"limit": i64::try_from(bytes).unwrap_or(i64::MAX)});
    }
    if let Some(shares) = spec.limits.cpu {
        resources["cpu"] = json!({"shares": shares});
    }
    resources
}

fn mounts(spec: &PlacementSpec, surroundings: &Surroundings) -> Value {
    let sys = surroundings.sys((!spec.privileged).then_some("ro"));
    let pts = [
        "nosuid",
        "noexec",
        "newinstance",
        "ptmxmode=0666",
        "mode=0620",
        "gid=5",
    ];
    json!([
        {"destination": "/proc", "type": "proc", "source": "proc",
         "options": ["nosuid", "noexec", "nodev"]},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]},
        {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": pts},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
         "options": ["nosuid", "noexec", "nodev", "mode=1777"]},
        {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue",
         "options": ["nosuid", "noexec", "nodev"]},
        sys,
        {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup",
         "options": ["nosuid", "noexec", "nodev", "relatime", "ro"]},
    ])
}
