//! Every value knows where it stands, and so does every error.

use airside_yaml::{Node, Value, parse};

fn at<'a>(text: &'a str, node: &Node) -> &'a str {
    &text[node.span.start.offset..node.span.end.offset]
}

#[test]
fn scalars_keys_and_collections_have_spans() {
    let text = "é: 1\njobs:\n- name: \"b\"\n  plan: [x,  yes]\n";
    let root = parse(text).unwrap();
    let jobs = root.get("jobs").unwrap();
    let Value::Seq(items) = &jobs.value else {
        panic!("a list")
    };
    let name = items[0].get("name").unwrap();
    assert_eq!((name.span.start.line, name.span.start.column), (3, 9));
    assert_eq!(at(text, name), "\"b\"");
    let plan = items[0].get("plan").unwrap();
    assert_eq!(at(text, plan), "[x,  yes]");
    let Value::Map(entries) = &root.value else {
        panic!("a map")
    };
    let key = &entries[1].0;
    assert_eq!((key.span.start.line, key.span.start.column), (2, 1));
    assert_eq!(&text[key.span.start.offset..key.span.end.offset], "jobs");
}

#[test]
fn what_an_alias_brings_stands_at_its_anchor() {
    let root = parse("a: &x {k: 1}\nb: *x\n").unwrap();
    assert_eq!(root.get("b").unwrap().get("k").unwrap().span.start.line, 1);
}

#[test]
fn errors_say_where() {
    for (text, message) in [
        (
            "a: 1\nb: *nope\n",
            "line 2, column 4: unknown anchor 'nope'",
        ),
        (
            "m:\n  <<: 3\n",
            "line 2, column 7: `<<` needs a map or a list of maps as its value",
        ),
        (
            "m:\n  ~: 3\n",
            "line 2, column 3: null cannot be the key of a map",
        ),
        (
            "a: &a\n  b: *a\n",
            "line 2, column 6: the anchor's value contains itself",
        ),
        (
            "a: !!int x\n",
            "line 1, column 10: `x` is not a whole number, as its tag says",
        ),
        (
            "18446744073709551615: a\n",
            "line 1, column 1: a number this large cannot be the key of a map",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), message);
    }
    let syntax = parse("a:\n\tb: 1\n").unwrap_err();
    assert_eq!(syntax.position.line, 2);
    let infinite = parse("a: 1\nb: .inf\n").unwrap().to_json().unwrap_err();
    assert_eq!(
        infinite.to_string(),
        "line 2, column 4: the number +Inf cannot be written as JSON"
    );
}

#[test]
fn lines_of_a_quoted_text_without_a_margin_move_nothing() {
    let text = "é:\n  b: \"x\nyé\n  z\"\n  c: here\nd: 'p\nq'\ne: last\n";
    let root = parse(text).unwrap();
    let inner = root.get("é").unwrap();
    let quoted = inner.get("b").unwrap();
    assert_eq!(at(text, quoted), "\"x\nyé\n  z\"");
    assert_eq!((quoted.span.end.line, quoted.span.end.column), (4, 5));
    assert_eq!(at(text, inner.get("c").unwrap()), "here");
    assert_eq!(at(text, root.get("e").unwrap()), "last");
    let end = root.get("d").unwrap().span.end;
    assert_eq!((end.line, end.column), (7, 3));
    // What is wrong after one is told where it is.
    let error = parse("a: \"x\ny\"\nb: [\n").unwrap_err();
    assert_eq!((error.position.line, error.position.column), (3, 4));
}

#[test]
fn hostile_margins_are_refused_before_they_cost_much() {
    // Each of these lines would get a million spaces.
    let far = format!(
        "a:{}\"x{}\"\n",
        " ".repeat(1_000_000),
        "\ny".repeat(100_000)
    );
    assert!(parse(&far).is_err());
}
