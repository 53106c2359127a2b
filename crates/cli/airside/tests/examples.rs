//! Every pipeline and task file that the README, the pages below `docs/` and `examples/` show
//! passes `airside validate --strict`, so that no reader copies one that is refused.
//!
//! A block of YAML is judged by its keys: one with `jobs` is a pipeline, one with `platform` a task
//! file. One with other sections of a pipeline gets a job that uses its resources. Settings,
//! targets and objects of Kubernetes are left alone. A part of any of these is not an example by
//! itself, and its fence says so: `yaml fragment`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use support::{Home, airside, text};

/// The sections of a pipeline that may stand in an example without jobs.
const SECTIONS: [&str; 6] = [
    "resources",
    "resource_types",
    "prototypes",
    "var_sources",
    "groups",
    "display",
];

/// Keys by which other kinds of files are known: targets, control files, objects of Kubernetes,
/// settings of the server.
const OTHERS: [&str; 4] = ["targets", "clusters", "apiVersion", "listen"];

struct Example {
    place: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// The blocks of a page that are YAML: fenced ones that say so, and indented ones that begin with a
/// section.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = page.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_start();
        let end = if let Some(info) = line.strip_prefix("```") {
            let inside = lines[at + 1..].iter();
            let end = at + 1 + inside.take_while(|line| line.trim() != "```").count();
            if matches!(info.trim(), "yaml" | "yml") {
                found.push((at + 2, dedented(&lines[at + 1..end])));
            }
            end + 1
        } else if lines[at].starts_with("    ") && (at == 0 || lines[at - 1].trim().is_empty()) {
            let inside = lines[at..].iter();
            let inside = inside.take_while(|line| line.starts_with("    ") || line.is_empty());
            let end = at + inside.count();
            let first = line.split(':').next().unwrap_or_default();
            if SECTIONS.contains(&first) || ["jobs", "platform"].contains(&first) {
                found.push((at + 1, dedented(&lines[at..end])));
            }
            end
        } else {
            at + 1
        };
        at = end.max(at + 1);
    }
    found
}

fn dedented(lines: &[&str]) -> String {
    let margin = |line: &&str| line.len() - line.trim_start().len();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = filled.map(margin).min().unwrap_or(0);
    let cut = lines.iter().map(|line| line.get(margin..).unwrap_or(""));
    cut.map(|line| format!("{line}\n")).collect()
}

fn examples() -> Vec<Example> {
    let root = root();
    let mut files = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut files);
    let mut found = Vec::new();
    for file in files {
        let page = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        found.extend(blocks(&page).into_iter().map(|(line, text)| Example {
            place: format!("{name}:{line}"),
            text,
        }));
    }
    for entry in fs::read_dir(root.join("examples")).unwrap() {
        let path = entry.unwrap().path();
        found.push(Example {
            place: path.strip_prefix(&root).unwrap().display().to_string(),
            text: fs::read_to_string(&path).unwrap(),
        });
    }
    found
}

/// Returns the text to validate and the arguments of the command; none for other files.
fn judged(example: &Example) -> Option<(String, &'static [&'static str])> {
    let place = &example.place;
    let node = airside_yaml::parse(&example.text);
    let node = node.unwrap_or_else(|error| panic!("{place}: {error}"));
    let has = |key: &str| node.get(key).is_some();
    if has("jobs") {
        return Some((example.text.clone(), &["--strict"]));
    }
    if has("platform") {
        return Some((example.text.clone(), &["--strict", "--task"]));
    }
    if SECTIONS.iter().any(|section| has(section)) {
        let whole = with_a_job(node.to_json().unwrap());
        return Some((whole, &["--strict"]));
    }
    let other = OTHERS.iter().any(|key| has(key));
    assert!(
        other,
        "{place}: no kind of file has these keys; is it a `yaml fragment`?"
    );
    None
}

/// A pipeline of these sections, with a job that gets its resources.
fn with_a_job(mut sections: Value) -> String {
    let resources = sections["resources"].as_array().cloned();
    let gets: Vec<Value> = resources
        .unwrap_or_default()
        .iter()
        .map(|resource| json!({"get": resource["name"]}))
        .collect();
    sections["jobs"] = json!([{"name": "example", "plan": gets}]);
    sections.to_string()
}

#[test]
fn every_example_of_the_documentation_is_valid() {
    let home = Home::new();
    let mut wrong = Vec::new();
    let mut count = 0;
    for example in examples() {
        let Some((content, more)) = judged(&example) else {
            continue;
        };
        count += 1;
        home.file("example.yml", &content);
        let output = airside()
            .current_dir(home.path())
            .args(["validate", "example.yml"])
            .args(more)
            .output()
            .unwrap();
        if !output.status.success() {
            let said = text(&output.stdout) + &text(&output.stderr);
            wrong.push(format!("{}\n{said}", example.place));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 25, "only {count} examples were found");
}

#[test]
fn blocks_are_found_by_their_fences_and_margins() {
    let page = [
        "a",
        "",
        "```yaml",
        "jobs: []",
        "```",
        "",
        "   ```yaml",
        "   targets: []",
        "   ```",
        "",
        "```yaml fragment",
        "plan:",
        "```",
        "",
        "    resources:",
        "",
        "    - a",
        "",
        "text",
        "    jobs: no, as this is not a block",
    ];
    let page = page.join("\n");
    let found = blocks(&page);
    let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert_eq!(texts[..2], ["jobs: []\n", "targets: []\n"]);
    assert_eq!(texts[2].trim_end(), "resources:\n\n- a");
    assert_eq!(found[0].0, 4);
}
