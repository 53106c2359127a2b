//! `{{name}}`, as variables were written before `((name))`. YAML reads it as a map in a map, so a
//! pipeline that has one is not a document.

use airside_yaml::{Position, Span};

use crate::problem::Fix;

/// Returns an edit for each `{{name}}` at which a value without quotes begins, or which comes later
/// in such a value. Braces in comments, quotes and scripts stay: they may be for another program.
///
/// Returns nothing if the text is not a document with all of them replaced.
pub(crate) fn fixes(text: &str) -> Vec<Fix> {
    let found = candidates(text);
    if found.is_empty() {
        return Vec::new();
    }
    let replaced = replaced(text, &found);
    let Ok(scalars) = airside_yaml::plain_scalars(&replaced) else {
        return Vec::new();
    };
    let is_variable = |(start, _): &(usize, usize)| {
        let next = scalars.partition_point(|scalar| scalar.start.offset <= *start);
        let scalar = next.checked_sub(1).and_then(|at| scalars.get(at));
        scalar.is_some_and(|scalar| {
            let first = scalar.start.offset;
            *start < scalar.end.offset && found.binary_search_by_key(&first, |(at, _)| *at).is_ok()
        })
    };
    let mut places = PlaceCounter::new(text);
    let variables = found.iter().filter(|found| is_variable(found));
    variables
        .map(|(start, end)| {
            let old = &text[*start..*end];
            let span = Span {
                start: places.position(*start),
                end: places.position(*end),
            };
            Fix::replace(span, old, new_form(old))
        })
        .collect()
}

/// The text with all of them in the new form, which has the same length: places stay as they are.
fn replaced(text: &str, found: &[(usize, usize)]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in found {
        replaced.push_str(&text[done..*start]);
        replaced.push_str(&new_form(&text[*start..*end]));
        done = *end;
    }
    replaced.push_str(&text[done..]);
    replaced
}

/// The places of `{{name}}` in the text, whatever they mean.
fn candidates(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("{{") {
        let start = from + at;
        let name = text[start + 2..].bytes().take_while(|byte| is_name(*byte));
        let end = start + 2 + name.count();
        let has_name = end > start + 2 && text.as_bytes()[start + 2] != b'.';
        if has_name && text[end..].starts_with("}}") {
            found.push((start, end + 2));
            from = end + 2;
        } else {
            from = start + 1;
        }
    }
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./".contains(&byte)
}

fn new_form(old: &str) -> String {
    format!("(({}))", old.trim_matches(['{', '}']))
}

/// Counts lines and columns up to offsets that only grow.
struct PlaceCounter<'a> {
    text: &'a str,
    place: Position,
}

impl<'a> PlaceCounter<'a> {
    fn new(text: &'a str) -> Self {
        let place = Position {
            line: 1,
            column: 1,
            offset: 0,
        };
        Self { text, place }
    }

    fn position(&mut self, offset: usize) -> Position {
        for c in self.text[self.place.offset..offset].chars() {
            if c == '\n' {
                self.place.line += 1;
                self.place.column = 1;
            } else {
                self.place.column += 1;
            }
        }
        self.place.offset = offset;
        self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::FixAction;

    #[test]
    fn only_values_without_quotes_are_variables() {
        for (text, expected) in [
            ("a: {{b}}", &["1:4 ((b))"][..]),
            ("é: [{{b}}, {{c-d}}]\n- 1", &[]),
            ("é: [{{b}}, {{c-d}}]", &["1:5 ((b))", "1:12 ((c-d))"]),
            ("x:\n- a: {{b}}/{{c}}", &["2:6 ((b))", "2:12 ((c))"]),
            ("{{a}}: b", &["1:1 ((a))"]),
            ("a: x{{b}}\nb: '{{c}}'\n# {{d}}\nc: |\n  {{e}}\n", &[]),
            ("a: {{.Name}}", &[]),
            ("a: {{ b }}", &[]),
            ("a: {b: {c: d}}", &[]),
            ("a: {{}}", &[]),
            ("a: {{é}}", &[]),
        ] {
            let found: Vec<String> = fixes(text)
                .into_iter()
                .map(|fix| match fix.action {
                    FixAction::Replace { to, .. } => {
                        format!("{}:{} {to}", fix.span.start.line, fix.span.start.column)
                    }
                    FixAction::Quote => "quotes".to_owned(),
                })
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
