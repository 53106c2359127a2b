//! Loads a text as a pipeline or task that makes sense, or reports everything that is wrong with
//! it.

use airside_model::TaskConfig;
use airside_yaml::{Node, Span};

use crate::reader::{Fields, Reader};
use crate::{Config, Problem, Section, Warning, config, old_variables, task_config, validate};

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub config: Config,
    pub warnings: Vec<Warning>,
}

/// The problems of a pipeline that cannot be loaded, and what is odd about the rest of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedPipeline {
    pub problems: Vec<Problem>,
    pub warnings: Vec<Warning>,
}

/// A task file that makes sense, and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedTask {
    pub config: TaskConfig,
    pub warnings: Vec<Warning>,
}

/// Reads and validates a pipeline in YAML or JSON. Fails with all problems, in the order of the
/// text.
pub fn load(text: &str) -> Result<Loaded, Vec<Problem>> {
    load_node(&parse(text)?)
}

/// Validates a pipeline that has been read already; variables may have been filled in since.
pub fn load_node(node: &Node) -> Result<Loaded, Vec<Problem>> {
    load_with(node, None).map_err(|refused| refused.problems)
}

/// Validates a pipeline like [`load_node`], and warns about what will not run where these resource
/// types are native. Concourse does not warn so, which is why a server does not either.
pub fn load_node_with_advice(node: &Node, native: &[&str]) -> Result<Loaded, RefusedPipeline> {
    load_with(node, Some(native))
}

fn load_with(node: &Node, native: Option<&[&str]>) -> Result<Loaded, RefusedPipeline> {
    let mut reader = Reader::new(Section::Syntax);
    let read = Fields::open(&mut reader, node, "", &config::SHAPE).map(config::read);
    let Some(config) = read else {
        return Err(RefusedPipeline {
            problems: reader.problems,
            warnings: reader.warnings,
        });
    };
    let checked = validate::validate(&config, &reader, native);
    let (mut problems, mut warnings) = (reader.problems, reader.warnings);
    // Where a part could not be read, what refers to it would be odd for no other reason.
    if problems.is_empty() {
        warnings.extend(checked.warnings);
    }
    problems.extend(checked.problems);
    if problems.is_empty() {
        return Ok(Loaded {
            config,
            warnings: in_order(warnings, |warning| warning.span),
        });
    }
    warnings.retain(|warning| match config::misspelt_problem(warning) {
        Some(problem) => {
            problems.push(problem);
            false
        }
        None => true,
    });
    Err(RefusedPipeline {
        problems: sorted(problems),
        warnings,
    })
}

/// Reads and validates a task file in YAML or JSON.
pub fn load_task(text: &str) -> Result<LoadedTask, Vec<Problem>> {
    load_task_node(&parse(text)?)
}

/// Validates a task file that has been read already.
pub fn load_task_node(node: &Node) -> Result<LoadedTask, Vec<Problem>> {
    let mut reader = Reader::new(Section::Task);
    let config = reader.exactly(|reader| task_config::read(reader, node, ""));
    loaded_task(config, reader)
}

/// Reads and validates a task whose variables have their values by now. A number or boolean where a
/// text is wanted can only come from a variable, and counts as text.
pub fn load_filled_task(text: &str) -> Result<LoadedTask, Vec<Problem>> {
    let node = parse(text)?;
    let mut reader = Reader::new(Section::Task);
    let config = task_config::read(&mut reader, &node, "");
    loaded_task(config, reader)
}

fn loaded_task(config: Option<TaskConfig>, reader: Reader) -> Result<LoadedTask, Vec<Problem>> {
    match config {
        Some(config) if reader.problems.is_empty() => Ok(LoadedTask {
            config,
            warnings: in_order(reader.warnings, |warning| warning.span),
        }),
        _ => Err(sorted(reader.problems)),
    }
}

/// Reads the document; the only problem there can be is that it is none.
pub fn parse(text: &str) -> Result<Node, Vec<Problem>> {
    airside_yaml::parse(text).map_err(|error| {
        let fixes = old_variables::fixes(text);
        let at_error = Span {
            start: error.position,
            end: error.position,
        };
        let is_key = matches!(error.kind, airside_yaml::ErrorKind::Key(_));
        let first = fixes.first().map(|fix| fix.span).filter(|_| !is_key);
        let hint = if fixes.is_empty() && !(is_key && is_old_variable(text, &error)) {
            ""
        } else {
            "; if a variable is meant, write ((name)) instead of {{name}}"
        };
        vec![Problem {
            section: Section::Syntax,
            path: None,
            message: format!("{}{hint}", error.kind),
            span: Some(first.unwrap_or(at_error)),
            fixes,
        }]
    })
}

/// `{{name}}` was how a variable was written once; YAML reads it as a map in a map.
fn is_old_variable(text: &str, error: &airside_yaml::Error) -> bool {
    let before = error.position.offset.checked_sub(1);
    let braces = before.and_then(|start| text.get(start..));
    braces.is_some_and(|rest| rest.starts_with("{{"))
}

fn sorted(problems: Vec<Problem>) -> Vec<Problem> {
    in_order(problems, |problem| problem.span)
}

/// Sorts items by their place; those without one come last.
fn in_order<T>(mut items: Vec<T>, span: impl Fn(&T) -> Option<Span>) -> Vec<T> {
    items.sort_by_key(|item| {
        let start = span(item).map(|span| span.start);
        (start.is_none(), start)
    });
    items
}
