//! A namespace of a real cluster, and servers whose steps run there.

// Each test binary uses its own part of this.
pub(crate) mod checks;
pub(crate) mod held;
pub(crate) mod outage;
pub(crate) mod teams;

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    process::Command,
};

use airside_scenarios::{Environment, Fly, Output, Server, ServerOptions, wait_until};
use serde_json::Value;
use tempfile::TempDir;

/// The worker, and the tag that brings a step there.
pub(crate) const WORKER: &str = "pods";

/// A namespace of its own, with exactly the rights that Airside asks for.
pub(crate) struct Namespace {
    pub(crate) name: String,
    pub(crate) host: IpAddr,
    pub(crate) cluster: Cluster,
    kubeconfig: PathBuf,
    _home: TempDir,
}

impl Namespace {
    /// Nothing where no cluster is offered.
    pub(crate) fn offered() -> Option<Self> {
        if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
            return None;
        }
        Some(Self::of(Cluster::default()))
    }

    fn of(cluster: Cluster) -> Self {
        let home = tempfile::tempdir().unwrap();
        let name = format!("test-{:08x}", rand::random::<u32>());
        let kubeconfig = home.path().join("kubeconfig");
        cluster.ask(&["minimal-kubeconfig", &name, kubeconfig.to_str().unwrap()]);
        let host = cluster.ask(&["host-ip"]).trim().parse();
        Self {
            name,
            host: host.expect("an address"),
            cluster,
            kubeconfig,
            _home: home,
        }
    }

    /// Returns a namespace as [`Namespace::offered`] does, for tests that take nodes and the API
    /// server away.
    pub(crate) fn to_break() -> Option<Self> {
        let allowed = std::env::var("AIRSIDE_TEST_OUTAGE").as_deref() == Ok("1");
        if allowed { Self::offered() } else { None }
    }

    /// One of another cluster, which is there only to be lost.
    pub(crate) fn of_second_cluster() -> Option<Self> {
        let name = std::env::var("AIRSIDE_TEST_SECOND_CLUSTER").ok()?;
        Some(Self::of(Cluster(Some(name))))
    }

    /// Makes the namespace again after it was deleted, with a new account.
    pub(crate) fn make_again(&self) {
        let file = self.kubeconfig.to_str().unwrap();
        self.cluster.ask(&["minimal-kubeconfig", &self.name, file]);
    }

    /// A server with this machine and the namespace as workers.
    pub(crate) fn server(&self) -> Server {
        self.server_with("")
    }

    /// Starts a server with further settings of the target.
    pub(crate) fn server_with(&self, settings: &str) -> Server {
        self.server_with_args(settings, &[])
    }

    /// Starts a server with further settings of the target and further arguments.
    pub(crate) fn server_with_args(&self, settings: &str, args: &[&str]) -> Server {
        self.server_of(&self.target(WORKER, settings), args)
    }

    /// A server whose only worker is the namespace, for steps without tags.
    pub(crate) fn server_alone(&self, settings: &str, args: &[&str]) -> Server {
        let target = self.bare_target(WORKER, settings);
        self.server_of(&target, &[args, &["--local-worker=false"]].concat())
    }

    fn server_of(&self, target: &str, args: &[&str]) -> Server {
        let file = self
            .kubeconfig
            .with_file_name(format!("targets-{:08x}.yml", rand::random::<u32>()));
        fs::write(&file, format!("targets:\n{target}")).unwrap();
        // Shims of both workers must reach the hub: those here on loopback, pods on the bridge.
        ServerOptions::new()
            .hub_ip(Ipv4Addr::UNSPECIFIED.into())
            .args(["--targets", file.to_str().unwrap()])
            // What is left of builds would stay for people otherwise.
            .args(["--keep-failed", "0"])
            .args(args.iter().copied())
            .start()
    }

    /// This namespace in a file of targets, as a worker named like its tag.
    pub(crate) fn target(&self, worker: &str, settings: &str) -> String {
        let settings =
            format!("  tags: [{worker}]\n  host_image: airside.local/busybox:dev\n{settings}");
        self.bare_target(worker, &settings)
    }

    fn bare_target(&self, worker: &str, settings: &str) -> String {
        format!(
            "- name: {worker}\n  kubeconfig: {}\n  namespace: {}\n  hub_host: {}\n  \
             default_requests: {{cpu: 10m, memory: 16Mi}}\n{settings}",
            self.kubeconfig.display(),
            self.name,
            self.host,
        )
    }

    /// Returns the kubeconfig of this namespace's account.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        let namespaced = ["kubectl", "-n", &self.name];
        self.cluster.ask(&[&namespaced[..], args].concat())
    }

    /// Gives the account the rights that images with a login take.
    pub(crate) fn allow_pull_secrets(&self) {
        let rights = ["k8s", "rbac", "--feature", "pull-secrets"];
        let output = Command::new(Environment::get().airside)
            .args(rights)
            .args(["--namespace", &self.name])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let file = self.kubeconfig.with_file_name("rights.yml");
        fs::write(&file, output.stdout).unwrap();
        self.kubectl(&["apply", "-f", file.to_str().unwrap()]);
    }

    /// The names of the pods that are there, but for one that looks at a node.
    pub(crate) fn pods(&self) -> Vec<String> {
        let listed = self.kubectl(&["get", "pods", "-l", "!airside.dev/probe", "-o", "name"]);
        listed
            .lines()
            .map(|line| line.trim_start_matches("pod/").to_owned())
            .collect()
    }

    #[track_caller]
    pub(crate) fn wait_until_no_pods(&self) {
        wait_until("no pod is left", || self.pods().is_empty());
    }

    /// Waits for the one pod that is there, and for something about it.
    #[track_caller]
    pub(crate) fn pod(&self, what: &str, path: &str, fits: impl Fn(&str) -> bool) -> String {
        airside_scenarios::wait_for(what, || {
            let [pod] = <[String; 1]>::try_from(self.pods()).ok()?;
            let query = [
                "get",
                "pod",
                &pod,
                "--ignore-not-found",
                "-o",
                &format!("jsonpath={path}"),
            ];
            fits(&self.kubectl(&query)).then_some(pod)
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.wait_until_no_pods();
        }
        let delete = ["kubectl", "delete", "namespace", &self.name, "--wait=false"];
        let _ = self.cluster.try_ask(&delete);
    }
}

/// A cluster of `dev/cluster`: the one that `CLUSTER` names, or another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster(Option<String>);

impl Cluster {
    #[track_caller]
    pub(crate) fn ask(&self, args: &[&str]) -> String {
        match self.try_ask(args) {
            Ok(said) => said,
            Err(words) => panic!("dev/cluster {args:?}: {words}"),
        }
    }

    pub(crate) fn try_ask(&self, args: &[&str]) -> Result<String, String> {
        airside_scenarios::ask_cluster(self.0.as_deref(), args)
    }
}

/// Asks `dev/cluster`, which knows the cluster by `CLUSTER`.
#[track_caller]
pub(crate) fn cluster(args: &[&str]) -> String {
    Cluster::default().ask(args)
}

/// A worker's field as the API shows it; nothing if it is not listed.
pub(crate) fn worker_field(
    server: &Server,
    fly: &Fly,
    worker: &str,
    field: &str,
) -> Option<String> {
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let (_, listed) = server.http("GET", "/api/v1/workers", &headers, "");
    let workers: Vec<Value> = serde_json::from_str(&listed).unwrap();
    let worker = workers.iter().find(|it| it["name"] == worker)?;
    Some(worker[field].as_str().unwrap_or_default().to_owned())
}

/// A pipeline of one job `build` with one task `work`, in a pod.
pub(crate) fn one_task(script: &str) -> String {
    format!(
        "jobs:\n- name: build\n  plan:\n{}",
        task("work", script, "")
    )
}

/// A task that runs bash in a pod.
pub(crate) fn task(name: &str, script: &str, more: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!(
        "  - task: {name}\n    tags: [{WORKER}]\n    config:\n      platform: linux\n      \
         image_resource: {{type: host, source: {{}}}}\n{more}      run: {{path: bash, args: [-c, {script}]}}\n"
    )
}

/// Returns the output of a build without the choice of workers: it is equal on every runtime.
pub(crate) fn printed(output: &Output) -> String {
    let lines = output.lines();
    let shown = lines
        .iter()
        .filter(|line| !line.starts_with("selected worker:"));
    shown.map(|line| format!("{line}\n")).collect()
}
