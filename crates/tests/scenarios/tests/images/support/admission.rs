//! Admission as it is installed, with sets and labels that the tests write themselves: agents and
//! operator are elsewhere.

// Each test binary uses its own part of this.
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use airside_oci::Reference;
use airside_scenarios::{Environment, ask_cluster, wait_until};
use serde_json::{Value, json};

/// Namespace of the installation.
pub(crate) const HOME: &str = "airside-images";
pub(crate) const DEPLOYMENT: &str = "deployment/airside-images-admission";
/// Label of the admission webhook's pods.
pub(crate) const OURS: &str = "app.kubernetes.io/name=airside-images-admission";
const IMAGE: &str = "airside.local/airside:dev";
/// Image of the pods of these tests; it is on every node.
pub(crate) const BUSYBOX: &str = "airside.local/busybox:dev";

/// Held by every test; by one that takes admission away, alone.
static IN_USE: RwLock<()> = RwLock::new(());

/// Nothing where no cluster is offered; otherwise admission is installed in it, and stays while
/// this is held.
pub(crate) fn offered() -> Option<RwLockReadGuard<'static, ()>> {
    is_offered().then(|| IN_USE.read().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the installation for a test that takes it away, and brings it back.
pub(crate) fn offered_alone() -> Option<RwLockWriteGuard<'static, ()>> {
    is_offered().then(|| IN_USE.write().unwrap_or_else(PoisonError::into_inner))
}

fn is_offered() -> bool {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
        return false;
    }
    INSTALLED.get_or_init(install);
    true
}

/// Waits until all replicas answer.
pub(crate) fn wait_until_it_answers() {
    kubectl(&[
        "-n",
        HOME,
        "rollout",
        "status",
        DEPLOYMENT,
        "--timeout=120s",
    ]);
}

fn install() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}});
    apply(&namespace.to_string());
    apply(&airside(&["images", "install"]));
    let print = [
        "images",
        "admission",
        "--print-manifest",
        "--image",
        IMAGE,
        "--workloads",
    ];
    apply(&airside(&print));
    // The image may be another than that of an earlier run, under the same name.
    kubectl(&["-n", HOME, "rollout", "restart", DEPLOYMENT]);
    wait_until_it_answers();
    wait_until("the API server is told whom to trust", || {
        let hook = get(
            None,
            "mutatingwebhookconfiguration",
            "airside-images-admission",
        );
        let hooks = hook["webhooks"].as_array().unwrap();
        hooks.len() == 4
            && hooks
                .iter()
                .all(|hook| hook["clientConfig"]["caBundle"].is_string())
    });
}

pub(crate) fn airside(args: &[&str]) -> String {
    let output = Command::new(Environment::get().airside).args(args).output();
    let output = output.expect("airside runs");
    assert!(output.status.success(), "airside {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn command(args: &[&str]) -> Command {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dev/cluster");
    let mut command = Command::new(tool);
    command.arg("kubectl").args(args);
    command
}

/// Returns the folder of a node's disk, as this machine sees it.
pub(crate) fn state_of(node: &str) -> PathBuf {
    let kubeconfig = ask_cluster(None, &["kubeconfig"]).unwrap();
    Path::new(kubeconfig.trim()).with_file_name(node)
}

pub(crate) fn try_kubectl(args: &[&str]) -> Result<String, String> {
    ask_cluster(None, &[&["kubectl"], args].concat())
}

#[track_caller]
pub(crate) fn kubectl(args: &[&str]) -> String {
    match try_kubectl(args) {
        Ok(said) => said,
        Err(words) => panic!("kubectl {args:?}: {words}"),
    }
}

fn fed(args: &[&str], text: &str) -> Result<String, String> {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("dev/cluster runs");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[track_caller]
pub(crate) fn apply(text: &str) {
    let args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    if let Err(words) = fed(&args, text) {
        panic!("kubectl apply: {words}");
    }
}

/// Applies an object by another account, which may not even read.
pub(crate) fn try_apply_as(account: &str, object: &Value) -> Result<String, String> {
    let args = [
        "apply",
        account,
        "--server-side",
        "--force-conflicts",
        "--validate=false",
        "-f",
        "-",
    ];
    fed(&args, &object.to_string())
}

/// Creates an object; how it looks afterwards.
#[track_caller]
pub(crate) fn create(object: &Value) -> Value {
    match fed(&["create", "-o", "json", "-f", "-"], &object.to_string()) {
        Ok(made) => serde_json::from_str(&made).unwrap(),
        Err(words) => panic!("kubectl create: {words}"),
    }
}

/// Returns an object as it would be if it were created.
#[track_caller]
pub(crate) fn dry_run(object: &Value) -> Value {
    let args = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
    match fed(&args, &object.to_string()) {
        Ok(made) => serde_json::from_str(&made).unwrap(),
        Err(words) => panic!("kubectl create --dry-run: {words}"),
    }
}

#[track_caller]
pub(crate) fn get(namespace: Option<&str>, kind: &str, name: &str) -> Value {
    let mut args = vec!["get", kind, name, "-o", "json"];
    if let Some(namespace) = namespace {
        args.extend(["-n", namespace]);
    }
    serde_json::from_str(&kubectl(&args)).unwrap()
}

/// A namespace of its own, with sets in it.
pub(crate) struct Team {
    pub(crate) name: String,
}

impl Team {
    pub(crate) fn new() -> Self {
        let name = format!("test-{:08x}", rand::random::<u32>());
        kubectl(&["create", "namespace", &name]);
        // Pods need it, and it comes a little later.
        wait_until("there is a service account", || {
            try_kubectl(&["-n", &name, "get", "serviceaccount", "default"]).is_ok()
        });
        Self { name }
    }

    /// A set of one image that has been resolved, and the label of nodes that have it.
    pub(crate) fn set(&self, image: &str, placement: &Value) -> String {
        Self::set_in(&self.name, image, placement)
    }

    /// Makes a set in another namespace.
    pub(crate) fn set_in(namespace: &str, image: &str, placement: &Value) -> String {
        let digest = format!("sha256:{:064x}", rand::random::<u128>());
        let name = format!("set-{:08x}", rand::random::<u32>());
        let meta = json!({"name": name, "namespace": namespace});
        let mut set = json!({"apiVersion": "images.airside.dev/v1alpha1", "kind": "ImageSet", "metadata": meta});
        set["spec"] = json!({"images": [{"image": image}], "placement": placement});
        create(&set);
        let name_of: Reference = image.parse().unwrap();
        let content = format!("{}@{digest}", name_of.repository());
        let label = label(&content);
        let labels = json!({name_of.to_string(): label, content: label});
        let status = json!({"status": {"counts": {"images": 1, "nodes": 1}, "labels": labels, "images": [
            {"image": name_of.to_string(), "digest": digest, "state": "found"}]}});
        let patch = status.to_string();
        kubectl(&[
            "-n",
            namespace,
            "patch",
            "imageset",
            &name,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
        label
    }

    /// Returns a pod as admission changes it, without keeping it: asked until admission knows the
    /// set.
    pub(crate) fn tried(&self, spec: &Value, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let pod = self.pod("tried", spec);
        airside_scenarios::wait_for(what, || {
            let made = dry_run(&pod);
            is_it(&made).then_some(made)
        })
    }

    pub(crate) fn pod(&self, name: &str, spec: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": self.name}, "spec": spec})
    }

    /// True if an event of this reason was written about the object.
    pub(crate) fn was_told(&self, kind: &str, object: &str, reason: &str) -> bool {
        let about =
            format!("involvedObject.kind={kind},involvedObject.name={object},reason={reason}");
        let found = kubectl(&[
            "-n",
            &self.name,
            "get",
            "events",
            "--field-selector",
            &about,
            "-o",
            "name",
        ]);
        !found.trim().is_empty()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let _ = try_kubectl(&["delete", "namespace", &self.name, "--wait=false"]);
    }
}

/// Returns the label that a node agent makes of a name with a digest.
pub(crate) fn label(content: &str) -> String {
    airside_image_rules::label::key(&content.parse().unwrap())
}

/// A pod of one container that sleeps. Only with another pull policy does it start here.
pub(crate) fn sleeper(image: &str) -> Value {
    json!({"terminationGracePeriodSeconds": 0, "containers": [
        {"name": "main", "image": image, "imagePullPolicy": "Always", "command": ["sleep", "600"]}]})
}

/// Makes a pod that admission leaves alone: no registry has its image.
pub(crate) fn untouched(image: &str) -> Value {
    let mut spec = sleeper(image);
    spec["containers"][0]["imagePullPolicy"] = json!("IfNotPresent");
    spec
}

pub(crate) fn node() -> String {
    nodes().remove(0)
}

/// The first one first.
pub(crate) fn nodes() -> Vec<String> {
    let names = kubectl(&["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]);
    names.split_whitespace().map(str::to_owned).collect()
}

const TERMS: &str = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";

/// True if a pod, or a template, prefers nodes that have this label.
pub(crate) fn prefers(object: &Value, label: &str) -> bool {
    let terms = object.pointer(TERMS).and_then(Value::as_array);
    terms.into_iter().flatten().any(|term| {
        let asked = &term["preference"]["matchExpressions"][0];
        asked["key"] == label && asked["values"] == json!(["present"])
    })
}

/// True if a pod goes only to nodes that have this label.
pub(crate) fn requires(pod: &Value, label: &str) -> bool {
    pod["spec"]["nodeSelector"][label] == "present"
}

/// Stops all replicas.
pub(crate) fn stop_all() {
    kubectl(&["-n", HOME, "scale", DEPLOYMENT, "--replicas=0"]);
    let gone = ["wait", "pods", "--for=delete", "-l", OURS];
    kubectl(&[&["-n", HOME], &gone[..], &["--timeout=60s"]].concat());
}
