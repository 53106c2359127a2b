use super::*;

fn shown(warnings: Vec<Warning>) -> Vec<String> {
    let shown = warnings.into_iter().map(|warning| {
        let at = warning.span.map(|span| span.start).unwrap_or_default();
        format!(
            "{}:{} {}: {}",
            at.line, at.column, warning.type_, warning.message
        )
    });
    shown.collect()
}

fn found(text: &str) -> Vec<String> {
    shown(pipeline_warnings(text, &airside_yaml::parse(text).unwrap()))
}

#[test]
fn mistakes_in_sources_stand_at_their_key() {
    let text = "\
resource_types:
- {name: mine, type: registry-image, source: {repository: a, tga: b}}
- {name: s3, type: s3, source: {a: b}}
resources:
- name: code
  type: git
  source:
    url: https://x/y
    branch: ((branch))
- {name: clock, type: time, source: {interval: soon}}
- {name: bare, type: git}
- {name: number, type: semver, source: {driver: gcp}}
- {name: base, type: docker-image, source: {repository: a, tag: 3.9, insecure_registries: [], max_concurrent_downloads: 3}}
- {name: own, type: mine, source: {anything: goes}}
- {name: own-s3, type: s3, source: {anything: goes}}
- {name: far, type: elsewhere, source: {anything: goes}}
- {name: fine, type: git, source: {uri: \"((uri))\", private_key: ((key))}}
";
    assert_eq!(
        found(text),
        [
            "8:5 source: resources.code: source.url is not a key of type `git` and has no effect (did you mean 'uri'?)",
            "7:3 source: resources.code: source.uri is missing: give the address of the repository",
            "10:38 source: resources.clock: \"soon\" is not a duration; write it like 90s, 5m or 1h30m",
            "11:22 source: resources.bare: source.uri is missing: give the address of the repository",
            "12:41 source: resources.number: source.driver is \"gcp\"; the native type has git, s3 and gcs",
            "2:62 source: resource_types.mine: source.tga is not a key of type `registry-image` and will be refused (did you mean 'tag'?)",
            "3:33 source: resource_types.s3: source.a is not a key of type `s3` and has no effect",
            "3:24 source: resource_types.s3: source.regexp or source.versioned_file is needed",
        ]
    );
}

#[test]
fn params_are_read_by_their_step_wherever_it_stands() {
    let text = "\
resources: [{name: r, type: git, source: {uri: \"https://x/y\"}}, {name: other, type: mine}]
jobs:
- name: j
  plan:
  - in_parallel:
      steps:
      - {get: r, params: {depht: 1}}
      - {get: x, resource: r, params: {submodules: some}}
      - {get: other, params: {a: b}}
  - do:
    - try: {put: r, params: {rebase: on, rebsae: 1, tag: off}, get_params: {dpth: 1}}
    on_failure:
      across: [{var: v, values: [1]}]
      put: r
      params: {repository: r, repsitory: ((.:v))}
  - task: t
    config: {platform: linux, image_resource: {type: registry-image, source: {tag: a}, params: {format: tar}}}
  ensure: {put: r, params: {repo: r}}
";
    let no_key = |key: &str| format!("params.{key} is not a key of type `git` and has no effect");
    let plan = "jobs.j.plan.do";
    assert_eq!(
        found(text),
        [
            format!(
                "7:27 params: {plan}[0].in_parallel.steps[0].get(r): {} (did you mean 'depth'?)",
                no_key("depht")
            ),
            format!(
                "8:40 params: {plan}[0].in_parallel.steps[1].get(x): params.submodules is not valid: \
                 \"some\" is not all, none or a list of paths"
            ),
            "11:58 yaml_trap: `off` is read as `false`; if the text is meant, put it in quotes"
                .to_owned(),
            format!(
                "11:42 params: {plan}[1].do[0].try.put(r): {} (did you mean 'rebase'?)",
                no_key("rebsae")
            ),
            format!(
                "11:77 params: {plan}[1].do[0].try.put(r): {} (did you mean 'depth'?)",
                no_key("dpth")
            ),
            format!(
                "15:31 params: {plan}[1].on_failure.across.put(r): {} (did you mean 'repository'?)",
                no_key("repsitory")
            ),
            format!(
                "17:70 source: {plan}[2].task(t).config.image_resource: source.repository is missing: \
                 give the image's name, without a tag"
            ),
            format!(
                "17:97 params: {plan}[2].task(t).config.image_resource: params.format is not valid: \
                 unknown variant `tar`, expected one of `rootfs`, `oci`, `oci-layout`, `description`"
            ),
            format!(
                "18:29 params: jobs.j.plan.ensure.put(r): {}",
                no_key("repo")
            ),
        ]
    );
}

#[test]
fn a_docker_image_is_read_as_registry_image_where_it_is_pulled() {
    let text = "\
resources: [{name: d, type: docker-image, source: {repository: a, email: x}}]
jobs:
- name: j
  plan:
  - {get: d, params: {save: true}}
  - {put: d, params: {build: here}, get_params: {save: true}}
";
    let no_key =
        |key: &str| format!("{key} is not a key of type `registry-image` and will be refused");
    assert_eq!(
        found(text),
        [
            format!("1:67 source: resources.d: {}", no_key("source.email")),
            format!(
                "5:23 params: jobs.j.plan.do[0].get(d): {}",
                no_key("params.save")
            ),
        ]
    );
}

#[test]
fn what_is_behind_an_anchor_is_told_once() {
    let text = "\
source: &s {url: x, uri: \"https://x/y\"}
resources: [{name: a, type: git, source: *s}, {name: a, type: git, source: *s}]
";
    assert_eq!(found(text).len(), 1, "{:?}", found(text));
}

#[test]
fn a_task_file_has_an_image_too() {
    let text = "image_resource: {type: git, source: {uri: \"https://x/y\", brnch: b}}";
    let node = airside_yaml::parse(text).unwrap();
    assert_eq!(
        shown(task_warnings(text, &node)),
        [
            "1:58 source: image_resource: source.brnch is not a key of type `git` and has no effect (did you mean 'branch'?)"
        ]
    );
}
