//! A graph from a pipeline's text.

use airside_config::load;
use airside_model::{JobId, ResourceId, Version};
use airside_schedule::checks::{CheckRule, Interval};
use airside_schedule::graph::{Ids, InputVersions, Part, SerialGroup};
use airside_schedule::{Graph, Names};

const PIPELINE: &str = "
resources:
- {name: repo, type: mock, source: {}, check_every: 10s, webhook_token: t}
- {name: image, type: mock, source: {}, version: {ref: fixed}, check_every: never}
- {name: bucket, type: mock, source: {}}
- {name: notes, type: mock, source: {}}
jobs:
- name: unit-a
  plan:
  - {get: repo, trigger: true}
- name: unit-b
  max_in_flight: 3
  plan:
  - {get: repo, version: every}
  - {put: notes}
- name: ship
  serial_groups: [prod, eu]
  plan:
  - {get: repo, passed: ['unit-*']}
  - {get: src, resource: repo, passed: [unit-b, 'unit-[ab]'], version: {ref: abc}, trigger: true}
  - {get: image}
  - {get: tool, resource: image, version: {ref: own}}
  - {get: bucket}
- name: check
  serial: true
  plan:
  - {get: bucket, passed: [ship]}
- name: undo
  serial_groups: [prod]
  plan:
  - {get: bucket}
";

pub(crate) fn ids() -> Ids {
    let mut ids = Ids::default();
    let jobs = ["unit-a", "unit-b", "ship", "check", "undo"];
    for (index, name) in jobs.into_iter().enumerate() {
        ids.jobs.insert(name.to_owned(), JobId(index as i64 + 1));
    }
    for (index, name) in ["repo", "image", "bucket", "notes"].into_iter().enumerate() {
        ids.resources
            .insert(name.to_owned(), ResourceId(index as i64 + 1));
    }
    ids
}

pub(crate) fn read(ids: &Ids, names: &mut Names) -> Graph {
    let loaded = load(PIPELINE);
    let config = loaded.unwrap().config;
    Graph::read(&config, ids, names).unwrap()
}

fn pin(reference: &str) -> InputVersions {
    InputVersions::Pinned(Version::from([("ref", reference)]))
}

#[test]
fn inputs_as_the_scheduler_sees_them() {
    let mut names = Names::default();
    let graph = read(&ids(), &mut names);
    let ship = graph.job(JobId(3)).unwrap();
    let inputs: Vec<_> = ship
        .inputs
        .iter()
        .map(|input| (names.name(input.name), input.resource.0, input.want.clone()))
        .collect();
    let expected = [
        ("repo", 1, InputVersions::Latest),
        ("src", 1, pin("abc")),
        ("image", 2, pin("fixed")),
        ("tool", 2, pin("own")),
        ("bucket", 3, InputVersions::Latest),
    ];
    assert_eq!(inputs, expected);
    let passed: Vec<_> = ship.inputs.iter().map(|input| input.passed.len()).collect();
    assert_eq!(passed, [2, 2, 0, 0, 0]);
    let pinned: Vec<_> = ship
        .inputs
        .iter()
        .map(|input| input.resource_is_pinned)
        .collect();
    assert_eq!(pinned, [false, false, true, true, false]);
    assert_eq!(
        graph.job(JobId(2)).unwrap().inputs[0].want,
        InputVersions::Every
    );
}

#[test]
fn limits_and_groups() {
    let graph = read(&ids(), &mut Names::default());
    let limits: Vec<_> = graph.jobs().map(|job| job.max_in_flight).collect();
    assert_eq!(limits, [None, Some(3), Some(1), Some(1), Some(1)]);
    let group = |name: &str| SerialGroup(name.to_owned());
    let groups: Vec<_> = graph.jobs().map(|job| job.serial_groups.clone()).collect();
    let expected = [
        vec![],
        vec![group("unit-b")],
        vec![group("prod"), group("eu")],
        vec![group("check")],
        vec![group("prod")],
    ];
    assert_eq!(groups, expected);
}

#[test]
fn resources_and_their_parts() {
    let mut ids = ids();
    let set = Version::from([("ref", "set")]);
    ids.pins.insert(ResourceId(2), set.clone());
    ids.pins.insert(ResourceId(3), set.clone());
    let graph = read(&ids, &mut Names::default());
    let parts: Vec<Part> = graph.resources().map(|resource| resource.part).collect();
    assert_eq!(
        parts,
        [Part::Trigger, Part::Input, Part::Input, Part::NoInput]
    );
    let repo = graph.resource(ResourceId(1)).unwrap();
    let every = Some(Interval::Every(std::time::Duration::from_secs(10)));
    assert_eq!(
        repo.check,
        CheckRule {
            every,
            has_webhook: true
        }
    );
    let image = graph.resource(ResourceId(2)).unwrap();
    assert_eq!(image.check.every, Some(Interval::Never));
    assert_eq!(
        image.pin,
        Some(Version::from([("ref", "fixed")])),
        "the configuration wins"
    );
    assert_eq!(graph.resource(ResourceId(3)).unwrap().pin, Some(set));
    assert_eq!(graph.job(JobId(5)).unwrap().inputs[0].want, pin("set"));
}

#[test]
fn a_name_without_an_id_is_an_error() {
    let config = load(PIPELINE).unwrap().config;
    let mut without = ids();
    without.jobs.remove("undo");
    let error = Graph::read(&config, &without, &mut Names::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("job 'undo' is in the pipeline's configuration")
    );
    let mut without = ids();
    without.resources.remove("notes");
    let error = Graph::read(&config, &without, &mut Names::default()).unwrap_err();
    assert!(error.to_string().starts_with("resource 'notes'"));
}
