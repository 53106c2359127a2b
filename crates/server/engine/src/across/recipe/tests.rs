use airside_model::plan::AcrossVar;
use serde_json::json;

use super::*;

fn recipe(template: &Value, values: Values) -> Result<Recipe, String> {
    let var = |name: &str| AcrossVar {
        name: name.to_owned(),
        values: Value::Null,
        max_in_flight: None,
    };
    let node = AcrossPlan {
        vars: vec![var("a"), var("b")],
        substep_template: template.to_string(),
        fail_fast: false,
    };
    Recipe::new(&PlanId::new("f"), &node, values, 1)
}

fn plan(template: &Value, values: Values, number: usize) -> Result<Value, String> {
    let plan = recipe(template, values)?.plan(number)?;
    Ok(serde_json::to_value(plan).unwrap())
}

#[test]
fn combinations_are_in_the_order_of_the_variables() {
    let values = vec![vec![json!(1), json!(2)], vec![json!("x"), json!("y")]];
    let recipe = recipe(&json!({}), values).unwrap();
    let texts: Vec<String> = (0..recipe.count())
        .map(|number| json!(recipe.combination(number)).to_string())
        .collect();
    assert_eq!(
        texts,
        [r#"[1,"x"]"#, r#"[1,"y"]"#, r#"[2,"x"]"#, r#"[2,"y"]"#]
    );
}

#[test]
fn hostile_numbers_of_combinations_are_refused_before_any_is_made() {
    let list = |length: usize| vec![json!(1); length];
    for (values, around) in [
        (vec![list(60), list(60), list(30)], 1),
        (vec![list(10_001)], 1),
        (vec![list(101)], 100),
        (vec![list(2_000_000); 10], 1),
    ] {
        let words = check_count(&values, around).unwrap_err();
        assert!(words.contains("10000 combinations"), "{words}");
    }
    assert_eq!(check_count(&[list(100), list(100)], 1), Ok(()));
    assert_eq!(check_count(&[list(100_000), list(0)], 1), Ok(()));
    assert_eq!(
        recipe(&json!({}), vec![list(3), list(0)]).unwrap().count(),
        0
    );
}

#[test]
fn substeps_have_ids_and_values_of_their_own() {
    let template = json!({"id": "3", "on_success": {
        "step": {"id": "1", "put": {
            "name": "((.:a))", "type": "mock", "params": {"v": "((.:b))", "o": "((other))"},
        }},
        "on_success": {"id": "2", "get": {"name": "g", "type": "mock", "version_from": "1"}},
    }});
    let values = vec![vec![json!("x")], vec![json!([1]), json!({"k": 2})]];
    let second = plan(&template, values, 1).unwrap();
    assert_eq!(second["id"], "f/1/0");
    let put = &second["on_success"]["step"];
    assert_eq!(
        (&put["id"], &put["put"]["name"]),
        (&json!("f/1/1"), &json!("x"))
    );
    assert_eq!(
        put["put"]["params"],
        json!({"v": {"k": 2}, "o": "((other))"})
    );
    let get = &second["on_success"]["on_success"];
    assert_eq!(get["id"], "f/1/2");
    assert_eq!(get["get"]["version_from"], "f/1/1");
}

#[test]
fn what_cannot_be_filled_in_is_said() {
    let template = json!({"id": "1", "load_var": {"name": "a-((.:a))", "file": "f"}});
    let words = plan(&template, vec![vec![json!([1])], vec![json!(2)]], 0).unwrap_err();
    let expected = "failed to interpolate template: cannot interpolate non-primitive value";
    assert!(words.starts_with(expected), "{words}");
}

#[test]
fn params_become_texts_as_in_concourse() {
    let config = json!({"platform": "linux", "params": {"B": "((.:b))"}, "run": {"path": "env"}});
    let template = json!({"id": "1", "task": {
        "name": "((.:a))", "privileged": false, "hermetic": false,
        "params": {"A": "((.:a))"}, "config": config, "tags": ["((.:a))"],
    }});
    for (value, text) in [
        (json!(1), "1"),
        (json!(2.5), "2.5"),
        (json!(true), "true"),
        (json!("x"), "x"),
    ] {
        let made = plan(&template, vec![vec![value.clone()], vec![value]], 0).unwrap();
        let task = &made["task"];
        assert_eq!(task["name"], text);
        assert_eq!(task["tags"], json!([text]));
        assert_eq!(task["params"]["A"], text);
        assert_eq!(task["config"]["params"]["B"], text);
    }
    let others = vec![
        vec![json!("x")],
        vec![json!({"b": [1, "<"], "a": null}), json!(null)],
    ];
    let map = plan(&template, others.clone(), 0).unwrap();
    assert_eq!(
        map["task"]["config"]["params"]["B"],
        r#"{"a":null,"b":[1,"\u003c"]}"#
    );
    let null = plan(&template, others, 1).unwrap();
    assert_eq!(null["task"]["config"]["params"]["B"], "");
}

#[test]
fn numbers_are_no_arguments() {
    let run = json!({"path": "echo", "args": ["-n", "((.:a))"]});
    let template = json!({"id": "1", "do": [
        {"id": "2", "task": {"name": "t", "config": {"platform": "linux", "run": run}}},
    ]});
    let words = plan(&template, vec![vec![json!(1)], vec![json!(2)]], 0).unwrap_err();
    assert!(words.contains("`run.args[1]` of the task `t`"), "{words}");
    assert!(words.contains("number 1"), "{words}");
}

#[test]
fn hostile_values_change_no_template_within_the_template() {
    let inner = json!({"id": "1", "task": {
        "name": "((.:a))-((.:inner))", "privileged": false, "hermetic": false, "config_path": "((.:b))",
    }});
    let across = json!({"vars": [{"name": "inner", "values": ["((.:a))"]}],
        "substep_template": inner.to_string()});
    let template = json!({"id": "2", "across": across});
    let hostile = r#"x", "privileged": true, "y": "((.:b))"#;
    let made = plan(&template, vec![vec![json!(hostile)], vec![json!(5)]], 0).unwrap();
    let across = &made["across"];
    assert_eq!(across["vars"][0]["values"], json!([hostile]));
    let inner: Value = serde_json::from_str(across["substep_template"].as_str().unwrap()).unwrap();
    assert_eq!(inner["task"]["name"], format!("{hostile}-((.:inner))"));
    assert_eq!(inner["task"]["config_path"], "5");
    assert_eq!(inner["task"]["privileged"], false);
}
