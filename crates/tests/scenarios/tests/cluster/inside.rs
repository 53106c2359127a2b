//! The server itself in a pod, with the service account's own rights. Needs a cluster: see `make
//! test-cluster-all`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Namespace, WORKER, task};
use airside_scenarios::{Environment, Fly, wait_for, wait_until};

fn run(command: &mut Command) -> String {
    let ended = command.output().expect("the program runs");
    assert!(ended.status.success(), "{command:?}: {ended:?}");
    String::from_utf8(ended.stdout).expect("text")
}

/// The small root file system with the two programs and the libraries that the server was linked
/// to.
fn rootfs(folder: &Path) -> PathBuf {
    let Environment {
        airside, rootfs, ..
    } = Environment::get();
    let (tree, archive) = (folder.join("tree"), folder.join("web.tar"));
    let programs = tree.join("usr/local/bin");
    fs::create_dir_all(&programs).unwrap();
    let server = programs.join("airside");
    run(Command::new("strip").arg("-o").arg(&server).arg(&airside));
    fs::copy(
        airside.with_file_name("airside-shim"),
        programs.join("airside-shim"),
    )
    .unwrap();
    let mut parts = vec!["usr/local/bin".to_owned()];
    for word in run(Command::new("ldd").arg(&airside)).split_whitespace() {
        let Some(path) = word.strip_prefix('/') else {
            continue;
        };
        let copy = tree.join(path);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(word, copy).unwrap();
        parts.push(path.to_owned());
    }
    fs::copy(rootfs, &archive).unwrap();
    let append = ["--append", "--owner=0", "--group=0", "--file"];
    run(Command::new("tar")
        .args(append)
        .arg(&archive)
        .arg("-C")
        .arg(&tree)
        .args(parts));
    archive
}

/// A service and the pod behind it, as an operator would write them.
const MANIFEST: &str = r#"
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: api, port: 8080}, {name: hub, port: 7777}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  key: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  targets.yml: |
    targets:
    - name: WORKER
      tags: [WORKER]
      namespace: NAMESPACE
      hub_host: web.NAMESPACE.svc.cluster.local
      host_image: airside.local/busybox:dev
      default_requests: {cpu: 10m, memory: 16Mi}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  serviceAccountName: airside
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: IMAGE
    imagePullPolicy: Never
    command: [airside, web, --data, /data, --listen, "0.0.0.0:8080", --hub-listen, "0.0.0.0:7777", --user, "test:test",
      --encryption-key-file, /config/key, --targets, /config/targets.yml, --keep-failed, "0"]
    volumeMounts: [{name: config, mountPath: /config}, {name: data, mountPath: /data}]
  volumes:
  - {name: config, configMap: {name: web, defaultMode: 0400}}
  - {name: data, emptyDir: {}}
"#;

#[test]
fn the_server_in_a_pod_uses_its_service_account() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let image = format!("airside.local/{}-web:dev", namespace.name);
    let archive = rootfs(folder.path());
    (namespace.cluster).ask(&["load", &image, archive.to_str().unwrap()]);
    let manifest = MANIFEST
        .replace("NAMESPACE", &namespace.name)
        .replace("WORKER", WORKER)
        .replace("IMAGE", &image);
    let file = folder.path().join("web.yml");
    fs::write(&file, manifest).unwrap();
    namespace.kubectl(&["apply", "-f", file.to_str().unwrap()]);
    let ip = wait_for("the server has an address", || {
        let ip = namespace.kubectl(&["get", "pod", "web", "-o", "jsonpath={.status.podIP}"]);
        (!ip.is_empty()).then_some(ip)
    });
    let address: std::net::SocketAddr = format!("{ip}:8080").parse().unwrap();
    wait_until("the server listens", || {
        std::net::TcpStream::connect(address).is_ok()
    });
    let fly = Fly::log_in(&format!("http://{address}"), folder.path());

    let make = task(
        "make",
        "echo made >out/file",
        "      outputs: [{name: out}]\n",
    );
    let look = task(
        "look",
        "cat src/f out/file",
        "      inputs: [{name: src}, {name: out}]\n",
    );
    fly.pipeline(
        "p",
        &format!(
            "resources:\n- {{name: src, type: mock, tags: [{WORKER}], source: {{force_version: v1, create_files: {{f: \
             \"fetched\\n\"}}}}}}\njobs:\n- name: build\n  plan:\n  - get: src\n    tags: [{WORKER}]\n{make}{look}"
        ),
    );
    let said = fly.trigger_and_watch("p/build").succeeded();
    let said = said.lines().join("\n");
    assert!(said.contains("\nfetched\nmade\n"), "{said}");
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    wait_until("the server is alone", || namespace.pods() == ["web"]);
    namespace.kubectl(&["delete", "pod", "web"]);
}
