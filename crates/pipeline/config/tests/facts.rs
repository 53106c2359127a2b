//! Facts of pipelines: complete however deep a step stands, free of secrets, and bounded.

use airside_config::{Config, FactsTooLarge, MAX_FACTS_BYTES, facts, load};
use proptest::prelude::*;
use serde_json::{Value, json};

fn config(text: &str) -> Config {
    load(text)
        .expect("the pipelines of these tests have no problems")
        .config
}

fn shown(text: &str) -> Value {
    let facts = facts(&config(text)).expect("the pipelines of most tests are small");
    serde_json::to_value(facts).expect("facts are JSON")
}

/// A job `j` whose plan is this.
fn with_plan(plan: &str) -> String {
    format!("resources: [{{name: r, type: mock}}]\njobs: [{{name: j, plan: {plan}}}]")
}

const TASK: &str = "task: t, privileged: true, file: r/t.yml";

#[test]
fn each_kind_of_step_has_its_fields() {
    let inline = "{platform: linux, image_resource: {type: registry-image, source: \
        {repository: golang, password: s3cret}}, run: {path: x}}";
    let rootfs = "{platform: linux, rootfs_uri: 'docker:///golang?s3cret', run: {path: x}}";
    for (step, expected) in [
        (
            "{get: r, trigger: true}",
            json!({"kind": "get", "name": "r", "resource": "r", "type": "mock"}),
        ),
        (
            "{get: x, resource: r, tags: [a], params: {p: s3cret}}",
            json!({"kind": "get", "name": "x", "resource": "r", "type": "mock", "tags": ["a"]}),
        ),
        (
            "{put: x, resource: r}",
            json!({"kind": "put", "name": "x", "resource": "r", "type": "mock"}),
        ),
        (
            &format!("{{{TASK}, image: r, tags: [kube]}}"),
            json!({"kind": "task", "name": "t", "privileged": true, "file": "r/t.yml", "image": "r", "tags": ["kube"]}),
        ),
        (
            &format!("{{task: t, params: {{P: s3cret}}, config: {inline}}}"),
            json!({
                "kind": "task", "name": "t", "privileged": false, "imageType": "registry-image", "repository": "golang",
            }),
        ),
        (
            &format!("{{task: t, config: {rootfs}}}"),
            json!({"kind": "task", "name": "t", "privileged": false, "rootfsUri": "docker:///golang"}),
        ),
        (
            "{set_pipeline: self, file: r/p.yml, team: other, vars: {v: s3cret}}",
            json!({"kind": "set_pipeline", "name": "self", "file": "r/p.yml", "team": "other"}),
        ),
        (
            "{load_var: v, file: r/v}",
            json!({"kind": "load_var", "name": "v", "file": "r/v"}),
        ),
    ] {
        let mut expected = expected;
        expected["job"] = json!("j");
        let facts = shown(&with_plan(&format!("[{{put: r}}, {step}]")));
        assert_eq!(facts["steps"][1], expected, "{step}");
        assert!(!facts.to_string().contains("s3cret"), "{facts}");
    }
}

#[test]
fn prototypes_and_their_runs() {
    let text = "prototypes: [{name: p, type: registry-image, privileged: true, source: {repository: example.com/p}}]\n\
        jobs: [{name: j, plan: [{run: m, type: p, privileged: true}]}]";
    let expected = json!({
        "steps": [{"job": "j", "kind": "run", "name": "m", "type": "p", "privileged": true}],
        "resources": [], "pipelines": [],
        "types": [{
            "name": "p", "type": "registry-image", "repository": "example.com/p", "privileged": true, "prototype": true,
        }],
    });
    assert_eq!(shown(text), expected);
}

#[test]
fn a_task_is_found_wherever_it_stands() {
    let task = format!("{{{TASK}}}");
    for step in [
        format!("{{do: [{task}]}}"),
        format!("{{try: {task}}}"),
        format!("{{in_parallel: [{task}]}}"),
        format!("{{in_parallel: {{steps: [{task}], limit: 1}}}}"),
        format!("{{{TASK}, across: [{{var: v, values: [1, 2]}}]}}"),
        format!("{{do: [{task}], across: [{{var: v, values: [1, 2]}}]}}"),
        format!(
            "{{in_parallel: [{{try: {{do: [], ensure: {{in_parallel: [{{try: {task}}}]}}}}}}]}}"
        ),
    ]
    .into_iter()
    .chain(
        ["on_success", "on_failure", "on_abort", "on_error", "ensure"].map(|hook| {
            format!("{{try: {{do: []}}, {hook}: {{in_parallel: [{{do: [{task}]}}]}}}}")
        }),
    ) {
        let facts = shown(&with_plan(&format!("[{{get: r}}, {step}]")));
        let steps = facts["steps"].as_array().unwrap();
        assert_eq!(steps.len(), 2, "{step}");
        assert_eq!(steps[1]["privileged"], json!(true), "{step}");
    }
    for hook in ["on_success", "on_failure", "on_abort", "on_error", "ensure"] {
        let text =
            with_plan("[{get: r}]").replace("}]}]", &format!("}}], {hook}: {{try: {task}}}}}]"));
        assert_eq!(shown(&text)["steps"][1]["name"], json!("t"), "{text}");
    }
}

#[test]
fn tags_are_those_in_effect() {
    let text = "resources: [{name: r, type: mock, tags: [check]}]\n\
        jobs: [{name: j, tags: [job], ensure: {put: r}, plan: [{put: r}, {put: r, tags: [own]}, \
        {do: [{put: r}, {try: {put: r}}], tags: [do], ensure: {put: r}}, {in_parallel: {steps: [{put: r}]}, tags: [all]}]}]";
    let facts = shown(text);
    let tags: Vec<&str> = facts["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["tags"][0].as_str().unwrap())
        .collect();
    assert_eq!(tags, ["job", "own", "do", "do", "job", "all", "job"]);
    assert_eq!(facts["resources"][0]["tags"], json!(["check"]));
}

#[test]
fn resources_have_the_defaults_of_their_types_and_pipelines_stand_once() {
    let text = "resource_types: [{name: slack, type: registry-image, source: {repository: 'example.com/slack', \
          password: s3cret}, defaults: {uri: 'https://ann:s3cret@slack.example.com/', token: s3cret}}]\n\
        resources: [{name: code, type: git, source: {uri: 'https://git.example.com/app', branch: main}},\n\
          {name: chat, type: slack, source: {token: s3cret}}]\n\
        jobs: [{name: j, plan: [{get: code}, {put: chat}, {set_pipeline: a, file: code/a}, {set_pipeline: b, file: code/b},\n\
          {set_pipeline: a, file: code/a, instance_vars: {x: s3cret}}]}]";
    let facts = shown(text);
    assert_eq!(
        facts["resources"],
        json!([
            {"name": "code", "type": "git", "uri": "https://git.example.com/app"},
            {"name": "chat", "type": "slack", "uri": "https://slack.example.com/"},
        ])
    );
    assert_eq!(
        facts["types"],
        json!([{"name": "slack", "type": "registry-image", "repository": "example.com/slack", "privileged": false}])
    );
    assert_eq!(facts["pipelines"], json!(["a", "b"]));
    assert!(!facts.to_string().contains("s3cret"), "{facts}");
}

/// Each step repeats the name of its resource's type: facts are larger than the pipeline.
#[test]
fn facts_that_no_request_can_hold_are_refused_and_never_cut() {
    let repeated = |steps: usize, length: usize| {
        let mut config = config(&with_plan("[{get: r}]"));
        config.jobs[0].plan = vec![config.jobs[0].plan[0].clone(); steps];
        config.resources[0].type_ = "x".repeat(length);
        facts(&config)
    };
    let fitting = repeated(1000, 900).unwrap();
    assert_eq!(fitting.steps.len(), 1000);
    assert!(serde_json::to_string(&fitting).unwrap().len() <= MAX_FACTS_BYTES + 1000);
    assert_eq!(repeated(1000, 1000), Err(FactsTooLarge));
    assert_eq!(repeated(10_000, 1 << 20), Err(FactsTooLarge));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!("r")),
        Just(json!(7)),
        Just(json!(true)),
        ".{0,40}".prop_map(Value::from),
        "(https?:/{0,3})?([a-z]{1,5}:)?s3cret@[a-z.]{1,10}(/[a-z@?#]{0,9})?".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(
                (
                    prop::sample::select(vec!["uri", "repository", "url", "x"]),
                    inner
                ),
                0..4
            )
            .prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_source_panics_and_no_password_is_shown(source in value(), depth in 0_usize..20) {
        let source = if source.is_object() { source } else { json!({"uri": source}) };
        let nested = (0..depth).fold(json!({"get": "r"}), |step, level| match level % 3 {
            0 => json!({"try": step}),
            1 => json!({"in_parallel": {"steps": [step]}}),
            _ => json!({"do": [], "ensure": step}),
        });
        let pipeline = json!({
            "resources": [{"name": "r", "type": "mock", "source": source}],
            "jobs": [{"name": "j", "plan": [nested]}],
        });
        let config: Config = serde_json::from_value(pipeline).unwrap();
        let facts = facts(&config).unwrap();
        prop_assert_eq!(facts.steps.len(), 1);
        let text = serde_json::to_string(&facts).unwrap();
        prop_assert!(!text.contains("s3cret"), "{}", text);
    }
}
