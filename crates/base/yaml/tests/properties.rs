//! Odd inputs: no text may panic, overflow the stack or eat the memory.

use airside_yaml::{ErrorKind, MAX_DEPTH, parse};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = parse(&text).map(|node| node.to_json());
    }

    #[test]
    fn nothing_made_of_yaml_parts_panics(parts in prop::collection::vec(part(), 0..40)) {
        let _ = parse(&parts.concat()).map(|node| node.to_json());
    }

    #[test]
    fn json_reads_as_itself(text in "[ -~éß\n\t]{0,20}", number in any::<i64>(), flag: bool) {
        let json = serde_json::json!({"a": [text, number, flag, null_value()], "b": {"c": text}});
        let node = parse(&json.to_string()).unwrap();
        prop_assert_eq!(node.to_json().unwrap(), json);
    }
}

fn null_value() -> serde_json::Value {
    serde_json::Value::Null
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a: ".to_owned()),
        Just("- ".to_owned()),
        Just("\n".to_owned()),
        Just("\n  ".to_owned()),
        Just("? ".to_owned()),
        Just("&a ".to_owned()),
        Just("*a".to_owned()),
        Just("<<: ".to_owned()),
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(", ".to_owned()),
        Just("|\n ".to_owned()),
        Just("!!int ".to_owned()),
        Just("! ".to_owned()),
        Just("\"".to_owned()),
        Just("---\n".to_owned()),
        Just("\u{feff}".to_owned()),
        "[0-9a-fxob_.+-]{1,6}",
    ]
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    for levels in [MAX_DEPTH + 1, 200_000] {
        assert_eq!(parse(&nested(levels)).unwrap_err().kind, ErrorKind::TooDeep);
    }
    let blocks = |levels: usize| "- ".repeat(levels) + "1";
    assert_eq!(
        parse(&blocks(200_000)).unwrap_err().kind,
        ErrorKind::TooDeep
    );
}

#[test]
fn depth_through_aliases_is_refused() {
    let mut text = String::from("a0: &a0 [1]\n");
    for level in 1..5000 {
        text.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    assert_eq!(parse(&text).unwrap_err().kind, ErrorKind::TooDeep);
    let mut text = String::from("a0: &a0 {x: 1}\n");
    for level in 1..5000 {
        text.push_str(&format!("a{level}: &a{level} {{<<: *a{}}}\n", level - 1));
    }
    assert_eq!(parse(&text).unwrap_err().kind, ErrorKind::TooDeep);
}

#[test]
fn a_long_string_is_not_multiplied_without_bound() {
    let text = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1 << 20),
        "*a, ".repeat(1000)
    );
    assert_eq!(parse(&text).unwrap_err().kind, ErrorKind::ExcessiveAliasing);
}
