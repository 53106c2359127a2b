//! An operator as a process of its own, under the rights that `airside images install` gives it,
//! with a registry whose faults the test chooses.

// Each test binary uses its own part of this.
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::{Mutex, MutexGuard},
};

use airside_scenarios::{Environment, start_tool, wait_for, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster_support::Cluster;

pub(crate) const NAMESPACE: &str = "airside-images";
/// Only one operator is in a cluster at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A cluster with everything installed, but an operator that the test starts itself.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) home: TempDir,
    /// Namespace of the sets.
    pub(crate) namespace: String,
    pub(crate) host: String,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    /// Nothing where no cluster is offered.
    pub(crate) fn offered() -> Option<Self> {
        if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
            return None;
        }
        let alone = ALONE
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let cluster = Cluster::default();
        let stage = Self {
            host: cluster.ask(&["host-ip"]).trim().to_owned(),
            cluster,
            home: tempfile::tempdir().unwrap(),
            namespace: format!("sets-{:08x}", rand::random::<u32>()),
            _alone: alone,
        };
        stage.kubectl(&["delete", "nodes", "-l", "airside.dev/ghost"]);
        let said = stage.install(&["--replicas=0"]);
        assert!(!said.contains("Warning"), "{said}");
        let known = ["wait", "--for=condition=Established", "--timeout=60s"];
        for kind in ["imagesets", "nodeimages"] {
            let definition = format!("crd/{kind}.images.airside.dev");
            stage.kubectl(&[&known[..], &[&definition]].concat());
        }
        stage.kubectl(&["create", "namespace", &stage.namespace]);
        Some(stage)
    }

    /// `airside images install … | kubectl apply -f -`, but for the agents, which are the tests
    /// themselves; only their account and its rights are needed. What kubectl said.
    pub(crate) fn install(&self, options: &[&str]) -> String {
        let text = self.installation(options);
        let parts = text
            .split("\n---\n")
            .filter(|part| !part.contains("kind: DaemonSet"));
        self.apply_text(&parts.collect::<Vec<_>>().join("\n---\n"))
    }

    pub(crate) fn install_all(&self, options: &[&str]) {
        let said = self.apply_text(&self.installation(options));
        assert!(!said.contains("Warning"), "{said}");
    }

    /// Uninstalls as `docs/images.md` describes it.
    pub(crate) fn uninstall(&self, options: &[&str]) {
        let file = self.home.path().join("all.yaml");
        fs::write(&file, self.installation(options)).unwrap();
        let file = file.to_str().unwrap();
        self.kubectl(&["delete", "--ignore-not-found", "--timeout=120s", "-f", file]);
    }

    fn installation(&self, options: &[&str]) -> String {
        // Nodes share this machine's disk, and how full that is says nothing.
        let install = [
            "images",
            "install",
            "--image=airside.local/airside:dev",
            "--high-mark=100",
            "--low-mark=99",
        ];
        self.airside(&[&install[..], options].concat())
    }

    /// Airside's own program, as an administrator of the cluster.
    pub(crate) fn airside(&self, args: &[&str]) -> String {
        let output = Command::new(&Environment::get().airside)
            .args(args)
            .env("KUBECONFIG", self.cluster.ask(&["kubeconfig"]).trim())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Creates a pod as admission makes it: with this at that place. The API server asks admission
    /// for two seconds and goes on without it then, which a busy machine may take; so it is made
    /// anew until it was asked.
    pub(crate) fn create_admitted(&self, pod: &Value, path: &str, expected: &str) {
        let name = pod["metadata"]["name"].as_str().unwrap();
        let own = ["-n", &self.namespace];
        let shown = format!("jsonpath={path}");
        let get = ["get", "pod", name, "-o", &shown];
        let delete = ["delete", "pod", name, "--grace-period=0", "--force"];
        wait_until(&format!("pod {name} has {expected} at {path}"), || {
            self.apply_text(&pod.to_string());
            let is_it = self.kubectl(&[&get[..], &own].concat()) == expected;
            if !is_it {
                self.kubectl(&[&delete[..], &own].concat());
            }
            is_it
        });
    }

    pub(crate) fn apply_text(&self, text: &str) -> String {
        self.try_apply_text(text)
            .unwrap_or_else(|words| panic!("{words}"))
    }

    pub(crate) fn try_apply_text(&self, text: &str) -> Result<String, String> {
        let file = self
            .home
            .path()
            .join(format!("{:08x}.yaml", rand::random::<u32>()));
        fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        // Warnings come on the other stream.
        let kubeconfig = self.cluster.ask(&["kubeconfig"]);
        let output = self.kubectl_with(
            kubeconfig.trim(),
            &["apply", "--server-side", "--force-conflicts", "-f", file],
        );
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if output.status.success() {
            Ok(said)
        } else {
            Err(said)
        }
    }

    fn kubectl_with(&self, kubeconfig: &str, args: &[&str]) -> std::process::Output {
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dev/cluster");
        Command::new(tool)
            .args(["kubectl", "--kubeconfig", kubeconfig])
            .args(args)
            .output()
            .unwrap()
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.cluster.ask(&[&["kubectl"], args].concat())
    }

    pub(crate) fn try_kubectl(&self, args: &[&str]) -> Result<String, String> {
        self.cluster.try_ask(&[&["kubectl"], args].concat())
    }

    pub(crate) fn get(&self, what: &[&str]) -> Option<Value> {
        let asked = [&["get"], what, &["--ignore-not-found", "-o", "json"]].concat();
        serde_json::from_str(&self.kubectl(&asked)).ok()
    }

    pub(crate) fn apply_set(&self, name: &str, spec: &Value) {
        self.apply_text(&self.set_text(name, spec));
    }

    pub(crate) fn set_text(&self, name: &str, spec: &Value) -> String {
        json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec,
        })
        .to_string()
    }

    pub(crate) fn set(&self, name: &str) -> Option<Value> {
        self.get(&["imageset", name, "-n", &self.namespace])
    }

    /// Waits for something about the images in a set's status.
    #[track_caller]
    pub(crate) fn images(
        &self,
        name: &str,
        what: &str,
        fits: impl Fn(&[Value]) -> bool,
    ) -> Vec<Value> {
        let mut last = Value::Null;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_for(what, || {
                last = self.set(name)?;
                let images = last["status"]["images"].as_array()?.clone();
                fits(&images).then_some(images)
            })
        }));
        found.unwrap_or_else(|_| panic!("{what}: {last:#}"))
    }

    /// Writes the report that an agent would write of its node.
    pub(crate) fn say_node(&self, node: &str, images: &Value, beat: u32) {
        let status = json!({
            "heartbeat": format!("2026-01-01T00:{:02}:{:02}Z", beat / 60 % 60, beat % 60), "images": images,
        });
        let object = json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "NodeImages",
            "metadata": {"name": node}, "spec": {},
        });
        self.apply_text(&object.to_string());
        let patch = json!({"status": status}).to_string();
        self.kubectl(&[
            "patch",
            "nodeimages",
            node,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
    }

    /// A kubeconfig with this token.
    pub(crate) fn kubeconfig_of(&self, token: &str) -> PathBuf {
        let mut config: Value =
            serde_json::from_str(&self.kubectl(&["config", "view", "--raw", "-o", "json"]))
                .unwrap();
        config["users"][0]["user"] = json!({"token": token});
        let file = self
            .home
            .path()
            .join(format!("{:08x}.conf", rand::random::<u32>()));
        fs::write(&file, config.to_string()).unwrap();
        file
    }

    /// A token of an account in the installation's namespace.
    pub(crate) fn token(&self, account: &str, more: &[&str]) -> String {
        let ask = [&["-n", NAMESPACE, "create", "token", account], more].concat();
        self.kubectl(&ask).trim().to_owned()
    }

    /// `kubectl` as the agent of a node.
    pub(crate) fn as_agent(&self, node: &str, args: &[&str]) -> Result<String, String> {
        let bound = ["--bound-object-kind=Node", "--bound-object-name", node];
        let file = self.kubeconfig_of(&self.token("airside-node", &bound));
        let output = self.kubectl_with(file.to_str().unwrap(), args);
        if output.status.success() {
            Ok(String::from_utf8(output.stdout).unwrap())
        } else {
            Err(String::from_utf8(output.stderr).unwrap())
        }
    }

    /// Starts an operator; an earlier one has stopped.
    pub(crate) fn operator(&self, registry: &Registry, options: &[&str]) -> Operator {
        let lease = [
            "delete",
            "lease",
            "airside-images-operator",
            "-n",
            NAMESPACE,
        ];
        self.kubectl(&[&lease[..], &["--ignore-not-found"]].concat());
        self.one_more_operator(registry, options)
    }

    /// One that waits for its turn, if there is another.
    pub(crate) fn one_more_operator(&self, registry: &Registry, options: &[&str]) -> Operator {
        Operator::start(
            self,
            &format!("operator-{:08x}", rand::random::<u32>()),
            registry,
            options,
        )
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // There may be no operator any more to take the finalizers away.
        let listed = self.try_kubectl(&["get", "imagesets", "-n", &self.namespace, "-o", "name"]);
        for set in listed.unwrap_or_default().lines() {
            let patch = r#"{"metadata":{"finalizers":null}}"#;
            let _ = self.try_kubectl(&[
                "patch",
                set,
                "-n",
                &self.namespace,
                "--type=merge",
                "-p",
                patch,
            ]);
        }
        let _ = self.try_kubectl(&["delete", "namespace", &self.namespace, "--wait=false"]);
        let _ = self.try_kubectl(&["delete", "nodeimages", "--all"]);
    }
}

/// A process that works like the operator's pod.
pub(crate) struct Operator {
    process: Child,
    pub(crate) port: u16,
    pub(crate) name: String,
}

impl Operator {
    pub(crate) fn start(stage: &Stage, name: &str, registry: &Registry, options: &[&str]) -> Self {
        let kubeconfig = stage.kubeconfig_of(&stage.token("airside-images-operator", &[]));
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let log = fs::File::create(stage.home.path().join(format!("{name}.log"))).unwrap();
        let process = Command::new(&Environment::get().airside)
            .args([
                "images",
                "operator",
                "--namespace",
                NAMESPACE,
                "--identity",
                name,
            ])
            .args(["--lease=20", "--log-format=json"])
            .arg("--log-level=info,airside_image_operator=debug")
            .arg(format!("--listen=127.0.0.1:{port}"))
            .arg(format!("--plain-registry={}", registry.host()))
            .args(options)
            .env("KUBECONFIG", kubeconfig)
            .stderr(log)
            .spawn()
            .unwrap();
        Self {
            process,
            port,
            name: name.to_owned(),
        }
    }

    /// Kills it as a crash does.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    pub(crate) fn log(&self, stage: &Stage) -> String {
        fs::read_to_string(stage.home.path().join(format!("{}.log", self.name))).unwrap_or_default()
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `dev/registry` with repositories whose images are made up.
pub(crate) struct Registry {
    process: Child,
    address: String,
    arguments: Vec<String>,
}

impl Registry {
    pub(crate) fn start(stage: &Stage, arguments: &[&str]) -> Self {
        Self::listen(&stage.host, "0", arguments)
    }

    fn listen(host: &str, port: &str, arguments: &[&str]) -> Self {
        let own = ["--host", host, "--port", port];
        let (process, port) = start_tool("registry", &[&own[..], arguments].concat());
        Self {
            process,
            address: format!("{host}:{port}"),
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.address
    }

    pub(crate) fn image(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    pub(crate) fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// At the address it had.
    pub(crate) fn start_again(&mut self) {
        let (host, port) = self.address.rsplit_once(':').unwrap();
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        *self = Self::listen(host, port, &arguments);
    }

    pub(crate) fn control(&self, asked: &Value) {
        self.http("POST", "/control", &asked.to_string());
    }

    pub(crate) fn fault(&self, fault: &Value) {
        self.control(&json!({"fault": fault}));
    }

    /// Returns the number of requests for something.
    pub(crate) fn count(&self, what: &str) -> u64 {
        let counts: Value = serde_json::from_str(&self.http("GET", "/control", "")).unwrap();
        counts[what].as_u64().unwrap()
    }

    /// Returns the digest that a tag stands for.
    pub(crate) fn digest(&self, name: &str, tag: &str) -> String {
        let head = self.http_whole("HEAD", &format!("/v2/{name}/manifests/{tag}"), "");
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix("Docker-Content-Digest: "));
        line.unwrap_or_else(|| panic!("{head}")).trim().to_owned()
    }

    fn http(&self, method: &str, path: &str, body: &str) -> String {
        let answer = self.http_whole(method, path, body);
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn http_whole(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits until the operator answers agents.
#[track_caller]
pub(crate) fn wait_for_port(operator: &Operator) {
    wait_until("the operator listens", || {
        TcpStream::connect(("127.0.0.1", operator.port)).is_ok()
    });
}
