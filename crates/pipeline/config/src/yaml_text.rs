//! JSON as YAML for people: keys sorted, lists not indented, long texts as blocks.

use serde_json::{Map, Value};

/// Ends with a line break.
pub(crate) fn yaml_text(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_map(map, 0, &mut text),
        Value::Array(items) if !items.is_empty() => write_list(items, 0, &mut text),
        other => {
            write_scalar(other, 0, &mut text);
            text.push('\n');
        }
    }
    text
}

fn write_map(map: &Map<String, Value>, indent: usize, text: &mut String) {
    let mut fields: Vec<_> = map.iter().collect();
    fields.sort_by_key(|(key, _)| *key);
    for (number, (key, value)) in fields.into_iter().enumerate() {
        if number > 0 {
            text.push_str(&" ".repeat(indent));
        }
        text.push_str(&word(key));
        text.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                text.push_str(&" ".repeat(indent + 2));
                write_map(inner, indent + 2, text);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                text.push_str(&" ".repeat(indent));
                write_list(items, indent, text);
            }
            scalar => {
                text.push(' ');
                write_scalar(scalar, indent + 2, text);
                text.push('\n');
            }
        }
    }
}

fn write_list(items: &[Value], indent: usize, text: &mut String) {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            text.push_str(&" ".repeat(indent));
        }
        text.push_str("- ");
        match item {
            Value::Object(inner) if !inner.is_empty() => write_map(inner, indent + 2, text),
            Value::Array(items) if !items.is_empty() => write_list(items, indent + 2, text),
            scalar => {
                write_scalar(scalar, indent + 2, text);
                text.push('\n');
            }
        }
    }
}

/// Writes a scalar without the line break behind it.
fn write_scalar(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::String(content) if is_block(content) => {
            let ending = if content.ends_with('\n') { "|" } else { "|-" };
            text.push_str(ending);
            for line in content.strip_suffix('\n').unwrap_or(content).split('\n') {
                text.push('\n');
                if !line.is_empty() {
                    text.push_str(&" ".repeat(indent));
                    text.push_str(line);
                }
            }
        }
        Value::String(content) => text.push_str(&word(content)),
        other => text.push_str(&other.to_string()),
    }
}

fn is_block(content: &str) -> bool {
    let readable = |c: char| c == '\n' || c == '\t' || !c.is_control();
    content.trim_end_matches('\n').contains('\n')
        && !content.starts_with([' ', '\t', '\n'])
        && !content.ends_with("\n\n")
        && content.chars().all(readable)
}

/// A text as it is if it would be read as itself, else in quotes.
fn word(content: &str) -> String {
    let read = airside_yaml::parse(content).and_then(|node| node.to_json());
    let is_itself = read.is_ok_and(|value| value == Value::String(content.to_owned()));
    if is_itself && !content.contains('\n') {
        content.to_owned()
    } else {
        Value::String(content.to_owned()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_for_people_and_read_back() {
        let value = json!({
            "name": "j", "plan": [{"get": "r", "trigger": true}, {"do": []}, [1, ["x"]]],
            "args": ["-c", "echo a\necho b\n"], "empty": {}, "none": null,
            "odd": ["yes", "1", "a: b", "", " x", "#", "x\n", "a\n\nb"], "k: y": 1.5,
        });
        let text = yaml_text(&value);
        let expected = "args:\n- -c\n- |\n  echo a\n  echo b\nempty: {}\n\"k: y\": 1.5\nname: j\n\
            none: null\nodd:\n- \"yes\"\n- \"1\"\n- \"a: b\"\n- \"\"\n- \" x\"\n- \"#\"\n- \"x\\n\"\n\
            - |-\n  a\n\n  b\nplan:\n- get: r\n  trigger: true\n- do: []\n- - 1\n  - - x\n";
        assert_eq!(text, expected);
        let read = airside_yaml::parse(&text).unwrap().to_json().unwrap();
        assert_eq!(read, value);
    }
}
