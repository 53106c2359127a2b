use airside_model::{
    BuildId, PlanId, StepKind, StepLabels, VolumeId,
    event::{Event, Origin},
};
use airside_protocol::Executable;

use super::*;

fn request(image: Image, run: Executable, stdin: Value) -> StepRequest {
    let labels = StepLabels {
        team: "main".into(),
        team_id: airside_model::TeamId(1),
        pipeline: None,
        job: None,
        build: BuildId(1),
        build_name: "1".into(),
        step: "s".into(),
        kind: StepKind::Get,
        attempt: 1,
        attempts: Vec::new(),
    };
    StepRequest {
        plan: PlanId::new("1"),
        labels,
        tags: Vec::new(),
        native_type: None,
        image,
        run,
        args: ["resource", "mock", "in", "/tmp/build/get"]
            .map(str::to_owned)
            .to_vec(),
        env: Vec::new(),
        dir: "/".to_owned(),
        user: None,
        tty: None,
        stdin: Some(stdin.to_string()),
        inputs: Vec::new(),
        outputs: Vec::new(),
        folders: Vec::new(),
        limits: Default::default(),
        privileged: false,
        hermetic: false,
        answers: true,
        start_event: Event::StartGet {
            origin: Origin::step(&PlanId::new("1")),
            time: 0,
        },
        image_get: None,
    }
}

fn native(stdin: Value) -> Option<Value> {
    identity(&request(Image::Shim, Executable::Shim, stdin))
}

fn custom(image: Image) -> Option<Value> {
    let run = Executable::Path("/opt/resource/in".to_owned());
    identity(&request(image, run, json!({"source": {}})))
}

#[test]
fn the_order_of_keys_does_not_matter_and_everything_else_does() {
    let same = native(json!({"source": {"a": 1, "b": {"x": 1, "y": 2}}, "version": {"v": "1"}}));
    let turned = native(json!({"version": {"v": "1"}, "source": {"b": {"y": 2, "x": 1}, "a": 1}}));
    assert!(same.is_some());
    assert_eq!(same, turned);
    for other in [
        json!({"source": {"a": 2}, "version": {"v": "1"}}),
        json!({"source": {"a": 1, "b": {"x": 1, "y": 2}}, "version": {"v": "2"}}),
        json!({"source": {"a": 1, "b": {"x": 1, "y": 2}}, "version": {"v": "1"}, "params": {"p": 1}}),
    ] {
        assert_ne!(same, native(other));
    }
    let mut privileged = request(Image::Shim, Executable::Shim, json!({"source": {}}));
    privileged.privileged = true;
    assert_ne!(identity(&privileged), native(json!({"source": {}})));
}

#[test]
fn what_may_change_under_its_name_is_not_remembered() {
    let registry = |reference: &str| custom(Image::registry(reference));
    let volume = |name: &str| {
        let volume = VolumeId::new(name);
        custom(Image::Volume { volume })
    };
    assert!(registry("a@sha256:1").is_some());
    assert_eq!(registry("a:latest"), None);
    assert_eq!(custom(Image::Host), None);
    let path = "/layout".to_owned();
    assert_eq!(custom(Image::OciLayout { path: path.clone() }), None);
    assert_ne!(volume("v-1"), volume("v-2"));
    let own = request(
        Image::OciLayout { path },
        Executable::Shim,
        json!({"source": {}}),
    );
    assert!(identity(&own).is_some());
}

#[test]
fn hostile_workers_spoil_nothing_for_others() {
    let identity = native(json!({"source": {}})).unwrap();
    let of = |trust| with_trust(&identity, trust);
    assert_eq!(of(Some("local/")), of(Some("local/")));
    assert_ne!(of(Some("local/")), of(Some("joined/gpu-1/")));
    assert_ne!(of(Some("joined/gpu-2/")), of(Some("joined/gpu-1/")));
    assert_ne!(of(None), of(Some("local/")));
}
