//! `airside validate`: checks pipelines and task files without a server.

mod facts;
mod fix;
mod given;
mod replace;
mod settings;
mod traps;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use airside_config::{
    Config, Problem, Section, Warning, load_node, load_node_with_advice, load_task_node, parse,
    render_all, render_warnings,
};
use airside_model::{TaskConfig, chain};
use airside_yaml::{DuplicateKey, Node, Span};
use clap::Args;
pub use facts::FactsOptions;
use fix::ChangedLine;
use given::Values;
pub(crate) use given::Variables;
use serde_json::{Value, json};

use crate::printing::{print, tell};

/// Examples of `airside validate`.
pub const EXAMPLES: &str = "\
Examples:
  # Check a pipeline with values for its ((variables))
  airside validate ci.yml -l vars.yml

  # Check all task files; warnings count as errors
  airside validate --task --strict tasks/*.yml

  # Show what --fix would change in an old pipeline, then change it
  airside validate --fix --check ci.yml
  airside validate --fix ci.yml";

pub const NOTE: &str = "\
Refuses what `fly validate-pipeline` and `fly set-pipeline` refuse, including equal keys in one map,
of which a server takes the last. Warns about more: resource types that Airside does not have,
sources and params that their type will refuse or ignore, files of artifacts that no earlier step
makes, and texts that YAML reads as something else.

With --fix it writes ((name)) for {{name}}, `in_parallel` for `aggregate`, the one key that a
misspelt key can mean, and quotes around texts that YAML reads as numbers where text is wanted.
Comments and layout stay. Problems that remain are shown as usual.

With --strict it is more lenient than `fly validate-pipeline --strict` in one case: unknown keys at
the top level, where anchors are often kept, are not a warning.";

#[derive(Args)]
pub struct Options {
    /// Files to check; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Check task files instead of pipelines
    #[arg(long)]
    task: bool,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Apply fixes that have one possible correction, and print the lines that changed
    #[arg(long)]
    fix: bool,
    /// Only print what --fix would change, and exit with 1 if a file would change
    #[arg(long, requires = "fix")]
    check: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    variables: Variables,
}

/// Succeeds if nothing is wrong with any file. Warnings are nothing wrong, unless they are to be.
pub fn run(options: &Options) -> ExitCode {
    let values = match options.variables.read() {
        Ok(values) => values,
        Err(reason) => {
            tell(&format!("airside: {reason}"));
            return ExitCode::FAILURE;
        }
    };
    if options.fix && options.files.iter().any(|file| is_standard_input(file)) {
        tell("airside: --fix cannot write to standard input; name the file instead of `-`");
        return ExitCode::FAILURE;
    }
    let checks: Vec<Check> = options
        .files
        .iter()
        .map(|file| {
            if options.fix {
                Check::fix(file, options.task, &values, options.check)
            } else {
                Check::read(file, options.task, &values)
            }
        })
        .collect();
    let passes = |check: &Check| {
        if options.check && !check.changes.is_empty() {
            false
        } else if options.strict {
            check.is_spotless()
        } else {
            check.is_valid()
        }
    };
    let shown = if options.json {
        let files: Vec<Value> = checks.iter().map(Check::json).collect();
        format!(
            "{:#}\n",
            json!({"valid": checks.iter().all(passes), "files": files})
        )
    } else {
        checks.iter().map(Check::text).collect()
    };
    let printed = print(&shown);
    if checks.iter().all(passes) && printed.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The result of checking one file.
struct Check {
    file: String,
    text: String,
    outcome: Outcome,
    /// Lines that were mended, or would be.
    changes: Vec<ChangedLine>,
    only_shown: bool,
}

enum Outcome {
    Unreadable(String),
    Unwritable(String),
    /// The warnings are those that do not need a pipeline or task that could be loaded.
    Problems(Vec<Problem>, Vec<Warning>),
    Sound(Vec<Warning>),
}

impl Check {
    fn read(file: &Path, task: bool, values: &Values) -> Self {
        match read(file) {
            Ok(text) => Self::of(file, judge(&text, task, values), text),
            Err(reason) => Self::of(file, Outcome::Unreadable(reason), String::new()),
        }
    }

    /// Mends what is certain, and checks the result; with `only_shown` it only lists the changes
    /// and checks the file as it is.
    fn fix(file: &Path, task: bool, values: &Values, only_shown: bool) -> Self {
        let text = match read(file) {
            Ok(text) => text,
            Err(reason) => return Self::of(file, Outcome::Unreadable(reason), String::new()),
        };
        let fixed = fix::fix(&text, task, values);
        let changes = fix::changed_lines(&text, &fixed);
        if !only_shown
            && fixed != text
            && let Err(error) = replace::replace_file(file, &text, &fixed)
        {
            return Self::of(file, Outcome::Unwritable(chain(&error)), text);
        }
        let text = if only_shown { text } else { fixed };
        Self {
            changes,
            only_shown,
            ..Self::of(file, judge(&text, task, values), text)
        }
    }

    fn of(file: &Path, outcome: Outcome, text: String) -> Self {
        let name = if is_standard_input(file) {
            "standard input".to_owned()
        } else {
            file.display().to_string()
        };
        Self {
            file: name,
            text,
            outcome,
            changes: Vec::new(),
            only_shown: false,
        }
    }

    fn is_valid(&self) -> bool {
        matches!(self.outcome, Outcome::Sound(_))
    }

    fn is_spotless(&self) -> bool {
        matches!(&self.outcome, Outcome::Sound(warnings) if warnings.is_empty())
    }

    fn text(&self) -> String {
        let changes = fix::show_changes(&self.changes, &self.file, self.only_shown);
        let outcome = match &self.outcome {
            Outcome::Unreadable(reason) => {
                format!("airside: cannot read {}: {reason}\n", self.file)
            }
            Outcome::Unwritable(reason) => {
                format!("airside: cannot write {}: {reason}\n", self.file)
            }
            Outcome::Problems(problems, warnings) => {
                let warned = render_warnings(warnings, &self.text, &self.file);
                let shown = render_all(problems, &self.text, &self.file);
                let counts = [
                    counted(problems.len(), "problem"),
                    counted(warnings.len(), "warning"),
                ];
                let counts: Vec<String> = counts.into_iter().flatten().collect();
                format!("{warned}{shown}{}: {}\n", self.file, counts.join(", "))
            }
            Outcome::Sound(warnings) => {
                let shown = render_warnings(warnings, &self.text, &self.file);
                format!("{shown}{}: looks good\n", self.file)
            }
        };
        changes + &outcome
    }

    fn json(&self) -> Value {
        let (problems, warnings) = match &self.outcome {
            Outcome::Unreadable(reason) | Outcome::Unwritable(reason) => {
                (vec![json!({"message": reason})], Vec::new())
            }
            Outcome::Problems(problems, warnings) => (
                problems.iter().map(problem_json).collect(),
                warnings.iter().map(warning_json).collect(),
            ),
            Outcome::Sound(warnings) => (Vec::new(), warnings.iter().map(warning_json).collect()),
        };
        json!({
            "file": self.file,
            "valid": self.is_valid(),
            "problems": problems,
            "warnings": warnings,
            "changes": self.changes.iter().map(change_json).collect::<Vec<_>>(),
        })
    }
}

fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = if is_standard_input(file) {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        std::fs::read(file)
    };
    let bytes = bytes.map_err(|error| chain(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("it is not UTF-8 text (byte {at})")
    })
}

/// A pipeline with its variables filled in, or everything that is wrong with it, for people.
pub(crate) fn pipeline(file: &Path, variables: &Variables) -> Result<Config, String> {
    let shown = file.display().to_string();
    let values = variables.read()?;
    let text = read(file).map_err(|reason| format!("cannot read {shown}: {reason}"))?;
    let node = filled(&text, &values).and_then(|node| without_duplicates(&text, node));
    let loaded = node.and_then(|node| load_node(&node));
    match loaded {
        Ok(loaded) => Ok(loaded.config),
        Err(problems) => Err(render_all(&problems, &text, &shown)),
    }
}

/// The document with the variables that are known filled in.
fn filled(text: &str, values: &Values) -> Result<Node, Vec<Problem>> {
    values.fill(parse(text)?).map_err(|unfilled| {
        vec![Problem {
            section: Section::Syntax,
            path: None,
            message: unfilled.message,
            span: Some(unfilled.span),
            fixes: Vec::new(),
        }]
    })
}

fn judge(text: &str, task: bool, values: &Values) -> Outcome {
    match filled(text, values) {
        Ok(node) if task => judge_task(text, &node),
        Ok(node) => judge_pipeline(text, node),
        Err(problems) => Outcome::Problems(problems, Vec::new()),
    }
}

/// Returns a number of things, unless there are none.
fn counted(count: usize, name: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 {name}")),
        many => Some(format!("{many} {name}s")),
    }
}

fn platform_warning(config: &TaskConfig) -> Option<Warning> {
    let message = config.platform_complaint()?;
    Some(Warning::new("platform", message, None))
}

/// Judges a pipeline. What is certain to be wrong and what may be are shown together, so that one
/// look is enough for both.
fn judge_pipeline(text: &str, node: Node) -> Outcome {
    let loaded = load_node_with_advice(&node, airside_resource_types::NATIVE);
    let mut warnings = settings::pipeline_warnings(text, &node);
    warnings.extend(trap_warnings(text, &node));
    match (loaded, without_duplicates(text, node)) {
        (Ok(loaded), Ok(_)) => {
            warnings.extend(loaded.warnings);
            Outcome::Sound(in_order(warnings))
        }
        (loaded, unique) => {
            let (problems, found) = match loaded {
                Ok(loaded) => (Vec::new(), loaded.warnings),
                Err(refused) => (refused.problems, refused.warnings),
            };
            warnings.extend(found);
            let problems = problems
                .into_iter()
                .chain(unique.err().into_iter().flatten());
            Outcome::Problems(problems.collect(), in_order(warnings))
        }
    }
}

/// Judges a task file. Warns of equal keys, of which Concourse silently takes the last.
fn judge_task(text: &str, node: &Node) -> Outcome {
    let mut warnings = settings::task_warnings(text, node);
    warnings.extend(trap_warnings(text, node));
    // The document has just been read.
    let twice = airside_yaml::duplicate_keys(text).unwrap_or_default();
    warnings.extend(twice.iter().map(|twice| {
        let message = format!("{}, and only the last one counts", twice_words(twice));
        Warning::new("duplicate_key", message, Some(twice.key.span))
    }));
    match load_task_node(node) {
        Ok(loaded) => {
            warnings.extend(loaded.warnings);
            warnings.extend(platform_warning(&loaded.config));
            Outcome::Sound(in_order(warnings))
        }
        Err(problems) => Outcome::Problems(problems, in_order(warnings)),
    }
}

fn trap_warnings(text: &str, node: &Node) -> impl Iterator<Item = Warning> {
    traps::find(text, node)
        .into_iter()
        .map(|trap| trap.warning())
}

/// Sorts warnings by their place; those without one come last.
fn in_order(mut warnings: Vec<Warning>) -> Vec<Warning> {
    warnings.sort_by_key(|warning| {
        let start = warning.span.map(|span| span.start);
        (start.is_none(), start)
    });
    warnings
}

/// `fly` refuses a pipeline with equal keys in one map, so it would not get to the server, which
/// takes the last.
fn without_duplicates(text: &str, node: Node) -> Result<Node, Vec<Problem>> {
    // The document has just been read.
    let twice = airside_yaml::duplicate_keys(text).unwrap_or_default();
    let problem = |twice: &DuplicateKey| Problem {
        section: Section::Syntax,
        path: None,
        message: twice_words(twice),
        span: Some(twice.key.span),
        fixes: Vec::new(),
    };
    if twice.is_empty() {
        Ok(node)
    } else {
        Err(twice.iter().map(problem).collect())
    }
}

fn twice_words(twice: &DuplicateKey) -> String {
    let (key, line) = (&twice.key.text, twice.first.start.line);
    format!("key `{key}` is here a second time; the first is in line {line}")
}

fn change_json(change: &ChangedLine) -> Value {
    json!({"line": change.number, "old": change.old, "new": change.new})
}

fn warning_json(warning: &Warning) -> Value {
    placed(json!(warning), warning.span)
}

/// Adds the warning's place in the file.
fn placed(mut shown: Value, span: Option<Span>) -> Value {
    if let Some(span) = span {
        shown["line"] = json!(span.start.line);
        shown["column"] = json!(span.start.column);
        shown["end_line"] = json!(span.end.line);
        shown["end_column"] = json!(span.end.column);
    }
    shown
}

fn problem_json(problem: &Problem) -> Value {
    let mut shown = json!({"section": problem.section.title(), "message": problem.message});
    if let Some(path) = &problem.path {
        shown["path"] = json!(path);
    }
    placed(shown, problem.span)
}

#[cfg(test)]
mod tests;
