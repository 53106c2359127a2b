//! Every relative link in a Markdown file leads to a file that exists, and to a heading that exists
//! there.

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

/// Returns the anchors of a page's headings: the heading in lower case, with its punctuation left
/// out and `-` for each space. A heading that comes again gets a number.
fn anchors(markdown: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().to_lowercase();
        let kept = kept
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor = kept.collect::<String>().replace(' ', "-");
        let again = found.iter().filter(|known| **known == anchor).count();
        found.push(match again {
            0 => anchor,
            again => format!("{anchor}-{again}"),
        });
    }
    found
}

/// Returns true if a link found in `file` leads somewhere. Links off the tree are not judged, nor
/// are the parts of files that are not Markdown.
fn resolves(file: &Path, target: &str) -> bool {
    let target = target.trim_matches(['<', '>']);
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let page = if path.is_empty() {
        file.to_owned()
    } else {
        file.parent().map(|dir| dir.join(path)).unwrap_or_default()
    };
    let is_page = page.extension().is_some_and(|end| end == "md");
    if anchor.is_empty() || !is_page {
        return page.exists();
    }
    read(&page).is_ok_and(|text| anchors(&text).iter().any(|known| known == anchor))
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
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../README.md");
    assert!(resolves(&here, "crates/tests/tidy/src/lib.rs#L1"));
    assert!(resolves(&here, "docs/kubernetes.md#what-you-gain"));
    assert!(resolves(&here, "https://airside.dev/x"));
    assert!(!resolves(&here, "docs/nowhere.md"));
    assert!(!resolves(&here, "docs/kubernetes.md#what-you-lose"));
    assert!(!resolves(&here, "#no-such-heading"));
}

#[test]
fn anchors_are_made_of_headings() {
    let page = "# One: `two`'s\n## A.\n```\n# no heading\n```\n#hashtag\n## A\n";
    assert_eq!(anchors(page), ["one-twos", "a", "a-1"]);
}
