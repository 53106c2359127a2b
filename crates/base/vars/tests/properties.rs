//! Properties that hold for all texts and values.

use std::time::{Duration, Instant};

use airside_vars::{Given, InstanceVars, Reference, interpolate, names, resolve};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn part() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,5}", "[a-z.:/, ]{0,3}[a-z]{1,3}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,8}".prop_map(Value::from),
        "[(]{0,3}[a-c.:]{0,3}[)]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(part(), inner, 1..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_shown_reference_reads_as_itself(
        source in prop_oneof![Just(String::new()), "[a-z.]{1,4}"],
        path in part(),
        fields in prop::collection::vec(part(), 0..3),
    ) {
        // A part is read without the spaces around it unless it is quoted, which it is then.
        let reference = Reference { source, path, fields };
        prop_assert_eq!(Reference::parse(&reference.to_string()), Ok(reference));
    }

    #[test]
    fn no_text_panics(text in any::<String>(), inside in "[()a-z.:\" ]{0,30}") {
        for text in [text, inside] {
            let _ = Reference::parse(&text);
            let _ = names(&text).count();
            let _ = resolve(json!(text), &Given::default());
        }
    }

    #[test]
    fn without_values_nothing_changes(value in value()) {
        // Unless a name is malformed, which is an error.
        if let Ok(same) = interpolate(value.clone(), &Given::default()) {
            prop_assert_eq!(same, value);
        }
    }

    #[test]
    fn instance_vars_survive_a_url(entries in prop::collection::btree_map(part(), value(), 1..4)) {
        let vars = InstanceVars(entries.into_iter().collect::<Map<_, _>>());
        let query = vars.to_query();
        let pairs = query.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        prop_assert_eq!(InstanceVars::from_query(pairs).unwrap(), Some(vars));
    }
}

#[test]
fn long_texts_take_time_in_proportion() {
    let vars = Given(Map::from_iter([("a".to_owned(), json!("x"))]));
    for piece in ["((a))", "((", "((a", "((a)(", "(((a)))", "((\""] {
        let started = Instant::now();
        let filled = interpolate(json!(piece.repeat(200_000)), &vars);
        // Quadratic would be minutes.
        assert!(started.elapsed() < Duration::from_secs(10), "{piece}");
        assert!(filled.is_ok(), "{piece}");
    }
}
