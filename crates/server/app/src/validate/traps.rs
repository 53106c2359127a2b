//! Texts that YAML 1.1 takes for something else, so that a value is another than it looks: `on:` is
//! the key `true`, `1.10` the number 1.1 and `0777` the number 511. Concourse reads them so too,
//! without a word.

use std::collections::HashSet;

use airside_config::Warning;
use airside_yaml::{Key, Node, Span, Value};

/// A warning for each trap of a document, in the order of the text.
pub(super) fn warnings(text: &str, node: &Node) -> Vec<Warning> {
    let mut traps = Traps {
        text,
        seen: HashSet::new(),
        found: Vec::new(),
    };
    traps.walk(node);
    traps
        .found
        .sort_by_key(|warning| warning.span.map(|span| span.start));
    traps.found
}

struct Traps<'a> {
    text: &'a str,
    /// The beginnings of values that were looked at: one behind an anchor is met again at each
    /// alias.
    seen: HashSet<usize>,
    found: Vec<Warning>,
}

impl Traps<'_> {
    fn walk(&mut self, node: &Node) {
        match &node.value {
            Value::Seq(items) => items.iter().for_each(|item| self.walk(item)),
            Value::Map(entries) => {
                for (key, value) in entries {
                    self.key(key);
                    self.walk(value);
                }
            }
            Value::Int(number) => self.number(node.span, &number.to_string(), is_octal),
            Value::Float(number) => {
                let number = airside_yaml::float_json_text(*number);
                self.number(node.span, &number, is_rounded);
            }
            Value::Null | Value::Bool(_) | Value::UInt(_) | Value::String(_) => {}
        }
    }

    fn key(&mut self, key: &Key) {
        let Some(written) = self.written(key.span) else {
            return;
        };
        let is_word = matches!(key.text.as_str(), "true" | "false" | "null");
        let is_plain = !written.starts_with(['"', '\'']);
        if is_word && is_plain && !written.eq_ignore_ascii_case(&key.text) {
            self.warn(key.span, &key.text);
        }
    }

    fn number(&mut self, span: Span, read: &str, is_trap: fn(&str) -> bool) {
        let written = self.written(span);
        if written.is_some_and(|written| is_trap(written) && written != read) {
            self.warn(span, read);
        }
    }

    fn written(&self, span: Span) -> Option<&str> {
        self.text.get(span.start.offset..span.end.offset)
    }

    fn warn(&mut self, span: Span, read: &str) {
        if !self.seen.insert(span.start.offset) {
            return;
        }
        let written = self.written(span).unwrap_or_default();
        let message =
            format!("`{written}` is read as `{read}`; if the text is meant, put it in quotes");
        self.found
            .push(Warning::new("yaml_trap", message, Some(span)));
    }
}

/// `0777`, but not `0` or `0x1f`.
fn is_octal(written: &str) -> bool {
    let digits = written.strip_prefix('0').unwrap_or_default();
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// `1.10`: a version, more often than a number.
fn is_rounded(written: &str) -> bool {
    let plain = written.chars().all(|c| c.is_ascii_digit() || c == '.');
    plain && written.contains('.') && written.ends_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_as_something_else_is_told_with_its_place() {
        let text = "on: [1.10, 0777, 1.5, \"1.10\", 0, 010]\n\"on\": y\nmode: &m 0644\nagain: *m\nport: ((p))\n";
        let found = warnings(text, &airside_yaml::parse(text).unwrap());
        let shown: Vec<(String, usize)> = found
            .into_iter()
            .map(|warning| {
                let line = warning.span.map_or(0, |span| span.start.line);
                let words = warning.message.split(';').next().unwrap_or_default();
                (words.to_owned(), line)
            })
            .collect();
        let expected = [
            ("`on` is read as `true`", 1),
            ("`1.10` is read as `1.1`", 1),
            ("`0777` is read as `511`", 1),
            ("`010` is read as `8`", 1),
            ("`0644` is read as `420`", 3),
        ];
        let expected = expected.map(|(words, line)| (words.to_owned(), line));
        assert_eq!(shown, expected);
    }
}
