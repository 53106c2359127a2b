//! Common parts of the tests against a real cluster.

// Each test binary uses its own part of this.
#![allow(dead_code, unreachable_pub, clippy::panic, clippy::unwrap_used)]

use std::{process::Command, time::Duration};

use airside_model::{
    BuildId, Handle, InstallationId, PlanId, StepKind, StepLabels, task::ContainerLimits,
};
use airside_runtime::{ClaimEnvironment, Image, Observation, Observed, PlacementSpec};
use airside_runtime_kubernetes::{KubeRuntime, Target, targets};
use futures::{StreamExt, stream::BoxStream};

pub const BUSYBOX: &str = "airside.local/busybox:dev";

/// A runtime of an installation of its own, so that runs do not meet.
pub struct Cluster {
    pub kubeconfig: String,
    pub installation: InstallationId,
    pub runtime: KubeRuntime,
}

impl Cluster {
    /// Nothing where no cluster is offered.
    pub async fn offered(test: &str) -> Option<Self> {
        if std::env::var("AIRSIDE_TEST_CLUSTER").as_deref() != Ok("1") {
            return None;
        }
        let kubeconfig = std::env::var("KUBECONFIG").expect("KUBECONFIG names the cluster");
        let installation = InstallationId(format!("{test}-{}", std::process::id()));
        let runtime = KubeRuntime::connect(target(&kubeconfig), installation.clone())
            .await
            .unwrap();
        Some(Self {
            kubeconfig,
            installation,
            runtime,
        })
    }

    pub fn spec(&self, image: Image, build: i64) -> PlacementSpec {
        let labels = StepLabels {
            team: "main".to_owned(),
            team_id: airside_model::TeamId(1),
            pipeline: Some("pipe line".to_owned()),
            job: Some("unit".to_owned()),
            build: BuildId(build),
            build_name: build.to_string(),
            step: "step".to_owned(),
            kind: StepKind::Task,
            attempt: 1,
            attempts: Vec::new(),
        };
        PlacementSpec {
            handle: Handle::derive(&self.installation, labels.build, &PlanId::new("1"), 1, 1),
            installation: self.installation.clone(),
            labels,
            image,
            claim: ClaimEnvironment {
                hub_port: 1,
                hub_pin: "00".to_owned(),
                token: "to$(ken".to_owned(),
            },
            mounts: Vec::new(),
            limits: ContainerLimits {
                cpu: Some(64),
                memory: Some(64 << 20),
            },
            privileged: false,
            hermetic: false,
            user: None,
            tags: Vec::new(),
            native_type: None,
        }
    }

    pub fn kubectl(&self, args: &[&str]) -> String {
        let output = Command::new("kubectl")
            .args(["--kubeconfig", &self.kubeconfig])
            .args(args)
            .output()
            .expect("kubectl is in PATH");
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }
}

pub fn target(kubeconfig: &str) -> Target {
    let text = format!(
        "targets:\n- name: real\n  kubeconfig: {kubeconfig}\n  namespace: default\n  \
         hub_host: 127.0.0.1\n  shim_image: airside.local/shim:dev\n"
    );
    targets::parse("targets.yml".as_ref(), &text)
        .unwrap()
        .remove(0)
}

pub fn busybox() -> Image {
    Image::registry(BUSYBOX)
}

/// The first observation of a handle that fits.
pub async fn wait_for(
    stream: &mut BoxStream<'static, Observation>,
    handle: &Handle,
    fits: impl Fn(&Observed) -> bool,
) -> Observed {
    let mut seen = Vec::new();
    let found = async {
        while let Some(observation) = stream.next().await {
            if &observation.handle == handle && fits(&observation.observed) {
                return Some(observation.observed);
            }
            seen.push(observation);
        }
        None
    };
    let found = tokio::time::timeout(Duration::from_secs(90), found).await;
    found
        .ok()
        .flatten()
        .unwrap_or_else(|| panic!("not seen; seen: {seen:#?}"))
}
