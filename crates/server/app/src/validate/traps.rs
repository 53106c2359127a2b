//! Texts that YAML 1.1 takes for something else, so that a value is another than it looks: `on:` is
//! the key `true`, `1.10` the number 1.1 and `0777` the number 511. Concourse reads them so too,
//! without a word.

use std::collections::HashSet;

use airside_config::{Warning, env_text};
use airside_yaml::{Key, Node, Span, Value};

/// Type of the warnings about traps.
pub(super) const TYPE: &str = "yaml_trap";

/// A text that is read as something else.
pub(super) struct Trap {
    pub(super) span: Span,
    written: String,
    read: String,
    /// Text is wanted there, and a person would read what is written. It is not a word such as
    /// `yes`, which a program may well want to have as `true`.
    pub(super) is_certain: bool,
}

impl Trap {
    pub(super) fn warning(&self) -> Warning {
        Warning::new(TYPE, message(&self.written, &self.read), Some(self.span))
    }
}

pub(super) fn message(written: &str, read: &str) -> String {
    format!("`{written}` is read as `{read}`; if the text is meant, put it in quotes")
}

/// The traps of a document, in the order of the text.
pub(super) fn find(text: &str, node: &Node) -> Vec<Trap> {
    let mut finder = Finder {
        text,
        seen: HashSet::new(),
        found: Vec::new(),
    };
    finder.walk(node);
    finder.names(node);
    finder.found.sort_by_key(|trap| trap.span.start);
    finder.found
}

/// Returns a word such as `on` as it is written, and as it is read.
pub(super) fn word<'t>(text: &'t str, node: &Node) -> Option<(&'t str, &'static str)> {
    let Value::Bool(value) = node.value else {
        return None;
    };
    let read = if value { "true" } else { "false" };
    let written = plain(text, node.span)?;
    (!written.eq_ignore_ascii_case(read)).then_some((written, read))
}

/// Returns what is written at a place, unless it is in quotes, or a variable.
fn plain(text: &str, span: Span) -> Option<&str> {
    let written = text.get(span.start.offset..span.end.offset)?;
    let is_plain = !written.starts_with(['"', '\'', '!', '|', '>']) && !written.contains("((");
    is_plain.then_some(written)
}

struct Finder<'a> {
    text: &'a str,
    /// Places that were looked at: what is behind an anchor is met again at each alias.
    seen: HashSet<usize>,
    found: Vec<Trap>,
}

impl Finder<'_> {
    fn walk(&mut self, node: &Node) {
        match &node.value {
            Value::Seq(items) => items.iter().for_each(|item| self.walk(item)),
            Value::Map(entries) => {
                let is_task = ["task", "platform"]
                    .iter()
                    .any(|key| node.get(key).is_some());
                for (key, value) in entries {
                    match key.text.as_str() {
                        "params" if is_task => self.environment(value),
                        "across" => self.across(value),
                        _ => {}
                    }
                    self.key(key, false);
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

    /// The variables of a task, which are all texts.
    fn environment(&mut self, params: &Node) {
        if let Value::Map(entries) = &params.value {
            for (key, value) in entries {
                self.key(key, true);
                self.text_value(value, true);
            }
        }
    }

    /// The values of `across`, which become part of texts.
    fn across(&mut self, vars: &Node) {
        let Value::Seq(vars) = &vars.value else {
            return;
        };
        let values = vars.iter().filter_map(|var| var.get("values"));
        for values in values {
            if let Value::Seq(values) = &values.value {
                values.iter().for_each(|value| self.text_value(value, true));
            }
        }
    }

    /// The names and types of resources, types, jobs and groups.
    fn names(&mut self, root: &Node) {
        for section in [
            "resources",
            "resource_types",
            "prototypes",
            "jobs",
            "groups",
        ] {
            if let Some(Value::Seq(items)) = root.get(section).map(|list| &list.value) {
                let names = items
                    .iter()
                    .flat_map(|item| [item.get("name"), item.get("type")]);
                // With another name it would be another resource or job: the author has to decide.
                names
                    .flatten()
                    .for_each(|name| self.text_value(name, false));
            }
        }
    }

    /// A scalar where text is wanted: it is a trap if its text is not what is written.
    fn text_value(&mut self, node: &Node, may_be_certain: bool) {
        let is_number = match node.value {
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => true,
            Value::Bool(_) => false,
            _ => return,
        };
        let Some(written) = plain(self.text, node.span).map(str::to_owned) else {
            return;
        };
        let read = node.to_json().map(|value| env_text(&value));
        if let Some(read) = read.ok().filter(|read| *read != written) {
            self.note(node.span, written, read, is_number && may_be_certain);
        }
    }

    fn key(&mut self, key: &Key, is_text: bool) {
        let Some(written) = plain(self.text, key.span).map(str::to_owned) else {
            return;
        };
        let is_word = matches!(key.text.as_str(), "true" | "false" | "null");
        let is_trap = if is_word {
            !written.eq_ignore_ascii_case(&key.text)
        } else {
            written != key.text && (is_octal(&written) || is_rounded(&written))
        };
        if is_trap {
            self.note(key.span, written, key.text.clone(), is_text);
        }
    }

    fn number(&mut self, span: Span, read: &str, is_trap: fn(&str) -> bool) {
        let written = plain(self.text, span).filter(|written| is_trap(written));
        if let Some(written) = written.filter(|written| *written != read) {
            self.note(span, written.to_owned(), read.to_owned(), false);
        }
    }

    fn note(&mut self, span: Span, written: String, read: String, is_certain: bool) {
        if self.seen.insert(span.start.offset) {
            self.found.push(Trap {
                span,
                written,
                read,
                is_certain,
            });
        }
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

    /// Returns line, text and reading of each trap; those that are certain end with an exclamation
    /// mark.
    fn found(text: &str) -> Vec<String> {
        let found = find(text, &airside_yaml::parse(text).unwrap());
        let shown = found.iter().map(|trap| {
            let mark = if trap.is_certain { "!" } else { "" };
            format!(
                "{} {} {}{mark}",
                trap.span.start.line, trap.written, trap.read
            )
        });
        shown.collect()
    }

    #[test]
    fn texts_that_are_read_as_something_else_are_found_with_their_place() {
        let text = "on: [1.10, 0777, 1.5, \"1.10\", 0, 010]\n\"on\": y\nmode: &m 0644\nagain: *m\nport: ((p))\n";
        assert_eq!(
            found(text),
            [
                "1 on true",
                "1 1.10 1.1",
                "1 0777 511",
                "1 010 8",
                "3 0644 420"
            ]
        );
        assert_eq!(found("1.10: a\n08: b\n1.5: c\n"), ["1 1.10 1.1", "2 08 8"]);
    }

    #[test]
    fn where_text_is_wanted_every_scalar_is_text() {
        for (text, expected) in [
            (
                "task: t\nparams: {A: on, B: No, C: true, D: 1.10, E: 12:30:45}",
                &["2 on true", "2 No false", "2 1.10 1.1!"][..],
            ),
            (
                "task: t\nparams: {A: 0777, B: 1_000, C: 0x1f, D: 1e3, E: 12, F: 2024-01-02}",
                &["2 0777 511!", "2 1_000 1000!", "2 0x1f 31!", "2 1e3 1000!"],
            ),
            (
                "task: t\nparams: {on: 1, N: 2, A: ~, B: '1.10', C: !!str 1.10, D: [on, 1.0]}",
                &["2 on true!", "2 N false!", "2 1.0 1"],
            ),
            ("platform: linux\nparams: {A: True}", &["2 True true"]),
            // Other params may well be booleans.
            ("get: r\nparams: {submodules: no}", &[]),
            ("trigger: yes\nserial: on", &[]),
            (
                "across: [{var: v, values: [1.9, 1.10, yes, a]}]",
                &["1 1.10 1.1!", "1 yes true"],
            ),
            (
                "jobs: [{name: on, serial: yes}]\nresources: [{name: 1.20, type: n}]",
                &["1 on true", "2 1.20 1.2", "2 n false"],
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
