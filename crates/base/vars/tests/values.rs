//! Values of variables, and the messages if there is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use airside_vars::{
    Chain, Error, Given, InstanceVars, Lookup, Reference, Sources, VarScope, expand, interpolate,
    resolve,
};
use serde_json::{Map, Value, json};

fn given(value: Value) -> Given {
    Given(serde_json::from_value(value).expect("a map"))
}

fn vars() -> Given {
    given(json!({
        "text": "t", "number": 3, "float": 1.5, "flag": true, "nothing": null,
        "list": [1, "x"], "map": {"a": {"b.c": "deep"}, "n": 7}, "evil": "((text))",
    }))
}

#[test]
fn values_keep_their_type_where_they_stand_alone() {
    for (text, expected) in [
        ("((text))", json!("t")),
        ("((number))", json!(3)),
        ("((flag))", json!(true)),
        ("((nothing))", json!(null)),
        ("((list))", json!([1, "x"])),
        ("((map.a))", json!({"b.c": "deep"})),
        ("((map.a.\"b.c\"))", json!("deep")),
        ("a((text))b((number))((float))", json!("atb31.5")),
        ("((evil)) ((text))", json!("((text)) t")),
        ("((unknown))", json!("((unknown))")),
        ("((unknown))-((text))", json!("((unknown))-t")),
        ("((other:text))", json!("((other:text))")),
        ("$((1 + 1))", json!("$((1 + 1))")),
    ] {
        let filled = interpolate(json!(text), &vars()).unwrap();
        assert_eq!(filled, expected, "{text}");
    }
}

#[test]
fn everything_in_a_value_is_filled_in() {
    let value = json!({"((text))": [{"k-((number))": "((list))"}, 1, null], "((number))": 1, "((flag))": 2});
    assert_eq!(
        interpolate(value, &vars()).unwrap(),
        json!({"t": [{"k-3": [1, "x"]}, 1, null], "3": 1, "true": 2})
    );
}

#[test]
fn what_does_not_fit_is_an_error() {
    for (value, words) in [
        (
            json!("a ((flag))"),
            "cannot interpolate non-primitive value (a boolean) from var: flag",
        ),
        (
            json!("a ((map.a))"),
            "cannot interpolate non-primitive value (a map) from var: map.a",
        ),
        (
            json!({"((list))": 1}),
            "cannot interpolate non-primitive value (a list) from var: ((list))",
        ),
        (json!("((map.z))"), "missing field 'z' in var: map.z"),
        (
            json!("((text.z))"),
            "cannot access field 'z' of non-map value (a string) from var: text.z",
        ),
        (json!("((a..b))"), "invalid var 'a..b': empty field"),
    ] {
        assert_eq!(interpolate(value, &vars()).unwrap_err().to_string(), words);
    }
}

#[test]
fn all_missing_variables_are_named_in_order() {
    let value =
        json!({"x": "((zoo)) ((text))", "((key))": ["((vault:a.b))", "((.:l))", "((zoo))"]});
    let error = resolve(value, &vars()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "undefined vars: .:l, key, vault:a.b, zoo"
    );
    assert_eq!(resolve(json!("((text))"), &vars()), Ok(json!("t")));
}

#[test]
fn the_first_that_knows_wins_and_sources_have_names() {
    let (early, late) = (given(json!({"a": 1})), given(json!({"a": 2, "b": 3})));
    let vault = |reference: &Reference| match reference.path.as_str() {
        "secret" => Ok(Some(json!("s"))),
        "broken" => Err(Error::Lookup {
            name: reference.to_string(),
            reason: "sealed".into(),
        }),
        _ => Ok(None),
    };
    let sources: BTreeMap<String, Box<dyn Lookup>> =
        BTreeMap::from([("vault".to_owned(), Box::new(vault) as Box<dyn Lookup>)]);
    let sources = Sources(sources);
    let chain = Chain(vec![&early, &late, &sources]);
    let value = json!(["((a))", "((b))", "((vault:secret))"]);
    assert_eq!(resolve(value, &chain), Ok(json!([1, 3, "s"])));
    for (text, words) in [
        ("((vault:nope))", "undefined vars: vault:nope"),
        ("((other:x))", "missing source 'other' in var: other:x"),
        ("((vault:broken))", "cannot look up var 'broken': sealed"),
        ("((nope))", "undefined vars: nope"),
    ] {
        assert_eq!(resolve(json!(text), &chain).unwrap_err().to_string(), words);
    }
}

#[test]
fn inner_scopes_hide_outer_ones_and_keep_what_they_learn() {
    let build = Arc::new(VarScope::default());
    build.add("a", json!("outer"));
    build.add("token", json!({"k": "s3cret", "list": ["x", 5, true, ""]}));
    let inner = build.inner();
    inner.add("a", json!("inner"));
    inner.add("b", json!(1));
    let both = json!(["((.:a))", "((.:token.k))"]);
    assert_eq!(
        resolve(both.clone(), &inner),
        Ok(json!(["inner", "s3cret"]))
    );
    assert_eq!(resolve(both, &build), Ok(json!(["outer", "s3cret"])));
    assert!(resolve(json!("((.:b))"), &build).is_err());
    assert!(resolve(json!("((a))"), &inner).is_err(), "not a local one");
}

#[test]
fn instance_vars_travel_as_parameters() {
    let Given(map) = given(json!({
        "branch": "feature/x", "n": 1, "nested": {"a.b": [1], "c": null}, "text": "true",
    }));
    let vars = InstanceVars(map);
    let query = vars.to_query();
    assert_eq!(
        query,
        [
            ("vars.branch", r#""feature/x""#),
            ("vars.n", "1"),
            (r#"vars.nested."a.b""#, "[1]"),
            ("vars.nested.c", "null"),
            ("vars.text", r#""true""#),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    let pairs = query
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    assert_eq!(InstanceVars::from_query(pairs), Ok(Some(vars.clone())));
    assert_eq!(
        vars.shown(|text| text != "true"),
        r#"branch:"feature/x",n:1,nested."a.b":[1],nested.c:null,text:"true""#
    );
}

#[test]
fn parameters_are_laid_over_the_whole() {
    let read = |pairs: &[(&str, &str)]| InstanceVars::from_query(pairs.iter().copied());
    let pairs = [
        ("vars.a.b", "2"),
        ("limit", "x"),
        ("vars", r#"{"a": {"b": 1, "c": 3}}"#),
        ("vars.a.b", "ignored"),
    ];
    let Given(expected) = given(json!({"a": {"b": 2, "c": 3}}));
    assert_eq!(read(&pairs), Ok(Some(InstanceVars(expected))));
    assert_eq!(read(&[("varsity", "1")]), Ok(None));
    assert_eq!(read(&[("vars", "null")]), Ok(None));
    assert_eq!(
        read(&[("vars.", "1")]).unwrap_err().to_string(),
        "invalid var 'vars.': empty field"
    );
    assert!(matches!(
        read(&[("vars.a", "{")]),
        Err(Error::NotJson { .. })
    ));
    let deep = format!("vars{}", ".a".repeat(30_000));
    assert!(matches!(read(&[(&deep, "1")]), Err(Error::Syntax { .. })));
}

#[test]
fn later_leaves_win() {
    let leaf = |name: &str, value: Value| (Reference::parse(name).unwrap(), value);
    let nested = expand([
        leaf("a", json!(1)),
        leaf("a.b", json!(2)),
        leaf("a.c.d", json!(3)),
        leaf("e.f", json!(4)),
        leaf("e", json!(5)),
    ]);
    let expected: Map<String, Value> =
        serde_json::from_value(json!({"a": {"b": 2, "c": {"d": 3}}, "e": 5})).unwrap();
    assert_eq!(nested, expected);
}
