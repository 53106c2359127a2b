use super::{super::order::Choice, *};

fn config() -> Config {
    let text = "\
resource_types:
- {name: own, type: registry-image, source: {}}
- {name: on-cf, type: cf, source: {}}
resources:
- {name: ours, type: mock, source: {}}
- {name: own, type: own, source: {}}
- {name: repo, type: no-such-type, source: {}}
- {name: docker, type: docker-image, source: {repository: r}}
- {name: app, type: on-cf, source: {}}
jobs:
- {name: fine, plan: [{get: ours}, {get: own}]}
- {name: gets, plan: [{get: src, resource: repo}]}
- {name: puts, plan: [{put: repo}]}
- {name: got-image, plan: [{get: docker}]}
- {name: put-image, plan: [{put: docker}]}
- {name: deep, plan: [{get: app}]}
- name: images
  plan:
  - task: fine
    config: {platform: linux, image_resource: {type: host}, run: {path: 'true'}}
  - task: fine-too
    config: {platform: linux, image_resource: {type: docker-image, source: {}}, run: {path: 'true'}}
  - task: odd
    config: {platform: linux, image_resource: {type: hg, source: {}}, run: {path: 'true'}}
";
    airside_config::load(text).unwrap().config
}

fn found(jobs: &[&str], folders: &[&str]) -> Vec<String> {
    let config = config();
    let jobs: Vec<String> = jobs.iter().map(|&job| job.to_owned()).collect();
    let order = Order::new(&config, Choice::Only(&jobs)).unwrap();
    let folders: Vec<Folder> = folders.iter().map(|text| parse(text).unwrap()).collect();
    problems(&config, &order, &folders)
}

#[test]
fn every_resource_must_be_there_to_be_had() {
    assert!(found(&["fine"], &[]).is_empty());
    assert!(found(&["gets"], &["repo=/"]).is_empty());
    let gets = found(&["gets"], &[]);
    assert!(gets[0].contains("--input repo=DIR"), "{gets:?}");
    let puts = found(&["puts"], &["repo=/"]);
    assert!(
        puts[0].contains("puts `repo`: resource type `no-such-type`"),
        "{puts:?}"
    );
}

#[test]
fn a_missing_base_type_is_told_with_the_line_that_brings_it() {
    for (job, place, line) in [
        (
            "deep",
            "job `deep` gets `app`: resource type `cf`",
            "{name: cf, type: registry-image, ",
        ),
        (
            "images",
            "the image of task `odd` in job `images`: resource type `hg`",
            "{name: hg, type: registry-image, ",
        ),
        (
            "put-image",
            "job `put-image` puts `docker`: Airside reads resource type `docker-image`",
            "{name: docker-image, type: registry-image, ",
        ),
    ] {
        let found = found(&[job], &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(place), "{found:?}");
        assert!(found[0].contains(line), "{found:?}");
    }
    assert!(found(&["got-image"], &[]).is_empty());
}

#[test]
fn wrong_folders_are_told() {
    for (folder, words) in [
        ("rep=/", "no resource `rep`; did you mean `repo`?"),
        ("repo=/dev/null", "/dev/null is not a folder"),
        ("repo=/no/such/place", "cannot use /no/such/place"),
    ] {
        let found = found(&["fine"], &[folder]);
        assert!(found[0].contains(words), "{found:?}");
    }
    for text in ["repo", "=.", "repo="] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn gets_of_folders_become_uploads() {
    let inner = json!({"id": "t", "get": {"name": "in", "resource": "repo", "type": "git"}});
    let mut plan = json!({"id": "1", "do": [
        {"id": "2", "get": {"name": "src", "resource": "repo", "type": "git", "source": {}}},
        {"id": "3", "get": {"name": "other", "resource": "other", "type": "git"}},
        {"id": "4", "get": {"name": "repo", "resource": "repo", "type": "git", "version_from": "9"}},
        {"id": "5", "across": {"vars": [], "substep_template": inner.to_string()}},
        {"id": "6", "task": {"params": {"get": {"name": "x", "resource": "repo"}}}},
    ]});
    let before = plan.clone();
    replace_gets(&mut plan, &|resource| (resource == "repo").then_some(7));
    let input = |name: &str| json!({"artifact_id": 7, "name": name});
    assert_eq!(
        plan["do"][0],
        json!({"id": "2", "artifact_input": input("src")})
    );
    for kept in [1, 2, 4] {
        assert_eq!(plan["do"][kept], before["do"][kept]);
    }
    let template = plan["do"][3]["across"]["substep_template"]
        .as_str()
        .unwrap();
    let template: Value = serde_json::from_str(template).unwrap();
    assert_eq!(template, json!({"id": "t", "artifact_input": input("in")}));
}
