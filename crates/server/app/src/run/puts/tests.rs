//! Plans without puts.

use std::collections::BTreeMap;

use super::*;

const PIPELINE: &str = "
resources:
- {name: img, type: registry-image, source: {repository: r}}
- {name: src, type: git, source: {uri: u}}
jobs:
- name: make
  plan:
  - get: src
  - put: img
    params: {image: out/image.tar, word: ((word))}
    on_success: {task: after, config: &c {platform: linux, run: {path: 'true'}}}
  - task: uses
    config: {platform: linux, inputs: [{name: img}], outputs: [{name: built}], run: {path: 'true'}}
  - task: uses-that
    config: {platform: linux, inputs: [{name: code}], run: {path: 'true'}}
    input_mapping: {code: built}
  - {task: runs, file: src/task.yml}
  - {load_var: number, file: img/tag}
  - {task: wants, file: src/task.yml, vars: {num: ((.:number))}}
  - across: [{var: each, values: [1]}]
    do: [{put: src}, {task: inside, config: *c}]
- name: again
  plan:
  - {get: img}
  - put: img
  - {task: old, file: img/task.yml}
- name: next
  plan: [{get: img, passed: [make]}]
";

fn config() -> Config {
    airside_config::load(PIPELINE).unwrap().config
}

fn left_out(job: &str) -> (Plan, Vec<LeftOut>) {
    let config = config();
    let version = Version::from([("v", "1")]);
    let versions = ["src", "img"].map(|name| (name.to_owned(), version.clone()));
    let versions: BTreeMap<_, _> = versions.into();
    let job = config.job(job).unwrap();
    let mut plan = airside_config::plan(job, &config, &versions).unwrap();
    let left_out = leave_out(&mut plan).unwrap();
    (plan, left_out)
}

#[test]
fn puts_go_and_with_them_all_that_needs_them() {
    let (plan, left_out) = left_out("make");
    let shown: Vec<String> = left_out
        .iter()
        .map(|one| format!("{} {}: {}", one.kind, one.name, one.reason))
        .collect();
    let put = r#"put img: would put `img` (registry-image) with {"image":"out/image.tar","word":"((word))"}"#;
    let expected = [
        put,
        "get img: would get what that put makes",
        "task uses: needs `img`, which is not there",
        "task uses-that: needs `built`, which is not there",
        "load_var number: needs `img`, which is not there",
        "task wants: needs ((.:number)), which is not set",
        "put src: would put `src` (git)",
        "get src: would get what that put makes",
    ];
    assert_eq!(shown, expected);
    let rest = serde_json::to_string(&plan).unwrap();
    for kept in ["after", "runs", "inside"] {
        assert!(rest.contains(kept), "{kept} in {rest}");
    }
    assert!(!rest.contains("\"put\"") && !rest.contains("\\\"put\\\""));
}

/// Versions that were got before stay as they are.
#[test]
fn an_artifact_that_was_there_before_is_not_missed() {
    let (_, left_out) = left_out("again");
    let kinds: Vec<&str> = left_out.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, ["put", "get"]);
}

#[test]
fn a_job_after_a_put_that_was_left_out_cannot_run() {
    let config = config();
    let next = config.job("next").unwrap();
    let mut used = HashMap::from([("make".to_owned(), HashMap::new())]);
    let words = missing_input(&config, next, &used, |_| false).unwrap();
    assert!(
        words.contains("`img`") && words.contains("`make`"),
        "{words}"
    );
    assert_eq!(missing_input(&config, next, &used, |_| true), None);
    let version = Version::from([("v", "1")]);
    used.insert(
        "make".to_owned(),
        HashMap::from([("img".to_owned(), version)]),
    );
    assert_eq!(missing_input(&config, next, &used, |_| false), None);
    assert_eq!(
        missing_input(&config, next, &HashMap::new(), |_| false),
        None
    );
}

#[test]
fn what_only_puts_need_is_not_in_the_rest() {
    let rest = without_puts(&config()).unwrap();
    let make = rest.job("make").unwrap();
    assert!(outputs(make).is_empty());
    assert_eq!(inputs(make).len(), 1);
    let text = serde_json::to_string(make).unwrap();
    assert!(
        !text.contains("((word))") && text.contains("after"),
        "{text}"
    );
}
