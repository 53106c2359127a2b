//! Glyphs and icons as SVG symbols. A page carries the ones that it shows, and all that its scripts
//! may draw.

use std::{collections::BTreeSet, sync::LazyLock};

static SYMBOLS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let lines = include_str!("../icons/symbols.svg").lines();
    let named = lines.filter_map(|line| {
        let (_, rest) = line.split_once("id=\"")?;
        Some((rest.split('"').next()?, line))
    });
    named.collect()
});

/// Symbols that scripts draw on any page: statuses, and what menus and toasts need.
const SCRIPTED: [&str; 6] = ["i-x", "i-search", "i-right", "i-down", "i-copy", "i-star"];

/// Returns the symbols that the markup refers to, the glyphs of all statuses, and those named.
pub(crate) fn used_in(markup: &[&str], named: &[&str]) -> String {
    let mut wanted: BTreeSet<&str> = SCRIPTED.into_iter().chain(named.iter().copied()).collect();
    for text in markup {
        let references = text.split(" href=\"#").skip(1);
        wanted.extend(references.filter_map(|rest| rest.split('"').next()));
    }
    let mut drawn = String::new();
    for (name, line) in SYMBOLS.iter() {
        if name.starts_with("g-") || wanted.contains(name) {
            drawn.push_str(line);
            drawn.push('\n');
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::{SYMBOLS, used_in};

    #[test]
    fn a_page_carries_what_it_shows() {
        let drawn = used_in(&["<svg><use href=\"#i-pause\"/></svg>"], &["c-failed"]);
        assert!(drawn.contains("id=\"i-pause\"") && drawn.contains("id=\"c-failed\""));
        assert!(drawn.contains("id=\"g-errored\"") && !drawn.contains("id=\"i-bucket\""));
    }

    #[test]
    fn symbols_are_one_line_each() {
        assert!(SYMBOLS.len() > 60);
        assert!(SYMBOLS.iter().all(|(_, line)| line.ends_with("</symbol>")));
    }
}
