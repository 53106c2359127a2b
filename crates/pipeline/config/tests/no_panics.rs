//! No text makes loading panic, and what loads can be stored, read again and planned.

use std::collections::BTreeMap;

use airside_config::{Config, inputs, load, load_task, plan};
use airside_model::Version;
use proptest::prelude::*;

/// Pieces of pipelines in JSON, put together at random.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-1".to_owned()),
        Just("1.5".to_owned()),
        Just("\"r\"".to_owned()),
        Just("\"((v))\"".to_owned()),
        Just("\"*\"".to_owned()),
        Just("\"é\\n\"".to_owned()),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key(), inner), 0..5).prop_map(|entries| {
                let entries: Vec<_> = entries
                    .into_iter()
                    .map(|(key, value)| format!("\"{key}\": {value}"))
                    .collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "name",
        "type",
        "source",
        "plan",
        "get",
        "put",
        "task",
        "do",
        "in_parallel",
        "steps",
        "limit",
        "config",
        "run",
        "path",
        "platform",
        "params",
        "inputs",
        "passed",
        "version",
        "resource",
        "tags",
        "try",
        "ensure",
        "across",
        "timeout",
        "attempts",
        "on_failure",
        "fail_fast",
        "set_pipeline",
        "load_var",
        "run",
        "file",
        "vars",
        "var",
        "values",
        "max_in_flight",
        "old_name",
        "container_limits",
        "memory",
        "jobs",
        "check_every",
        "odd",
    ])
}

fn store_and_plan(config: &Config) {
    let text = serde_json::to_string(config).expect("a config is JSON");
    assert_eq!(
        &serde_json::from_str::<Config>(&text).expect("stored JSON reads"),
        config
    );
    assert_eq!(&load(&text).expect("stored JSON loads").config, config);
    for job in &config.jobs {
        let version = Version::from([("v", "1")]);
        let versions: BTreeMap<_, _> = inputs(job)
            .into_iter()
            .map(|input| (input.name, version.clone()))
            .collect();
        plan(job, config, &versions).expect("what loads can be planned");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_panics(resources in value(), jobs in value(), plan in value()) {
        let text = format!(
            "{{\"resources\": {resources}, \"resource_types\": {jobs}, \"var_sources\": {plan}, \"jobs\": [{{\"name\": \"j\", \"plan\": [{plan}]}}], \"groups\": {jobs}}}"
        );
        match load(&text) {
            Ok(loaded) => store_and_plan(&loaded.config),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                problems.iter().for_each(|problem| _ = problem.render(&text, "p.yml"));
            }
        }
        let _ = load_task(&plan);
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = load(&text).map_err(|problems| problems[0].render(&text, "p.yml"));
    }
}
