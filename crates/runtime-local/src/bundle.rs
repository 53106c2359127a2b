//! The container in the words of the OCI runtime specification.

use std::path::Path;

use airside_protocol::env;
use airside_runtime::PlacementSpec;
use serde_json::{Value, json};

use crate::{capabilities, cgroup, shim_path};

/// Where the shim keeps its spool.
pub(crate) const STATE: &str = "/.airside/state";
const DEFAULT_PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const MASKED: [&str; 9] = [
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
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
    rootfs: &Path,
    image_env: &[String],
    hub_host: &str,
) -> Value {
    let mut linux = json!({
        "namespaces": namespaces(),
        "cgroupsPath": cgroup::path(&spec.installation, &spec.handle),
        "resources": resources(spec),
    });
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
        "root": {"path": rootfs, "readonly": false},
        "process": process(spec, image_env, hub_host),
        "mounts": mounts(spec),
        "linux": linux,
    })
}

fn process(spec: &PlacementSpec, image_env: &[String], hub_host: &str) -> Value {
    let capabilities = if spec.privileged {
        capabilities::privileged()
    } else {
        capabilities::unprivileged()
    };
    json!({
        "terminal": false,
        "user": {"uid": 0, "gid": 0},
        "args": [shim_path()],
        "env": environment(spec, image_env, hub_host),
        "cwd": "/",
        // sudo must work.
        "noNewPrivileges": false,
        "capabilities": {
            "bounding": capabilities, "effective": capabilities, "permitted": capabilities,
        },
    })
}

/// The image's, as a kubelet would give it, and the claim's.
fn environment(spec: &PlacementSpec, image_env: &[String], hub_host: &str) -> Vec<String> {
    let mut environment = Vec::new();
    if !image_env.iter().any(|entry| entry.starts_with("PATH=")) {
        environment.push(DEFAULT_PATH.to_owned());
    }
    environment.extend(image_env.iter().cloned());
    let host = if hub_host.contains(':') {
        format!("[{hub_host}]")
    } else {
        hub_host.to_owned()
    };
    for (name, value) in [
        (env::HUB, format!("{host}:{}", spec.claim.hub_port)),
        (env::HUB_PIN, spec.claim.hub_pin.clone()),
        (env::HANDLE, spec.handle.to_string()),
        (env::TOKEN, spec.claim.token.clone()),
        (env::STATE, STATE.to_owned()),
    ] {
        environment.push(format!("{name}={value}"));
    }
    environment
}

/// All but the network, which is the machine's: the shim must reach the hub.
fn namespaces() -> Value {
    let mut kinds = vec!["pid", "mount", "ipc", "uts"];
    if Path::new("/proc/self/ns/cgroup").exists() {
        kinds.push("cgroup");
    }
    kinds
        .into_iter()
        .map(|kind| json!({"type": kind}))
        .collect()
}

fn resources(spec: &PlacementSpec) -> Value {
    let mut resources = json!({
        "devices": [{"allow": spec.privileged, "access": "rwm"}],
    });
    if let Some(bytes) = spec.limits.memory {
        resources["memory"] = json!({"limit": i64::try_from(bytes).unwrap_or(i64::MAX)});
    }
    if let Some(shares) = spec.limits.cpu {
        resources["cpu"] = json!({"shares": shares});
    }
    resources
}

fn mounts(spec: &PlacementSpec) -> Value {
    let sysfs: &[&str] = if spec.privileged {
        &["nosuid", "noexec", "nodev"]
    } else {
        &["nosuid", "noexec", "nodev", "ro"]
    };
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
        {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": sysfs},
        {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup",
         "options": ["nosuid", "noexec", "nodev", "relatime", "ro"]},
    ])
}
