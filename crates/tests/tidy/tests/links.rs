//! Every relative link in a Markdown file leads to something that exists.

use std::path::Path;

use airside_tidy::{files, read, shown};

/// The targets of `[text](target)` and of `[name]: target` lines, outside code.
fn targets(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let prose = without_code(line);
            found.extend(inline_targets(&prose));
            found.extend(reference_target(&prose));
        }
    }
    found
}

/// A line without its `code`: every second piece between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

fn inline_targets(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?;
        target.split_whitespace().next().map(str::to_owned)
    })
}

fn reference_target(line: &str) -> Option<String> {
    let (label, target) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    let is_footnote = label.starts_with('^');
    (!is_footnote)
        .then(|| target.split_whitespace().next().map(str::to_owned))
        .flatten()
}

/// Whether a link found in `file` leads somewhere; links off the tree are not ours to judge.
fn resolves(file: &Path, target: &str) -> bool {
    let target = target.trim_matches(['<', '>']);
    let elsewhere = target.contains("://") || target.starts_with("mailto:");
    let path = target.split('#').next().unwrap_or_default();
    if elsewhere || path.is_empty() {
        return true;
    }
    file.parent().is_some_and(|dir| dir.join(path).exists())
}

#[test]
fn relative_links_resolve() {
    let mut broken = Vec::new();
    for file in files("md").unwrap() {
        for target in targets(&read(&file).unwrap()) {
            if !resolves(&file, &target) {
                broken.push(format!("{}: {target}", shown(&file)));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "these links lead nowhere:\n  {}",
        broken.join("\n  ")
    );
}

#[test]
fn links_are_found_in_prose_and_not_in_code() {
    let text = "see [a](one.md), [b](<two.md> \"title\") and `[c](three.md)`\n\
                ```\n[d](four.md)\n```\n[e]: five.md\n[^1]: a note";
    assert_eq!(targets(text), ["one.md", "<two.md>", "five.md"]);
}

#[test]
fn a_link_resolves_from_the_file_that_holds_it() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    assert!(resolves(&here, "src/lib.rs#L1"));
    assert!(resolves(&here, "#heading"));
    assert!(resolves(&here, "https://airside.dev/x"));
    assert!(!resolves(&here, "src/nowhere.rs"));
}
