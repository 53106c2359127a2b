//! Finds `((variables))` in texts.

use std::collections::BTreeSet;

use serde_json::Value;

/// A piece of a text: as it stands, or a variable's name without its parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    Var(&'a str),
}

/// Cuts a text into pieces. `$((1 + 2))` of a shell script is not a variable: spaces are not
/// allowed.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut taken = 0;
    let mut from = 0;
    while let Some(open) = text[from..].find("((") {
        let start = from + open;
        let name = &text[start + 2..];
        let length = name.find(|c: char| !is_name_char(c)).unwrap_or(name.len());
        if length == 0 || !name[length..].starts_with("))") {
            // What has been looked at holds no further opening, except just behind the first one.
            from = if length == 0 {
                start + 1
            } else {
                start + 2 + length
            };
            continue;
        }
        if taken < start {
            pieces.push(Piece::Text(&text[taken..start]));
        }
        pieces.push(Piece::Var(&name[..length]));
        taken = start + 2 + length + 2;
        from = taken;
    }
    if taken < text.len() {
        pieces.push(Piece::Text(&text[taken..]));
    }
    pieces
}

fn is_name_char(c: char) -> bool {
    c.is_alphabetic() || c.is_ascii_digit() || matches!(c, '-' | '/' | '.' | ':' | '@' | '"' | '_')
}

/// The names of all variables of a text, in order, without their parentheses.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Var(name) => Some(name),
        Piece::Text(_) => None,
    })
}

/// The first variable of a text, without its parentheses.
pub fn first(text: &str) -> Option<&str> {
    if text.contains("((") {
        names(text).next()
    } else {
        None
    }
}

/// The names of all variables in a value, its keys included, sorted.
pub fn names_in(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(value, &mut found);
    found
}

fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => found.extend(names(text).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(map) => {
            for (key, value) in map {
                found.extend(names(key).map(str::to_owned));
                collect(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_variables_and_nothing_else() {
        for (text, expected) in [
            ("a ((b)) ((c))", &["b", "c"][..]),
            ("((vault:\"x.y\".z))", &["vault:\"x.y\".z"]),
            ("(((x)))", &["x"]),
            ("((((x))))", &["x"]),
            ("((é))((/a/b@c-d_e))", &["é", "/a/b@c-d_e"]),
            ("((a((b))", &["b"]),
            ("((a)((b))", &["b"]),
            ("((a))(b))", &["a"]),
            ("", &[]),
            ("((", &[]),
            ("(())", &[]),
            ("$((1 + 2))", &[]),
            ("((a b))", &[]),
            ("((a)", &[]),
            ("(( ((a )) ", &[]),
            ("((a,b))", &[]),
        ] {
            assert_eq!(names(text).collect::<Vec<_>>(), expected, "{text}");
            assert_eq!(first(text), expected.first().copied(), "{text}");
        }
    }

    #[test]
    fn keys_are_searched_too() {
        let value = serde_json::json!({"((k))": [{"a": "((v)) ((k))"}, 1, null, true]});
        assert_eq!(names_in(&value), BTreeSet::from(["k".into(), "v".into()]));
    }
}
