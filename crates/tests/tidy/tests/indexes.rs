//! Every page of `docs` can be found: the index links each page once, and the index of decisions
//! has every decision, with the title and the status that the decision itself has.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use std::collections::BTreeMap;
use std::path::Path;

use airside_tidy::{files, read, root};
use anyhow::Result;

/// The paths under `folder` of all its Markdown files but the index of the folder itself.
fn pages(folder: &Path) -> Result<Vec<String>> {
    let pages = files("md")?.into_iter().filter_map(|file| {
        let path = file.strip_prefix(folder).ok()?.to_str()?.to_owned();
        (path != "README.md").then_some(path)
    });
    Ok(pages.collect())
}

/// The targets of the links that begin the items of an index's lists: `- [title](target): …`.
fn listed(index: &str) -> Vec<&str> {
    let items = index.lines().filter(|line| line.starts_with("- ["));
    items
        .filter_map(|item| item.split_once("](")?.1.split(')').next())
        .collect()
}

#[test]
fn every_page_is_in_one_list_of_the_index() -> Result<()> {
    let docs = root().join("docs");
    let index = read(&docs.join("README.md"))?;
    let listed = listed(&index);
    let wrong: Vec<String> = pages(&docs)?
        .into_iter()
        .filter(|page| !page.starts_with("decisions/") || page == "decisions/README.md")
        .filter_map(|page| {
            let count = listed.iter().filter(|target| **target == page).count();
            (count != 1).then(|| format!("{page}: {count} times"))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "each page belongs in one list of docs/README.md, once:\n  {}",
        wrong.join("\n  ")
    );
    Ok(())
}

/// A decision's number, title and status.
#[derive(Debug, PartialEq, Eq)]
struct Decision {
    number: u32,
    title: String,
    status: String,
}

/// Reads the head that all decisions have: `# N. Title`, an empty line, `Date: D. Status: S.` with
/// more sentences after it.
fn head(text: &str) -> Option<Decision> {
    let mut lines = text.lines();
    let (number, title) = lines.next()?.strip_prefix("# ")?.split_once(". ")?;
    if !lines.next()?.is_empty() {
        return None;
    }
    let (date, rest) = lines.next()?.strip_prefix("Date: ")?.split_once(". ")?;
    let is_date = date.len() == 10 && date.chars().all(|c| c.is_ascii_digit() || c == '-');
    let (status, _) = rest.strip_prefix("Status: ")?.split_once('.')?;
    Some(Decision {
        number: number.parse().ok().filter(|_| is_date)?,
        title: title.to_owned(),
        status: status.to_owned(),
    })
}

/// The rows of the index by the file that each links: `| number | [title](file) | status | … |`.
fn rows(index: &str) -> BTreeMap<&str, Decision> {
    let rows = index.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let number = cells.next()?.parse().ok()?;
        let (title, rest) = cells.next()?.strip_prefix('[')?.rsplit_once("](")?;
        let status = cells.next()?.to_owned();
        let title = title.to_owned();
        Some((
            rest.strip_suffix(')')?,
            Decision {
                number,
                title,
                status,
            },
        ))
    });
    rows.collect()
}

#[test]
fn every_decision_is_in_the_index() -> Result<()> {
    let folder = root().join("docs/decisions");
    let index = read(&folder.join("README.md"))?;
    let rows = rows(&index);
    let mut wrong = Vec::new();
    for file in pages(&folder)? {
        let Some(decision) = head(&read(&folder.join(&file))?) else {
            wrong.push(format!(
                "{file} does not begin as the index says that decisions begin"
            ));
            continue;
        };
        if !file.starts_with(&format!("{:04}-", decision.number)) {
            wrong.push(format!(
                "{file} has another number than its title: {decision:?}"
            ));
        }
        if rows.get(file.as_str()) != Some(&decision) {
            wrong.push(format!(
                "{file} has no row, or one that differs: {decision:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/decisions/README.md:\n  {}",
        wrong.join("\n  ")
    );
    Ok(())
}

#[test]
fn heads_and_rows_are_read() {
    let text = "# 7. Frames\n\nDate: 2026-11-15. Status: superseded by [8](b.md). More.\n";
    let decision = head(text).unwrap();
    assert_eq!(decision.status, "superseded by [8](b");
    let text = "# 7. Frames\n\nDate: 2026-11-15. Status: accepted. More.\n";
    let decision = head(text).unwrap();
    let index = "| 7 | [Frames](0007-frames.md) | accepted | |\n| 8 | never written | | |\n";
    assert_eq!(rows(index), BTreeMap::from([("0007-frames.md", decision)]));
    assert_eq!(head("# 7. Frames\n\n**Status:** accepted.\n"), None);
}
