//! The changes from one configuration to the next, in the words and colours of `fly`.

use std::fmt::Write;

use serde_json::Value;

use crate::Config;
use crate::yaml_text::yaml_text;

/// Sections in the order of `fly`: the key, the heading, what one of them is called.
const SECTIONS: [(&str, &str, &str); 5] = [
    ("groups", "groups", "group"),
    ("var_sources", "variable source", "variable source"),
    ("resources", "resources", "resource"),
    ("resource_types", "resource types", "resource type"),
    ("jobs", "jobs", "job"),
];

/// More lines against lines than this are shown as all gone and all new.
const LARGEST: usize = 4_000_000;

/// Empty if nothing changes.
pub fn diff(before: &Config, after: &Config) -> String {
    let json = |config: &Config| serde_json::to_value(config).unwrap_or_default();
    let (before, after) = (json(before), json(after));
    let mut text = String::new();
    for (key, heading, label) in SECTIONS {
        let changes = section(list(&before[key]), list(&after[key]), key == "groups");
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{heading}:");
        for (one, other) in changes {
            let named = one.or(other).and_then(|item| item["name"].as_str());
            let label = format!("{label} {}", named.unwrap_or_default());
            render(&label, one, other, &mut text);
        }
    }
    for (key, label) in [
        ("display", "display configuration"),
        ("user_data", "user_data"),
    ] {
        let there = |config: &'_ Value| config.get(key).filter(|value| !value.is_null()).cloned();
        let (one, other) = (there(&before), there(&after));
        if one != other {
            render(label, one.as_ref(), other.as_ref(), &mut text);
        }
    }
    text
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

type Change<'a> = (Option<&'a Value>, Option<&'a Value>);

/// Returns the changed and removed items in the order of `before`, then the added ones.
fn section<'a>(before: &'a [Value], after: &'a [Value], order_counts: bool) -> Vec<Change<'a>> {
    let position = |items: &[Value], item: &Value| {
        items.iter().position(|other| other["name"] == item["name"])
    };
    let mut changes = Vec::new();
    for (index, item) in before.iter().enumerate() {
        match position(after, item) {
            None => changes.push((Some(item), None)),
            Some(at) if after[at] != *item || (order_counts && at != index) => {
                changes.push((Some(item), Some(&after[at])));
            }
            Some(_) => {}
        }
    }
    let new = after.iter().filter(|item| position(before, item).is_none());
    changes.extend(new.map(|item| (None, Some(item))));
    changes
}

fn render(label: &str, before: Option<&Value>, after: Option<&Value>, text: &mut String) {
    let what = match (before, after) {
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "been removed",
        _ => "been added",
    };
    let _ = writeln!(text, "  \x1b[0;33m{label} has {what}:\x1b[0m");
    let shown = |value: Option<&Value>| value.map(yaml_text).unwrap_or_default();
    let (before, after) = (shown(before), shown(after));
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.split('\n').collect(), after.split('\n').collect());
    for line in lines(&before, &after) {
        // The mark stands in the indentation.
        let _ = match line {
            Line::Same(line) => writeln!(text, "  {line}"),
            Line::New(line) => {
                writeln!(text, "  \x08\x08\x1b[0;32m+\x1b[0m \x1b[0;32m{line}\x1b[0m")
            }
            Line::Gone(line) => {
                writeln!(text, "  \x08\x08\x1b[0;31m-\x1b[0m \x1b[0;31m{line}\x1b[0m")
            }
        };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    New(&'a str),
    Gone(&'a str),
}

/// The longest common lines stay; of what changes, old ones come first.
fn lines<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let (rows, columns) = (before.len(), after.len());
    if rows.saturating_mul(columns) > LARGEST {
        let gone = before.iter().map(|line| Line::Gone(line));
        return gone
            .chain(after.iter().map(|line| Line::New(line)))
            .collect();
    }
    // How many lines are common from here on.
    let mut common = vec![vec![0_u32; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row][column] = if before[row] == after[column] {
                common[row + 1][column + 1] + 1
            } else {
                common[row + 1][column].max(common[row][column + 1])
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < rows || column < columns {
        if row < rows && column < columns && before[row] == after[column] {
            lines.push(Line::Same(before[row]));
            (row, column) = (row + 1, column + 1);
        } else if column == columns
            || (row < rows && common[row + 1][column] >= common[row][column + 1])
        {
            lines.push(Line::Gone(before[row]));
            row += 1;
        } else {
            lines.push(Line::New(after[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        crate::load(text).unwrap().config
    }

    const ONE: &str = "jobs: [{name: a, plan: [{load_var: v, file: x/y}]}]";

    #[test]
    fn the_same_is_no_change() {
        assert_eq!(diff(&config(ONE), &config(ONE)), "");
        assert_eq!(diff(&Config::default(), &Config::default()), "");
    }

    #[test]
    fn what_comes_goes_and_changes_is_shown() {
        let two = "jobs: [{name: a, plan: [{load_var: v, file: x/z}]}, \
                   {name: b, plan: [{load_var: v, file: x/y}]}]";
        let plain = |text: &str| {
            let mut text = text.replace("\x08\x08", "");
            for code in ["\x1b[0;33m", "\x1b[0;32m", "\x1b[0;31m", "\x1b[0m"] {
                text = text.replace(code, "");
            }
            text
        };
        let changed = "jobs:\n  job a has changed:\n  name: a\n  plan:\n  - - file: x/y\n\
            \x20 + - file: x/z\n    load_var: v\n  \n  job b has been added:\n  + name: b\n\
            \x20 + plan:\n  + - file: x/y\n  +   load_var: v\n  \n";
        assert_eq!(plain(&diff(&config(ONE), &config(two))), changed);
        let removed = plain(&diff(&config(two), &config(ONE)));
        assert!(
            removed.contains("job b has been removed:\n  - name: b"),
            "{removed}"
        );
        let mark = "  \x08\x08\x1b[0;32m+\x1b[0m \x1b[0;32mname: b\x1b[0m\n";
        assert!(diff(&config(ONE), &config(two)).contains(mark));
    }

    #[test]
    fn the_order_of_groups_counts() {
        let groups = |groups: &str| {
            let jobs = "jobs: [{name: a, plan: [{load_var: v, file: x/y}]}]";
            config(&format!("groups: {groups}\n{jobs}"))
        };
        let (one, other) = (
            groups("[{name: g, jobs: [a]}, {name: h, jobs: [a]}]"),
            groups("[{name: h, jobs: [a]}, {name: g, jobs: [a]}]"),
        );
        assert!(diff(&one, &other).contains("group g has changed"));
    }

    #[test]
    fn too_much_to_compare_is_shown_whole() {
        let (before, after) = (vec!["a"; 3000], vec!["b"; 3000]);
        let lines = lines(&before, &after);
        assert_eq!(lines.len(), 6000);
        assert_eq!((lines[0], lines[5999]), (Line::Gone("a"), Line::New("b")));
    }
}
