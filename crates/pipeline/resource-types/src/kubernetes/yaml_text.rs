//! JSON as YAML for people. Texts are written as in JSON, which YAML reads alike.

use serde_json::Value;

/// Writes a value as a YAML document.
pub(super) fn yaml(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text.trim_start_matches('\n').to_owned() + "\n"
}

/// Writes a value behind a key or a dash.
fn write(value: &Value, indent: usize, to: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                line(indent, to);
                *to += &scalar(key);
                to.push(':');
                write(value, indent + 1, to);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                line(indent, to);
                to.push('-');
                write(item, indent + 1, to);
            }
        }
        Value::String(text) => {
            to.push(' ');
            *to += &scalar(text);
        }
        other => {
            to.push(' ');
            *to += &other.to_string();
        }
    }
}

fn line(indent: usize, to: &mut String) {
    to.push('\n');
    to.extend(std::iter::repeat_n("  ", indent));
}

/// Quotes a text unless it is a plain word that YAML could not take for anything else.
fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    if is_word && airside_yaml::is_text(text) {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let value = json!({
            "kind": "Job", "yes": "yes", "n": "1", "e": {}, "l": [], "t": "a: b\n# c", "u": "\u{1}é",
            "list": [{"a": 1, "b": [true, null, "x"]}, [1, [2]], "y"], "deep": {"er": {"x.y/z": 1.5}},
        });
        let text = yaml(&value);
        let read = airside_yaml::parse(&text).unwrap().to_json().unwrap();
        assert_eq!(read, value, "{text}");
        assert!(text.starts_with("kind: Job\n\"yes\": \"yes\"\n"), "{text}");
        assert_eq!(yaml(&json!({})), " {}\n");
    }
}
