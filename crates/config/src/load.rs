//! From text to a pipeline or task that makes sense, or to everything that is wrong with it.

use airside_model::TaskConfig;
use airside_yaml::{Node, Span};

use crate::reader::{Fields, Reader};
use crate::{Config, Problem, Section, Warning, config, task_config, validate};

#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub config: Config,
    pub warnings: Vec<Warning>,
}

/// Reads and validates a pipeline in YAML or JSON. Fails with all problems, in the order of the text.
pub fn load(text: &str) -> Result<Loaded, Vec<Problem>> {
    load_node(&parse(text)?)
}

/// The same, of what has been read already; variables may have been filled in since.
pub fn load_node(node: &Node) -> Result<Loaded, Vec<Problem>> {
    let mut reader = Reader::new(Section::Syntax);
    let read = Fields::open(&mut reader, node, "", &config::SHAPE).map(config::read);
    let Some(config) = read else {
        return Err(reader.problems);
    };
    let checked = validate::validate(&config, &reader);
    let mut problems = reader.problems;
    problems.extend(checked.problems);
    if problems.is_empty() {
        return Ok(Loaded {
            config,
            warnings: in_order(checked.warnings, |warning| warning.span),
        });
    }
    Err(sorted(problems))
}

/// Reads and validates a task file in YAML or JSON.
pub fn load_task(text: &str) -> Result<TaskConfig, Vec<Problem>> {
    load_task_node(&parse(text)?)
}

/// The same, of what has been read already.
pub fn load_task_node(node: &Node) -> Result<TaskConfig, Vec<Problem>> {
    let mut reader = Reader::new(Section::Task);
    match task_config::read(&mut reader, node, "") {
        Some(config) if reader.problems.is_empty() => Ok(config),
        _ => Err(sorted(reader.problems)),
    }
}

/// Reads the document; the only problem there can be is that it is none.
pub fn parse(text: &str) -> Result<Node, Vec<Problem>> {
    airside_yaml::parse(text).map_err(|error| {
        let span = Span {
            start: error.position,
            end: error.position,
        };
        vec![Problem {
            section: Section::Syntax,
            path: None,
            message: error.kind.to_string(),
            span: Some(span),
        }]
    })
}

fn sorted(problems: Vec<Problem>) -> Vec<Problem> {
    in_order(problems, |problem| problem.span)
}

/// By place, those without one last.
fn in_order<T>(mut items: Vec<T>, span: impl Fn(&T) -> Option<Span>) -> Vec<T> {
    items.sort_by_key(|item| {
        let start = span(item).map(|span| span.start);
        (start.is_none(), start)
    });
    items
}
