//! The text between the parentheses of a variable.

use std::fmt;

use crate::Error;

/// The source of variables that belong to one build.
pub const LOCAL: &str = ".";

/// `source:path.field.field`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Empty for variables given when the pipeline is set and for the installation's own secrets.
    pub source: String,
    pub path: String,
    pub fields: Vec<String>,
}

impl Reference {
    /// A quoted part may hold `.` and `:`; the quotes themselves mean nothing.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let wrong = |reason| Error::Syntax {
            name: name.to_owned(),
            reason,
        };
        let (source, rest) = split_unquoted(name, ':').unwrap_or(("", name));
        if source.contains('"') {
            return Err(wrong("source must not be quoted"));
        }
        let mut parts = Vec::new();
        let mut rest = Some(rest);
        while let Some(text) = rest {
            let (part, next) = match split_unquoted(text, '.') {
                Some((part, next)) => (part, Some(next)),
                None => (text, None),
            };
            let part = part.trim().replace('"', "");
            if part.is_empty() {
                return Err(wrong("empty field"));
            }
            parts.push(part);
            rest = next;
        }
        let fields = parts.split_off(1);
        Ok(Self {
            source: source.to_owned(),
            path: parts.pop().unwrap_or_default(),
            fields,
        })
    }

    /// Returns the reference that a named source is asked for.
    pub fn without_source(&self) -> Self {
        Self {
            source: String::new(),
            path: self.path.clone(),
            fields: self.fields.clone(),
        }
    }
}

fn split_unquoted(text: &str, at: char) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (index, c) in text.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if c == at && !quoted {
            return Some((&text[..index], &text[index + c.len_utf8()..]));
        }
    }
    None
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}:", self.source)?;
        }
        write_part(f, &self.path)?;
        for field in &self.fields {
            f.write_str(".")?;
            write_part(f, field)?;
        }
        Ok(())
    }
}

fn write_part(f: &mut fmt::Formatter<'_>, part: &str) -> fmt::Result {
    if part.contains([',', '.', ':', '/', ' ']) {
        write!(f, "{part:?}")
    } else {
        f.write_str(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(source: &str, path: &str, fields: &[&str]) -> Reference {
        Reference {
            source: source.into(),
            path: path.into(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        }
    }

    #[test]
    fn parts_are_told_apart() {
        for (text, expected) in [
            ("hello", reference("", "hello", &[])),
            ("hello.a.b", reference("", "hello", &["a", "b"])),
            (
                r#""hello.world".a."foo:bar""#,
                reference("", "hello.world", &["a", "foo:bar"]),
            ),
            ("source:hello", reference("source", "hello", &[])),
            (".:local.f", reference(".", "local", &["f"])),
            (r#".:"local.var""#, reference(".", "local.var", &[])),
            (
                r#"vs:"var:with.and_colon".some_key"#,
                reference("vs", "var:with.and_colon", &["some_key"]),
            ),
            (r#""my:path"."f.1""#, reference("", "my:path", &["f.1"])),
            ("a:b:c", reference("a", "b:c", &[])),
            (" hello . world ", reference("", "hello", &["world"])),
            (
                r#"" hello "."world ""#,
                reference("", " hello ", &["world "]),
            ),
            ("team/path@x", reference("", "team/path@x", &[])),
        ] {
            assert_eq!(Reference::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for (text, reason) in [
            ("", "empty field"),
            ("vault:", "empty field"),
            ("vault:.field", "empty field"),
            ("a..b", "empty field"),
            ("a.", "empty field"),
            (r#"vault:"".field"#, "empty field"),
            (r#""source":path"#, "source must not be quoted"),
        ] {
            let expected = format!("invalid var '{text}': {reason}");
            assert_eq!(Reference::parse(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn odd_parts_are_quoted_when_shown() {
        for (shown, parsed) in [
            ("hello", reference("", "hello", &[])),
            ("s:hello.a", reference("s", "hello", &["a"])),
            (
                r#""a.b".c."d:e"."f/g"."h i""#,
                reference("", "a.b", &["c", "d:e", "f/g", "h i"]),
            ),
        ] {
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(Reference::parse(shown), Ok(parsed));
        }
    }
}
