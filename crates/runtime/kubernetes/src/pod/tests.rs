use std::{path::Path, time::Duration};

use airside_model::{
    BuildId, Handle, InstallationId, StepKind, StepLabels, VolumeId, task::ContainerLimits,
};
use airside_runtime::ClaimEnvironment;

use super::*;
use crate::targets;

pub(crate) fn spec() -> PlacementSpec {
    PlacementSpec {
        handle: Handle::new("s-0123456789abcdef0123456789abcdef"),
        installation: InstallationId::new("inst-1"),
        labels: StepLabels {
            team: "main".to_owned(),
            team_id: airside_model::TeamId(1),
            pipeline: Some("über/pipeline".to_owned()),
            job: Some("unit".to_owned()),
            build: BuildId(42),
            build_name: "7.1".to_owned(),
            step: "run tests".to_owned(),
            kind: StepKind::Task,
            attempt: 1,
            attempts: Vec::new(),
        },
        image: Image::registry("registry.example/busybox@sha256:00"),
        claim: ClaimEnvironment {
            hub_port: 7443,
            hub_pin: "aabb".to_owned(),
            token: "secret$(HOME)".to_owned(),
        },
        mounts: Vec::new(),
        limits: ContainerLimits {
            cpu: Some(512),
            memory: Some(1 << 20),
        },
        privileged: false,
        hermetic: false,
        user: None,
        tags: Vec::new(),
        native_type: None,
    }
}

pub(crate) fn target(fields: &str) -> Target {
    let text = format!(
        "targets:\n- name: cluster\n  namespace: ci\n  hub_host: hub.example\n  {fields}\n"
    );
    targets::parse(Path::new("targets.yml"), &text)
        .unwrap()
        .remove(0)
}

fn json(pod: &Pod) -> String {
    serde_json::to_string_pretty(pod).unwrap()
}

fn refusal(spec: &PlacementSpec) -> String {
    match pod_for(spec, &target("")) {
        Err(Error::Refused { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_with_an_image_of_its_own() {
    insta::assert_snapshot!(json(&pod_for(&spec(), &target("")).unwrap()));
}

#[test]
fn a_native_resource_on_a_target_with_every_setting() {
    let spec = PlacementSpec {
        image: Image::Shim,
        limits: ContainerLimits::default(),
        labels: StepLabels {
            pipeline: None,
            job: None,
            step: "日本".to_owned(),
            kind: StepKind::Get,
            ..spec().labels
        },
        ..spec()
    };
    let target = Target {
        hub_host: "fd00::1".to_owned(),
        shim_image: "registry.example/shim:1".to_owned(),
        node_selector: [("pool".to_owned(), "ci".to_owned())].into(),
        tolerations: vec![Toleration {
            key: Some("ci".to_owned()),
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        }],
        host_users: true,
        claim_proof: ClaimProof::None,
        grace_period: Duration::from_secs(20),
        ..target("default_requests: {cpu: 1, memory: 1Gi}")
    };
    insta::assert_snapshot!(json(&pod_for(&spec, &target).unwrap()));
}

#[test]
fn type_host_is_the_targets_image() {
    let spec = PlacementSpec {
        image: Image::Host,
        ..spec()
    };
    let pod = pod_for(&spec, &target("host_image: registry.example/tools:1")).unwrap();
    let container = &pod.spec.unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("registry.example/tools:1"));
    assert_eq!(
        container.command,
        Some(vec!["/.airside/bin/airside-shim".to_owned()])
    );

    assert!(
        refusal(&spec).contains("set host_image in its target"),
        "{}",
        refusal(&spec)
    );
}

#[test]
fn what_a_pod_cannot_be_is_refused_in_words() {
    for (spec, expected) in [
        (
            PlacementSpec {
                image: Image::OciLayout {
                    path: "/img".to_owned(),
                },
                ..spec()
            },
            "the folder /img of one machine",
        ),
        (
            PlacementSpec {
                privileged: true,
                ..spec()
            },
            "worker cluster denies: its target says privileged: deny",
        ),
    ] {
        assert!(refusal(&spec).contains(expected), "{}", refusal(&spec));
    }
}

/// The container of a step, and its volumes' names.
fn container(spec: &PlacementSpec) -> (Container, Vec<String>) {
    let pod = pod_for(spec, &target("")).unwrap().spec.unwrap();
    let volumes = pod.volumes.into_iter().flatten();
    let names = volumes.map(|volume| volume.name).collect();
    (pod.containers.into_iter().next().unwrap(), names)
}

fn hermetic() -> PlacementSpec {
    PlacementSpec {
        hermetic: true,
        ..spec()
    }
}

fn assembled() -> PlacementSpec {
    PlacementSpec {
        image: Image::Volume {
            volume: VolumeId::new("v-1"),
        },
        ..spec()
    }
}

#[test]
fn only_steps_that_need_them_get_capabilities_and_their_processes_do_not_keep_them() {
    let both = PlacementSpec {
        hermetic: true,
        ..assembled()
    };
    for (spec, added, profile, room) in [
        (spec(), &[][..], false, false),
        (hermetic(), &["SYS_ADMIN", "NET_ADMIN"], false, false),
        (assembled(), &["SYS_ADMIN"], true, true),
        (both, &["SYS_ADMIN", "NET_ADMIN"], true, true),
    ] {
        let (container, volumes) = container(&spec);
        let context = container.security_context.unwrap();
        let capabilities = context.capabilities.unwrap_or_default();
        assert_eq!(capabilities.add.unwrap_or_default(), added);
        assert_eq!(context.app_armor_profile.is_some(), profile);
        assert_eq!(
            (context.privileged, context.proc_mount),
            (None, None),
            "as everywhere"
        );
        assert_eq!(volumes.contains(&"root".to_owned()), room);
        let value = |name: &str| {
            let mut variables = container.env.iter().flatten();
            variables
                .find(|variable| variable.name == name)?
                .value
                .clone()
        };
        let bounded = !added.is_empty();
        let kept = bounded.then(|| "a80425fb".to_owned());
        assert_eq!(value(env::TASK_CAPABILITIES), kept);
        assert_eq!(value(env::TASK_SECCOMP).is_some(), bounded);
        assert_eq!(value(env::ROOT).is_some(), room);
    }
}

#[test]
fn an_artifact_starts_from_the_shims_image() {
    let (container, _) = container(&assembled());
    assert_eq!(
        container.image.as_deref(),
        Some(airside_kube_objects::DEFAULT_SHIM_IMAGE)
    );
    assert_eq!(
        container.command,
        Some(vec!["/.airside/bin/airside-shim".to_owned()])
    );
}

#[test]
fn without_user_namespaces_nobody_gets_them() {
    let target = target("host_users: true");
    match pod_for(&assembled(), &target) {
        Err(Error::Refused { message, .. }) => {
            let told = message.contains("is an artifact") && message.contains("host_users: true");
            assert!(told, "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert!(pod_for(&spec(), &target).is_ok());
}

#[test]
fn without_user_namespaces_a_policy_holds_hermetic_pods() {
    let held = |spec: &PlacementSpec, target: &Target| {
        let pod = pod_for(spec, target).unwrap();
        let container = pod.spec.unwrap().containers.remove(0);
        let mut variables = container.env.unwrap().into_iter();
        let told = variables.find(|it| it.name == env::NETWORK);
        let capabilities = container.security_context.unwrap().capabilities;
        let label = pod.metadata.labels.unwrap().remove(labels::NETWORK);
        (label, told.and_then(|it| it.value), capabilities.is_some())
    };
    let (shared, own) = (target("host_users: true"), target(""));
    let word = Some("held".to_owned());
    assert_eq!(held(&hermetic(), &shared), (word.clone(), word, false));
    assert_eq!(held(&hermetic(), &own), (None, None, true));
    assert_eq!(held(&spec(), &shared), (None, None, false));
}

#[test]
fn the_token_is_in_no_label_or_annotation() {
    let metadata = serde_json::to_string(&pod_for(&spec(), &target("")).unwrap().metadata).unwrap();
    assert!(!metadata.contains("secret"), "{metadata}");
}

#[test]
fn privileged_is_what_the_target_says() {
    let step = PlacementSpec {
        privileged: true,
        ..spec()
    };
    for (rule, host_users) in [("userns", Some(false)), ("host", None)] {
        let target = target(&format!("privileged: {rule}"));
        let pod = pod_for(&step, &target).unwrap().spec.unwrap();
        assert_eq!(pod.host_users, host_users, "{rule}");
        let context = pod.containers[0].security_context.as_ref().unwrap();
        assert_eq!(context.privileged, Some(true), "{rule}");
        // Others get no more than before.
        let pod = pod_for(&spec(), &target).unwrap().spec.unwrap();
        assert_eq!(pod.host_users, Some(false), "{rule}");
        let context = pod.containers[0].security_context.as_ref().unwrap();
        assert_eq!(context.privileged, None, "{rule}");
    }
}

#[test]
fn without_image_volumes_a_container_brings_the_shim() {
    let target = target("shim: init_container");
    let pod = pod_for(&spec(), &target).unwrap().spec.unwrap();
    let copier = &pod.init_containers.unwrap()[0];
    assert_eq!(
        copier.image.as_deref(),
        Some(airside_kube_objects::DEFAULT_SHIM_IMAGE)
    );
    let to = Some(vec![
        "install".to_owned(),
        "/.airside/bin/airside-shim".to_owned(),
    ]);
    assert_eq!(copier.args, to);
    let mounts = copier.volume_mounts.as_ref().unwrap();
    assert_eq!((mounts.len(), mounts[0].read_only), (1, None), "no proof");
    let step = &pod.containers[0].volume_mounts.as_ref().unwrap()[0];
    assert_eq!((step.name.as_str(), step.read_only), ("shim", Some(true)));
    assert!(pod.volumes.unwrap()[0].empty_dir.is_some());
    // What runs in the shim's own image needs none.
    let native = PlacementSpec {
        image: Image::Shim,
        ..spec()
    };
    let pod = pod_for(&native, &target).unwrap().spec.unwrap();
    assert!(pod.init_containers.is_none());
}

fn artifact() -> PlacementSpec {
    PlacementSpec {
        image: Image::Volume {
            volume: VolumeId::new("v-1"),
        },
        ..spec()
    }
}

#[test]
fn an_artifact_that_nodes_can_pull_is_an_image_like_any_other() {
    let target = target("registry: localhost:5000");
    let reference = "localhost:5000/team/main/artifacts@sha256:00";
    let pod = pod_from(&artifact(), &target, Some(reference)).unwrap();
    let inside = pod.spec.unwrap();
    let step = &inside.containers[0];
    assert_eq!(step.image.as_deref(), Some(reference));
    assert_eq!(step.image_pull_policy.as_deref(), Some("Always"));
    let context = step.security_context.as_ref().unwrap();
    assert!(context.capabilities.is_none() && context.app_armor_profile.is_none());
    let root = step.env.iter().flatten().find(|it| it.name == env::ROOT);
    assert_eq!(root.unwrap().value.as_deref(), Some("/"));
    let roots = inside
        .volumes
        .iter()
        .flatten()
        .filter(|it| it.name == powers::ROOT_VOLUME);
    assert_eq!(roots.count(), 0);
}

#[test]
fn what_is_pulled_takes_no_user_namespace() {
    let target = target("registry: localhost:5000\n  host_users: true");
    assert!(pod_from(&artifact(), &target, Some("localhost:5000/a@sha256:00")).is_ok());
    assert!(pod_from(&artifact(), &target, None).is_err());
}

#[test]
fn whoever_names_our_registry_shows_that_they_may() {
    for (reference, policy) in [
        ("localhost:5000/team/main/a", "Always"),
        ("localhost:50001/a", "IfNotPresent"),
        ("registry.example/localhost:5000/a", "IfNotPresent"),
    ] {
        let target = target("registry: localhost:5000");
        assert_eq!(
            pull_policy(&spec(), reference, &target),
            policy,
            "{reference}"
        );
    }
}

#[test]
fn a_pod_prefers_nodes_that_have_its_image() {
    let digest = format!("sha256:{}", "1".repeat(64));
    let of = |reference: &str, settings: &str| {
        let spec = PlacementSpec {
            image: Image::registry(reference),
            ..spec()
        };
        pod_for(&spec, &target(settings))
            .unwrap()
            .spec
            .unwrap()
            .affinity
    };
    let image = format!("busybox@{digest}");
    let affinity = serde_json::to_string(&of(&image, "").unwrap()).unwrap();
    let label = airside_image_rules::label::key(&image.parse().unwrap());
    assert!(
        affinity.contains(&label) && affinity.contains("present"),
        "{affinity}"
    );
    // The label is of content; a tag may mean something else on each node.
    assert_eq!(of("busybox:1", ""), None);
    assert_eq!(of(&image, "prefer_image_nodes: false"), None);
}

fn refused_by(spec: &PlacementSpec, target: &Target) -> String {
    match pod_for(spec, target) {
        Err(Error::Refused { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_target_does_not_offer_is_refused_in_words() {
    for (settings, step, why) in [
        (
            "offers: [artifact_images]",
            hermetic(),
            "offers is without hermetic",
        ),
        (
            "offers: [hermetic]",
            assembled(),
            "offers is without artifact_images",
        ),
        (
            "pod_security: baseline",
            hermetic(),
            "pod_security is baseline",
        ),
        (
            "pod_security: restricted",
            assembled(),
            "pod_security is restricted",
        ),
    ] {
        let target = target(settings);
        let said = refused_by(&step, &target);
        assert!(
            said.contains("its target does not offer them") && said.contains(why),
            "{said}"
        );
        assert!(pod_for(&spec(), &target).is_ok(), "{settings}");
    }
    // Pulled by the node, an artifact takes no capability.
    let target = target("pod_security: restricted\n  registry: localhost:5000");
    assert!(pod_from(&artifact(), &target, Some("localhost:5000/a@sha256:00")).is_ok());
}

#[test]
fn a_rule_that_takes_rights_away_holds_for_privileged_steps_too() {
    let target = target(
        "privileged: userns\n  pod_rules:\n  - match: {team: main}\n    patch: {spec: {containers: [{name: step, \
         securityContext: {allowPrivilegeEscalation: false}}]}}",
    );
    let privileged = PlacementSpec {
        privileged: true,
        ..spec()
    };
    let said = refused_by(&privileged, &target);
    assert!(said.contains("allowPrivilegeEscalation: false"), "{said}");
    assert!(pod_for(&spec(), &target).is_ok());
}

#[test]
fn only_steps_hold_their_node_against_autoscalers() {
    let safe = |kind: StepKind| {
        let mut step = spec();
        step.labels.kind = kind;
        let pod = pod_for(&step, &target("")).unwrap();
        pod.metadata.annotations.unwrap()[labels::SAFE_TO_EVICT].clone()
    };
    assert_eq!(safe(StepKind::Task), "false");
    assert_eq!(safe(StepKind::Get), "false");
    assert_eq!(safe(StepKind::Check), "true");
}

#[test]
fn hostile_steps_do_not_get_an_image_by_its_name_alone() {
    let policy = |ask_registry: bool| {
        let spec = PlacementSpec {
            image: Image::Registry {
                reference: "private.example/name:tag".to_owned(),
                source: airside_runtime::PullSource::default(),
                ask_registry,
                user: None,
            },
            ..spec()
        };
        pull_policy(&spec, "private.example/name:tag", &target(""))
    };
    assert_eq!((policy(true), policy(false)), ("Always", "IfNotPresent"));
}

#[test]
fn the_shim_is_told_the_user_of_the_image() {
    let told = |user: Option<&str>, fields: &str| {
        let spec = PlacementSpec {
            image: Image::Registry {
                reference: "registry.example/name@sha256:00".to_owned(),
                source: airside_runtime::PullSource::default(),
                ask_registry: false,
                user: user.map(str::to_owned),
            },
            ..spec()
        };
        let pod = pod_for(&spec, &target(fields)).unwrap().spec.unwrap();
        let variables = pod.containers[0].env.clone().unwrap();
        let found = variables
            .into_iter()
            .find(|one| one.name == env::IMAGE_USER);
        found.and_then(|one| one.value)
    };
    assert_eq!(told(None, ""), None);
    assert_eq!(told(Some("app:staff"), ""), Some("app:staff".to_owned()));
    // The kubelet expands nothing in what a stranger's image says.
    assert_eq!(told(Some("$(HOME)"), ""), Some("$$(HOME)".to_owned()));
    // The container starts as that user by itself.
    assert_eq!(told(Some("app"), "pod_security: restricted"), None);
}
