//! A registry that counts, and an installation that makes containerd ask its own node first.

use std::{
    io::{Read as _, Write as _},
    net::{IpAddr, TcpStream},
    path::PathBuf,
};

use airside_scenarios::{
    Environment,
    counting_registry::{CountingRegistry, Pushed, tar},
    wait_until,
};
use serde_json::{Value, json};

use super::operator::{NAMESPACE, Stage};

pub(crate) struct MirrorHouse {
    pub(crate) registry: CountingRegistry,
    pub(crate) stage: Stage,
    /// Options of `airside images install`.
    options: Vec<String>,
}

impl MirrorHouse {
    /// Nothing where no cluster is offered. Nothing is installed yet.
    pub(crate) fn offered() -> Option<Self> {
        let stage = Stage::offered()?;
        Some(Self {
            registry: CountingRegistry::start_at(host(&stage)),
            stage,
            options: Vec::new(),
        })
    }

    /// Installed so, with the registry mirrored, and everything of it there.
    pub(crate) fn with(options: &[&str]) -> Option<Self> {
        let mut house = Self::offered()?;
        let mirrored = format!(
            "--mirror-registry={}={}",
            house.host(),
            house.registry.url()
        );
        house.install(&[&[mirrored.as_str()], options].concat());
        Some(house)
    }

    pub(crate) fn install(&mut self, options: &[&str]) {
        self.options = options.iter().map(|&it| it.to_owned()).collect();
        self.stage.install_all(options);
        let has_mirror = !options.contains(&"--mirror-nodes-alone");
        if has_mirror {
            self.rolled_out("deployment/airside-images-mirror");
        }
        self.rolled_out("deployment/airside-images-admission");
        self.rolled_out("daemonset/airside-node");
        let sees = format!("nodes={}", self.nodes().len());
        wait_until("agents know each other", || {
            self.agents()
                .iter()
                .all(|agent| self.log(agent).contains(&sees))
        });
        if !options.contains(&"--no-mirror-files") {
            wait_until("agents have tried whether they are asked", || {
                self.agents()
                    .iter()
                    .all(|agent| self.log(agent).contains("used=\"True\""))
            });
        }
    }

    /// Returns the registry's part of image names.
    pub(crate) fn host(&self) -> String {
        self.registry.address.to_string()
    }

    /// `kubectl` in the installation's namespace.
    pub(crate) fn inside(&self, args: &[&str]) -> String {
        self.stage.kubectl(&[&["-n", NAMESPACE], args].concat())
    }

    /// Runs kubectl in the namespace of the test's pods.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        let namespace = self.stage.namespace.as_str();
        self.stage.kubectl(&[&["-n", namespace], args].concat())
    }

    pub(crate) fn rolled_out(&self, what: &str) {
        self.inside(&["rollout", "status", what, "--timeout=180s"]);
    }

    pub(crate) fn nodes(&self) -> Vec<String> {
        let listed = self.stage.kubectl(&["get", "nodes", "-o", "name"]);
        listed
            .lines()
            .map(|line| line.trim_start_matches("node/").to_owned())
            .collect()
    }

    pub(crate) fn agents(&self) -> Vec<String> {
        let label = "app.kubernetes.io/name=airside-node";
        let listed = self.inside(&["get", "pods", "-l", label, "-o", "name"]);
        listed.lines().map(str::to_owned).collect()
    }

    pub(crate) fn log(&self, pod: &str) -> String {
        let coloured = self.inside(&["logs", pod]);
        let mut parts = coloured.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        let plain = parts.filter_map(|part| part.split_once('m'));
        first + &plain.map(|(_, text)| text).collect::<String>()
    }

    /// Pushes a small system with a layer of this many bytes that no node has seen before.
    pub(crate) fn push(&self, name: &str, bytes: usize) -> Pushed {
        let system = std::fs::read(&Environment::get().rootfs).unwrap();
        self.registry
            .push(name, "1", &[system, tar("noise", &noise(bytes))])
    }

    /// A pod of an image of the registry, on one node.
    pub(crate) fn pod(&self, pod: &str, image: &str, node: &str, secret: Option<&str>) {
        self.pod_of(pod, &format!("{}/{image}", self.host()), node, secret);
    }

    pub(crate) fn pod_of(&self, pod: &str, image: &str, node: &str, secret: Option<&str>) {
        let object = self.pod_object(pod, image, node, secret);
        self.stage.apply_text(&object.to_string());
    }

    pub(crate) fn pod_object(
        &self,
        pod: &str,
        image: &str,
        node: &str,
        secret: Option<&str>,
    ) -> Value {
        let secrets: Vec<_> = secret.iter().map(|name| json!({"name": name})).collect();
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "namespace": self.stage.namespace},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node}, "imagePullSecrets": secrets, "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": image, "command": ["sleep", "3600"]}],
            },
        })
    }

    pub(crate) fn field(&self, pod: &str, path: &str) -> String {
        self.kubectl(&["get", "pod", pod, "-o", &format!("jsonpath={path}")])
    }

    #[track_caller]
    pub(crate) fn runs(&self, pod: &str) {
        wait_until(&format!("{pod} runs"), || {
            self.field(pod, "{.status.phase}") == "Running"
        });
    }

    /// The status of a request to an agent's port for other agents.
    pub(crate) fn ask_agent(&self, agent: &str, path: &str, token: Option<&str>) -> u16 {
        let path_of_ip = "jsonpath={.status.podIP}";
        let address = self.inside(&["get", agent, "-o", path_of_ip]);
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        ask(&address, 5002, path, &token.unwrap_or_default()).0
    }

    /// containerd's folders of registries, as this machine sees them.
    pub(crate) fn registries(&self) -> Vec<PathBuf> {
        let etcd = PathBuf::from(self.stage.cluster.ask(&["etcd-data"]).trim());
        let state = etcd.parent().unwrap();
        let folder = |node: &String| state.join(node).join("kept/etc/containerd/certs.d");
        self.nodes().iter().map(folder).collect()
    }

    /// True if any node's containerd has a file for this host.
    pub(crate) fn has_files(&self, host: &str) -> bool {
        let folders = self.registries();
        folders.iter().any(|folder| folder.join(host).exists())
    }

    /// Takes everything away, also what agents wrote on nodes, as the docs say it.
    pub(crate) fn end(self) {
        self.kubectl(&["delete", "pod", "--all", "--grace-period=1"]);
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let (own, of_agents) = match options.iter().position(|&it| it == "--") {
            Some(at) => options.split_at(at),
            None => (&options[..], &[][..]),
        };
        let clean = [own, &["--clean"], of_agents].concat();
        self.stage.install_all(&clean);
        self.rolled_out("daemonset/airside-node");
        assert!(!self.has_files(&self.host()), "files are left");
        self.stage.uninstall(&options);
    }
}

/// At which the cluster reaches this process.
pub(crate) fn host(stage: &Stage) -> IpAddr {
    stage.host.parse().unwrap()
}

/// Bytes that no node has seen before.
pub(crate) fn noise(bytes: usize) -> Vec<u8> {
    let words = 0..bytes / 8;
    words
        .flat_map(|_| rand::random::<u64>().to_le_bytes())
        .collect()
}

/// The status and the body of an answer.
pub(crate) fn ask(address: &str, port: u16, path: &str, headers: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect((address, port)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer[end + 4..].to_vec())
}
