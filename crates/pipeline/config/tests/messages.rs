//! Every message about a pipeline or task file that its author or `fly` meets, by its input.
//!
//! Many equal Concourse's, so that people and scripts that know those find them here too: the
//! snapshot holds them. To add a case, add a document to `messages.yml` after a line `### NAME`;
//! those whose name begins with `task` are task files.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_config::{Problem, Warning, api_errors, load, load_task};

const INPUTS: &str = include_str!("messages.yml");

/// Returns the lines that the API answers with, as `fly` prints them.
fn shown(loaded: Result<Vec<Warning>, Vec<Problem>>) -> String {
    let lines: Vec<String> = match loaded {
        Ok(warnings) => warnings
            .iter()
            .map(|warning| format!("warning ({}): {}", warning.type_, warning.message))
            .collect(),
        Err(problems) => api_errors(&problems)
            .iter()
            .map(|error| format!("error: {}", error.trim_end().replace('\t', "  ")))
            .collect(),
    };
    lines.join("\n")
}

fn is_task(name: &str) -> bool {
    name.starts_with("task ")
}

#[test]
fn every_message() {
    let mut all = String::new();
    for document in INPUTS.split("### ").skip(1) {
        let (name, text) = document.split_once('\n').unwrap();
        let loaded = if is_task(name) {
            load_task(text).map(|loaded| loaded.warnings)
        } else {
            load(text).map(|loaded| loaded.warnings)
        };
        let messages = shown(loaded);
        assert!(!messages.is_empty(), "{name}: nothing is wrong with it");
        all.push_str(&format!("### {name}\n{}\n---\n{messages}\n\n", text.trim()));
    }
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(all);
    });
}
