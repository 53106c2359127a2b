//! The rules on a real cluster: run with `AIRSIDE_TEST_CLUSTER=1`, `CLUSTER` and `KUBECONFIG`, as
//! `make test-cluster` does.

use std::{
    collections::BTreeMap, io::Write as _, net::IpAddr, path::Path, process::Command, sync::Arc,
};

use airside_conformance::{CauseName, Ground, Site};
use airside_hub::{Proofs, Unproven};
use airside_model::{Handle, InstallationId};
use airside_runtime::{AnyRuntime, Image, PlacementSpec};
use airside_runtime_kubernetes::{KubeRuntime, targets};
use airside_store::Container;
use async_trait::async_trait;

/// A namespace of its own would slow every rule down; installations keep rules apart.
const NAMESPACE: &str = "default";

struct Cluster {
    kubeconfig: String,
    host: IpAddr,
    proofs: Arc<KubeProofs>,
}

/// Tokens are judged by the runtime that stands on the ground's own installation.
#[derive(Default)]
struct KubeProofs(parking_lot::RwLock<Option<Arc<KubeRuntime>>>);

/// Time that a pod has to end by itself when it is evicted.
const GRACE_SECONDS: u32 = 10;

impl Cluster {
    fn offered() -> Option<Arc<dyn Site>> {
        if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
            return None;
        }
        // Several tests in one process come here.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let kubeconfig = std::env::var("KUBECONFIG").expect("KUBECONFIG names the cluster");
        let host = cluster(&["host-ip"]).trim().parse().expect("an address");
        Some(Arc::new(Self {
            kubeconfig,
            host,
            proofs: Arc::default(),
        }))
    }
}

/// Asks `dev/cluster`, which knows the cluster by `CLUSTER`.
fn cluster(args: &[&str]) -> String {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dev/cluster");
    let output = Command::new(tool)
        .args(args)
        .output()
        .expect("dev/cluster runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "dev/cluster {args:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

#[async_trait]
impl Site for Cluster {
    async fn open(&self, ground: &Ground, installation: &InstallationId) -> AnyRuntime {
        let text = format!(
            "targets:\n- name: cluster\n  kubeconfig: {}\n  namespace: {NAMESPACE}\n  hub_host: {}\n  \
             grace_period_seconds: {GRACE_SECONDS}\n",
            self.kubeconfig, self.host
        );
        let target = targets::parse("targets.yml".as_ref(), &text)
            .expect("a target")
            .remove(0);
        let runtime = KubeRuntime::connect(target, installation.clone())
            .await
            .expect("a runtime");
        let runtime = Arc::new(runtime);
        if *installation == ground.installation {
            *self.proofs.0.write() = Some(runtime.clone());
        }
        runtime
    }

    fn proofs(&self) -> Arc<dyn Proofs> {
        self.proofs.clone()
    }

    fn hub_ip(&self) -> IpAddr {
        self.host
    }

    fn image(&self) -> Image {
        Image::registry("airside.local/busybox:dev")
    }

    fn missing_image(&self) -> (Image, String) {
        let reference = "airside.local/NO-such-image".to_owned();
        (Image::registry(&reference), reference)
    }

    fn cannot_arise(&self, cause: CauseName) -> Option<&'static str> {
        match cause {
            CauseName::Killed => Some("only an administrator of the node could kill the process"),
            CauseName::ImageRefused => Some("the nodes have every image that the cluster knows"),
            CauseName::CannotStart => Some("a node that starts nothing would be needed"),
            CauseName::Pulling => Some("the kubelet reports no progress of a pull"),
            CauseName::OutOfMemory => {
                Some("the kernel ends the step's process before the shim, which reports it")
            }
            CauseName::NoRoom | CauseName::Evicted => None,
        }
    }

    fn provoke(&self, cause: CauseName, spec: &mut PlacementSpec) {
        if cause == CauseName::NoRoom {
            spec.limits.memory = Some(1 << 50);
        }
    }

    async fn end_by(&self, _: CauseName, handle: &Handle) {
        let eviction = serde_json::json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": handle.as_str(), "namespace": NAMESPACE},
        });
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        write!(file, "{eviction}").expect("a file");
        let at = format!("/api/v1/namespaces/{NAMESPACE}/pods/{handle}/eviction");
        let file = file.path().to_str().expect("a plain path");
        cluster(&["kubectl", "create", "--raw", &at, "-f", file]);
    }

    async fn labels(&self, handle: &Handle) -> Option<BTreeMap<String, String>> {
        let query = [
            "-n",
            NAMESPACE,
            "get",
            "pod",
            handle.as_str(),
            "-o",
            "jsonpath={.metadata.labels}",
        ];
        let labels = cluster(&[&["kubectl"][..], &query].concat());
        Some(serde_json::from_str(&labels).expect("labels"))
    }

    fn leave(&self, _: &InstallationId) {}
}

#[async_trait]
impl Proofs for KubeProofs {
    async fn verify(&self, container: &Container, proof: Option<&str>) -> Result<(), Unproven> {
        let runtime = self
            .0
            .read()
            .clone()
            .expect("the runtime is opened before the hub");
        let Some(proof) = proof else {
            return Err(Unproven {
                reason: "no proof".to_owned(),
                retry: false,
            });
        };
        let verified = runtime
            .verify_proof(&container.handle, container.uid.as_deref(), proof)
            .await;
        verified.map_err(|error| Unproven {
            reason: error.to_string(),
            retry: error.is_transient(),
        })
    }
}

airside_conformance::rules!(Cluster::offered());
