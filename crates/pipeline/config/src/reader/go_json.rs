//! JSON text exactly as Go writes it. Where a param is a list or map, this text is its value, and
//! `fly` compares it with the text that it makes itself.

use serde_json::Value;

/// Keys sorted, numbers in Go's form, `<`, `>` and `&` escaped.
pub(super) fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().expect("a number that says it is a float");
            out.push_str(&airside_yaml::float_json_text(float));
        }
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    for c in Value::from(text).to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_gos() {
        let value = serde_json::json!({"b": [1, 1.5, 1e21, null, true], "a": "<x> & \"y\"\n"});
        assert_eq!(
            text(&value),
            r#"{"a":"\u003cx\u003e \u0026 \"y\"\n","b":[1,1.5,1e+21,null,true]}"#
        );
    }
}
