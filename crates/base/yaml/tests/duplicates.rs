//! Keys that a map has twice, and where.

use airside_yaml::duplicate_keys;

/// A key, its line and column, and the line of the first.
type Found = (&'static str, usize, usize, usize);

#[test]
fn equal_keys_of_one_map_are_found_with_their_places() {
    let cases: [(&str, &[Found]); 8] = [
        ("a: 1\nb: 2\n", &[]),
        ("", &[]),
        ("a: 1\na: 2\n", &[("a", 2, 1, 1)]),
        ("a: 1\na: 2\na: 3\n", &[("a", 2, 1, 1), ("a", 3, 1, 1)]),
        // The same words in different maps are different keys.
        ("x: {a: 1}\ny: {a: 1}\n", &[]),
        ("x:\n- {a: 1, \"a\": 2}\n", &[("a", 2, 10, 2)]),
        // Keys are text: these are the same.
        ("1: a\n\"1\": b\n", &[("1", 2, 1, 1)]),
        // To overwrite what is merged in is what merging is for.
        ("b: &b {a: 1}\nc: {<<: *b, a: 2}\n", &[]),
    ];
    for (text, expected) in cases {
        let found = duplicate_keys(text).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|twice| {
                let at = twice.key.span.start;
                let first = twice.first.start.line;
                (twice.key.text.as_str(), at.line, at.column, first)
            })
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }
    assert!(duplicate_keys("a: [").is_err());
}
