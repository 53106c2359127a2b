//! `airside validate`: checks pipelines and task files without a server.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use airside_config::{Problem, Warning, load, load_task, render_all};
use clap::Args;
use serde_json::{Value, json};

#[derive(Args)]
pub(crate) struct Options {
    /// Files to check; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The files are task configurations instead of pipelines
    #[arg(long)]
    task: bool,
    /// Prints what was found as JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Succeeds if nothing is wrong with any file. Warnings are nothing wrong.
pub(crate) fn run(options: &Options) -> ExitCode {
    let checks: Vec<Check> = options
        .files
        .iter()
        .map(|file| Check::of(file, options.task))
        .collect();
    let shown = if options.json {
        let files: Vec<Value> = checks.iter().map(Check::json).collect();
        format!(
            "{:#}\n",
            json!({"valid": checks.iter().all(Check::is_valid), "files": files})
        )
    } else {
        checks.iter().map(Check::text).collect()
    };
    // Nobody is left to be told if this fails.
    let _ = std::io::stdout().write_all(shown.as_bytes());
    if checks.iter().all(Check::is_valid) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What there is to say about one file.
struct Check {
    file: String,
    text: String,
    found: Found,
}

enum Found {
    Unreadable(String),
    Problems(Vec<Problem>),
    Sound(Vec<Warning>),
}

impl Check {
    fn of(file: &Path, task: bool) -> Self {
        let name = match file == Path::new("-") {
            true => "standard input".to_owned(),
            false => file.display().to_string(),
        };
        match read(file) {
            Ok(text) => Self {
                file: name,
                found: judge(&text, task),
                text,
            },
            Err(reason) => Self {
                file: name,
                text: String::new(),
                found: Found::Unreadable(reason),
            },
        }
    }

    fn is_valid(&self) -> bool {
        matches!(self.found, Found::Sound(_))
    }

    fn text(&self) -> String {
        match &self.found {
            Found::Unreadable(reason) => format!("error: cannot read {}: {reason}\n", self.file),
            Found::Problems(problems) => {
                let shown = render_all(problems, &self.text, &self.file);
                let count = match problems.len() {
                    1 => "1 problem".to_owned(),
                    many => format!("{many} problems"),
                };
                format!("{shown}{}: {count}\n", self.file)
            }
            Found::Sound(warnings) => {
                let shown = |warning: &Warning| format!("warning: {}\n", warning.message);
                let warnings: String = warnings.iter().map(shown).collect();
                format!("{warnings}{}: looks good\n", self.file)
            }
        }
    }

    fn json(&self) -> Value {
        let (problems, warnings) = match &self.found {
            Found::Unreadable(reason) => (vec![json!({"message": reason})], json!([])),
            Found::Problems(problems) => (problems.iter().map(problem_json).collect(), json!([])),
            Found::Sound(warnings) => (Vec::new(), json!(warnings)),
        };
        json!({
            "file": self.file,
            "valid": self.is_valid(),
            "problems": problems,
            "warnings": warnings,
        })
    }
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let bytes = bytes.map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("it is not UTF-8 text (byte {at})")
    })
}

fn judge(text: &str, task: bool) -> Found {
    let loaded = match task {
        true => load_task(text).map(|_| Vec::new()),
        false => load(text).map(|loaded| loaded.warnings),
    };
    match loaded {
        Ok(warnings) => Found::Sound(warnings),
        Err(problems) => Found::Problems(problems),
    }
}

fn problem_json(problem: &Problem) -> Value {
    let mut shown = json!({"section": problem.section.title(), "message": problem.message});
    if let Some(path) = &problem.path {
        shown["path"] = json!(path);
    }
    if let Some(span) = problem.span {
        shown["line"] = json!(span.start.line);
        shown["column"] = json!(span.start.column);
        shown["end_line"] = json!(span.end.line);
        shown["end_column"] = json!(span.end.column);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, content: &[u8], task: bool) -> Check {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        let mut check = Check::of(&file, task);
        check.file = name.to_owned();
        check
    }

    #[test]
    fn problems_are_shown_in_their_lines_and_counted() {
        let wrong = check("ci.yml", b"jobs:\n- nam: j\n", false);
        assert!(!wrong.is_valid());
        assert_eq!(
            wrong.text(),
            "error: unknown fields [\"nam\"] (did you mean 'name'?)\n --> ci.yml:2:3 (jobs[0])\n  |\n2 | - nam: j\n  |   ^^^\n\n\
             error: jobs[0] has no name\n --> ci.yml:2:3\n  |\n2 | - nam: j\n  |   ^^^^^^\n\n\
             ci.yml: 2 problems\n"
        );
        let shown = wrong.json();
        assert_eq!(shown["problems"][0]["path"], "jobs[0]");
        assert_eq!(shown["problems"][0]["line"], 2);
        assert_eq!(shown["problems"][0]["end_column"], 6);
    }

    #[test]
    fn warnings_do_not_fail() {
        let odd = check("ci.yml", b"jobs: [{name: J}]", false);
        assert!(odd.is_valid());
        assert!(
            odd.text()
                .starts_with("warning: jobs.J: 'J' is not a valid identifier")
        );
        assert_eq!(odd.json()["warnings"][0]["type"], "invalid_identifier");
    }

    #[test]
    fn task_files_and_unreadable_ones() {
        assert!(check("t.yml", b"platform: linux", true).is_valid());
        assert!(!check("t.yml", b"platform: linux", false).is_valid());
        let text = check("t.yml", b"a: \xff", true).text();
        assert_eq!(
            text,
            "error: cannot read t.yml: it is not UTF-8 text (byte 3)\n"
        );
        let gone = Check::of(Path::new("no/such/file"), false);
        assert!(gone.json()["problems"][0]["message"].is_string());
    }
}
