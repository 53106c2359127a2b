//! A node of a real cluster with an agent that the test starts and kills, and sets that the test
//! resolves by hand.

use std::{
    fs::File,
    net::IpAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
};

use airside_scenarios::{Environment, wait_for, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    cluster_support::Cluster,
    support::shelf::{Image, Shelf, resolved},
};

/// Two agents of one node would each take away what the other writes.
static NODE: Mutex<()> = Mutex::new(());

pub(crate) const NODE_NAME: &str = "n1";

/// The first node, a registry that it reaches, and an agent once one is started.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) shelf: Shelf,
    namespace: String,
    agent: Option<Child>,
    options: Vec<String>,
    home: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Stage {
    /// Nothing where no cluster is offered.
    pub(crate) fn offered() -> Option<Self> {
        if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
            return None;
        }
        let turn = NODE.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = Cluster::default();
        let host: IpAddr = cluster.ask(&["host-ip"]).trim().parse().unwrap();
        let shelf = Shelf::open(host);
        cluster.ask(&["plain-registry", &shelf.host()]);
        let home = tempfile::tempdir().unwrap();
        let stage = Self {
            namespace: format!("test-{:08x}", rand::random::<u32>()),
            cluster,
            shelf,
            agent: None,
            options: Vec::new(),
            home,
            _turn: turn,
        };
        stage.apply("definitions.yml", &airside(&["images", "install"]));
        let wait = [
            "wait",
            "--for=condition=Established",
            "crd/imagesets.images.airside.dev",
        ];
        stage.kubectl(&wait);
        stage.kubectl(&["create", "namespace", &stage.namespace]);
        Some(stage)
    }

    /// Returns a stage with an agent that acts only on events, or when it is told to.
    pub(crate) fn with_agent(options: &[&str]) -> Option<Self> {
        let mut stage = Self::offered()?;
        stage.start(options);
        Some(stage)
    }

    pub(crate) fn apply(&self, name: &str, text: &str) {
        let file = self.home.path().join(name);
        std::fs::write(&file, text).unwrap();
        // Another test may have changed it otherwise.
        let ours = ["apply", "--server-side", "--force-conflicts", "-f"];
        self.kubectl(&[&ours[..], &[file.to_str().unwrap()]].concat());
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Applies an object in the test's own namespace.
    pub(crate) fn apply_own(&self, name: &str, text: &str) {
        let file = self.home.path().join(name);
        std::fs::write(&file, text).unwrap();
        self.kubectl_own(&["apply", "-f", file.to_str().unwrap()]);
    }

    #[track_caller]
    pub(crate) fn kubectl_own(&self, args: &[&str]) -> String {
        self.kubectl(&[&["-n", &self.namespace], args].concat())
    }

    #[track_caller]
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.cluster.ask(&[&["kubectl"], args].concat())
    }

    // --- the agent ---

    pub(crate) fn start(&mut self, options: &[&str]) {
        self.options = options.iter().map(|&option| option.to_owned()).collect();
        // How full this machine's disk is must not matter to a test that is not about it.
        if !options
            .iter()
            .any(|option| option.starts_with("--high-mark"))
        {
            let full = ["--high-mark=100", "--low-mark=99"].map(str::to_owned);
            self.options.extend(full);
        }
        self.start_again();
    }

    pub(crate) fn start_again(&mut self) {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path());
        let agent = self
            .agent_command()
            .args(&self.options)
            .stderr(log.unwrap())
            .spawn();
        self.agent = Some(agent.expect("airside starts"));
    }

    /// `airside node --images` for this node, from outside of it; or the small program, if
    /// `AIRSIDE_NODE` names it.
    pub(crate) fn agent_command(&self) -> Command {
        self.agent_at(&self.socket())
    }

    pub(crate) fn agent_at(&self, socket: &Path) -> Command {
        let small = std::env::var_os("AIRSIDE_NODE").map(PathBuf::from);
        let mut command = Command::new(small.unwrap_or_else(|| Environment::get().airside));
        command
            .args(["node", "--images", "--node", NODE_NAME, "--runtime-socket"])
            .arg(socket)
            .arg("--image-root")
            .arg(self.image_root())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    pub(crate) fn kill_9(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            agent.kill().unwrap();
            agent.wait().unwrap();
        }
    }

    fn log_path(&self) -> PathBuf {
        self.home.path().join("agent.log")
    }

    /// Runs to its end, and says what it printed.
    pub(crate) fn clean(&mut self, more: &[&str]) -> String {
        self.kill_9();
        let mut command = self.agent_command();
        let output = command
            .arg("--clean")
            .args(more)
            .stdout(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    }

    // --- the node ---

    fn state(&self) -> PathBuf {
        let kubeconfig = self.cluster.ask(&["kubeconfig"]);
        Path::new(kubeconfig.trim())
            .parent()
            .unwrap()
            .join(NODE_NAME)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.state().join("private/run/containerd/containerd.sock")
    }

    pub(crate) fn image_root(&self) -> PathBuf {
        self.state().join("kept/var/lib/containerd")
    }

    /// True if the node's images have a file system of their own, small enough to be filled.
    pub(crate) fn has_own_disk(&self) -> bool {
        let told = rustix::fs::statvfs(self.image_root()).unwrap();
        told.f_blocks * told.f_frsize < 2_000_000_000
    }

    /// Returns the disk usage in percent.
    pub(crate) fn disk_used(&self) -> u64 {
        let told = rustix::fs::statvfs(self.image_root()).unwrap();
        (told.f_blocks - told.f_bfree) * 100 / told.f_blocks
    }

    /// Pulls an image as another program would: under its digest.
    pub(crate) fn pull_by_hand(&self, image: &Image) -> String {
        let (repository, _) = image.name.rsplit_once(':').unwrap();
        let content = format!("{repository}@{}", image.digest);
        self.ctr(&["images", "pull", "--plain-http", &content]);
        content
    }

    /// containerd's own client.
    #[track_caller]
    pub(crate) fn ctr(&self, args: &[&str]) -> String {
        self.try_ctr(args).unwrap_or_else(|words| panic!("{words}"))
    }

    pub(crate) fn try_ctr(&self, args: &[&str]) -> Result<String, String> {
        let socket = self.socket();
        let at = [
            "ctr",
            "--address",
            socket.to_str().unwrap(),
            "--namespace",
            "k8s.io",
        ];
        self.cluster.try_ask(&[&at[..], args].concat())
    }

    /// The names that containerd has, each with its labels.
    pub(crate) fn names(&self) -> Vec<String> {
        let listed = self.ctr(&["images", "list"]);
        listed.lines().skip(1).map(str::to_owned).collect()
    }

    /// True if any name means this image, or is its id.
    pub(crate) fn has(&self, image: &Image) -> bool {
        self.names()
            .iter()
            .any(|line| line.starts_with(&image.id) || line.contains(&image.digest))
    }

    /// Returns containerd's labels on the id of an image.
    pub(crate) fn marks(&self, image: &Image) -> String {
        let names = self.names();
        let line = names.iter().find(|line| line.starts_with(&image.id));
        line.cloned().unwrap_or_default()
    }

    /// The node's labels that are about images.
    pub(crate) fn labels(&self) -> Vec<String> {
        let node = self.kubectl(&["get", "node", NODE_NAME, "--ignore-not-found", "-o", "json"]);
        let node: Value = serde_json::from_str(&node).unwrap_or_default();
        let labels = node["metadata"]["labels"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let ours = labels
            .iter()
            .filter(|(key, _)| key.starts_with("images.airside.dev/"));
        ours.map(|(key, value)| format!("{key}={}", value.as_str().unwrap()))
            .collect()
    }

    /// Changes of this node's labels and of what is told of it: the URIs of requests.
    pub(crate) fn writes(&self) -> Vec<String> {
        let entries = self.cluster.ask(&["audit"]);
        let entries = entries
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let uris = entries.filter_map(|entry| entry["requestURI"].as_str().map(str::to_owned));
        uris.filter(|uri| uri.contains("fieldManager=airside-node"))
            .collect()
    }

    // --- sets ---

    /// Declares a set and says what its registry has.
    pub(crate) fn set(&self, name: &str, images: &[&Image], more: Value) {
        let listed: Vec<Value> = images
            .iter()
            .map(|image| json!({"image": image.name}))
            .collect();
        let mut spec = json!({"images": listed});
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let set = json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec,
        });
        self.apply("set.json", &set.to_string());
        self.resolve(name, images);
    }

    pub(crate) fn resolve(&self, name: &str, images: &[&Image]) {
        let patch = json!({"status": resolved(images)}).to_string();
        let set = [
            "-n",
            &self.namespace,
            "patch",
            "imageset",
            name,
            "--subresource=status",
        ];
        self.kubectl(&[&set[..], &["--type=merge", "-p", &patch]].concat());
    }

    pub(crate) fn delete_set(&self, name: &str) {
        self.kubectl(&["-n", &self.namespace, "delete", "imageset", name]);
    }

    /// Returns the agent's report of an image; null if there is none.
    pub(crate) fn told(&self, image: &Image) -> Value {
        let status = self.status();
        let images = status["images"].as_array().cloned().unwrap_or_default();
        let told = images
            .into_iter()
            .find(|told| told["image"] == image.name.as_str());
        told.filter(|told| told["digest"] == image.digest.as_str())
            .unwrap_or_default()
    }

    pub(crate) fn status(&self) -> Value {
        let asked = [
            "get",
            "nodeimages",
            NODE_NAME,
            "--ignore-not-found",
            "-o",
            "json",
        ];
        let object: Value = serde_json::from_str(&self.kubectl(&asked)).unwrap_or_default();
        object["status"].clone()
    }

    #[track_caller]
    pub(crate) fn wait_for_state(&self, image: &Image, state: &str) -> Value {
        let what = format!(
            "{} is {state}; the agent's log: {}",
            image.name,
            self.log_path().display()
        );
        wait_for(&what, || {
            Some(self.told(image)).filter(|told| told["state"] == state)
        })
    }

    #[track_caller]
    pub(crate) fn wait_for_labels(&self, count: usize, value: &str) {
        wait_until(&format!("{count} labels are {value}"), || {
            let labels = self.labels();
            labels.len() == count && labels.iter().all(|label| label.ends_with(value))
        });
    }

    #[track_caller]
    pub(crate) fn wait_until_gone(&self, image: &Image) {
        wait_until(&format!("{} is gone", image.name), || !self.has(image));
    }
}

pub(crate) fn airside(args: &[&str]) -> String {
    let output = Command::new(Environment::get().airside).args(args).output();
    let output = output.expect("airside runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

impl Drop for Stage {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "{}",
                std::fs::read_to_string(self.log_path()).unwrap_or_default()
            );
            self.kill_9();
        }
        let own = ["kubectl", "-n", &self.namespace, "delete"];
        // The next test's agent must not find sets of this one.
        let sets = [&own[..], &["imagesets", "--all"]].concat();
        let namespace = [&own[..], &["namespace", &self.namespace, "--wait=false"]].concat();
        let _ = self.cluster.try_ask(&sets);
        let _ = self.cluster.try_ask(&namespace);
        let mut command = self.agent_command();
        self.kill_9();
        let _ = command.arg("--clean").stderr(Stdio::null()).status();
    }
}
