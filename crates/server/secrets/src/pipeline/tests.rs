use serde_json::json;

use super::*;
use crate::{Installation, Options};

const PIPELINE: &str = r#"
var_sources:
- {name: second, type: dummy, config: {vars: {b: ((first:a.x)), i: ((common))}}}
- {name: first, type: dummy, config: {vars: {a: {x: deep}, main/p/c: particular, c: common}}}
- {name: broken, type: dummy, config: {vars: {x: ((nobody))}}}
- {name: away, type: vault, config: {url: "https://vault.example.org", client_token: x}}
- {name: token, type: idtoken, config: {}}
jobs: [{name: j, plan: [{load_var: v, file: a/b}]}]
"#;

fn variables() -> PipelineVariables {
    let config = airside_config::load(PIPELINE).unwrap().config;
    let asker = Asker {
        team: "main".to_owned(),
        pipeline: Some("p".to_owned()),
        ..Asker::default()
    };
    let installed = json!({"common": "all", "main/own": "team", "main/p/own": "pipeline",
        "main/q/own": "other"});
    let installation = Installation::dummy(installed.as_object().unwrap().clone());
    let credentials = Credentials::new(Options {
        installation: Some(installation),
        ..Options::default()
    });
    credentials.of(asker, &config.var_sources)
}

#[tokio::test]
async fn every_source_answers_for_its_own() {
    let variables = variables();
    let local = Arc::new(airside_vars::VarScope::default());
    local.add("l", json!([1]));
    for (text, filled, secrets) in [
        ("((first:a.x))", json!("deep"), vec![json!("deep")]),
        ("x-((second:b))", json!("x-deep"), vec![json!("deep")]),
        ("((second:i))", json!("all"), vec![json!("all")]),
        (
            "((first:c))",
            json!("particular"),
            vec![json!("particular")],
        ),
        ("((own))", json!("pipeline"), vec![json!("pipeline")]),
        ("((common))", json!("all"), vec![json!("all")]),
        ("((.:l))", json!([1]), vec![]),
        ("plain", json!("plain"), vec![]),
    ] {
        let found = variables.fill(json!(text), Some(&local)).await.unwrap();
        assert_eq!(found, (filled, secrets), "{text}");
    }
}

#[tokio::test]
async fn what_nobody_knows_is_named() {
    let variables = variables();
    for (text, words) in [
        ("((x)) ((y))", "undefined vars: x, y"),
        ("((.:x))", "undefined vars: .:x"),
        ("((first:x))", "undefined vars: first:x"),
        ("((third:x))", "missing source 'third' in var: third:x"),
        (
            "((broken:x))",
            "cannot look up var 'broken:x': undefined vars: nobody",
        ),
        (
            "((away:x))",
            "cannot look up var 'away:x': this server asks no secret managers for pipelines",
        ),
        (
            "((token:token))",
            "cannot look up var 'token:token': this server signs no id tokens",
        ),
    ] {
        let error = variables.fill(json!(text), None).await.unwrap_err();
        assert_eq!(error.to_string(), words, "{text}");
    }
}
