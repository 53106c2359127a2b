//! Tries each shape of pod without making it: Pod Security, webhooks and limit ranges answer as
//! they will for steps. A shape that the target itself does not offer is not tried.

use airside_model::{BuildId, Handle, StepKind, StepLabels, VolumeId, task::ContainerLimits};
use airside_runtime::{ClaimEnvironment, Image, Lack, PlacementSpec, Shape};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::PostParams};

use super::{Preflight, Unknown};
use crate::pod::pod_from;

impl Preflight {
    pub(super) async fn refused_shapes(&self) -> Result<Vec<Lack>, Unknown> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.target.namespace);
        let how = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        // The image is never pulled: the pod is not made.
        let registry = self.target.registry.as_ref();
        let published = registry.map(|registry| format!("{registry}/preflight"));
        let mut lacks = Vec::new();
        for shape in Shape::ALL {
            let Ok(pod) = pod_from(&self.example(shape), &self.target, published.as_deref()) else {
                continue;
            };
            let doing = format!("a pod for {shape} is refused");
            let why = match self.in_time(pods.create(&how, &pod)).await? {
                Ok(_) => continue,
                Err(kube::Error::Api(status)) if status.is_already_exists() => continue,
                Err(error) => match self.refusal(&doing, &error) {
                    Ok(why) => why,
                    // A quota, say: that it is full now says nothing about the shape.
                    Err(Unknown) => continue,
                },
            };
            let shapes = vec![shape];
            lacks.push(Lack { shapes, why });
            if shape == Shape::Plain {
                // Every other shape is refused for the same reason.
                break;
            }
        }
        Ok(lacks)
    }

    /// A step of which nothing matters but its shape.
    pub(super) fn example(&self, shape: Shape) -> PlacementSpec {
        let labels = StepLabels {
            team: "main".to_owned(),
            team_id: airside_model::TeamId(1),
            pipeline: None,
            job: None,
            build: BuildId(0),
            build_name: "preflight".to_owned(),
            step: "preflight".to_owned(),
            kind: StepKind::Task,
            attempt: 1,
            attempts: Vec::new(),
        };
        PlacementSpec {
            handle: Handle::new("airside-preflight"),
            installation: self.installation.clone(),
            labels,
            image: match shape {
                Shape::Assembled => Image::Volume {
                    volume: VolumeId::new("preflight"),
                },
                _ => Image::registry(self.target.shim_image.as_str()),
            },
            claim: ClaimEnvironment {
                hub_port: 1,
                hub_pin: String::new(),
                token: String::new(),
            },
            mounts: Vec::new(),
            limits: ContainerLimits::default(),
            privileged: shape == Shape::Privileged,
            hermetic: shape == Shape::Hermetic,
            user: None,
            tags: Vec::new(),
            native_type: None,
        }
    }
}
