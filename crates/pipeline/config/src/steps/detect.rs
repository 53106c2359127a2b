//! Detects the kind of a step by the keys of its map.

use airside_yaml::{Node, Span, Value};

use super::{
    Core, Step, do_step, get, in_parallel, load_var, modifiers, put, run, set_pipeline, task,
    try_step,
};
use crate::problem::Fix;
use crate::reader::{Fields, Reader};
use crate::shape::Shape;

/// A kind of step.
pub(crate) struct CoreShape {
    /// The key that decides the kind; its value is what the step is called, if it has a name.
    pub(crate) key: &'static str,
    pub(crate) shape: &'static Shape,
    /// A timeout that leaves out fetching images, instead of one around the whole step.
    pub(crate) own_timeout: bool,
}

const fn leaf(key: &'static str, shape: &'static Shape) -> CoreShape {
    CoreShape {
        key,
        shape,
        own_timeout: true,
    }
}

const fn plain(key: &'static str, shape: &'static Shape) -> CoreShape {
    CoreShape {
        key,
        shape,
        own_timeout: false,
    }
}

/// All kinds, in the order in which a step with several keys is taken for one of them.
pub(crate) static CORES: [CoreShape; 9] = [
    leaf("run", &run::SHAPE),
    leaf("task", &task::SHAPE),
    leaf("put", &put::SHAPE),
    leaf("get", &get::SHAPE),
    plain("set_pipeline", &set_pipeline::SHAPE),
    plain("load_var", &load_var::SHAPE),
    plain("try", &try_step::SHAPE),
    plain("do", &do_step::SHAPE),
    plain("in_parallel", &in_parallel::SHAPE),
];

pub(super) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<Step> {
    reader.exactly(|reader| read_kind(reader, node, path))
}

fn read_kind(reader: &mut Reader, node: &Node, path: &str) -> Option<Step> {
    let mut fields = Fields::open(reader, node, path, &modifiers::SHAPE)?;
    let Some(kind) = CORES.iter().find(|core| fields.has(core.key)) else {
        // The rest of the map cannot be judged without knowing what it is.
        let span = first_key(node).unwrap_or(node.span);
        fields.reader.problem(path, span, no_kind(node));
        if let Some(fix) = kind_fix(node) {
            fields.reader.fix(fix);
        }
        return None;
    };
    fields.allow(kind.shape);
    let modifiers = modifiers::read(&mut fields, kind);
    // Only `across` shows in the paths of what it is around.
    let around = if modifiers.across.is_some() {
        format!("{path}.across")
    } else {
        path.to_owned()
    };
    let step_path = step_path(&around, kind.key, node);
    let span = node.get(kind.key).map_or(node.span, |name| name.span);
    fields.reader.places.note(step_path.clone(), span);
    // What a field is called in messages starts with the step; unknown fields are the place's.
    fields.path = step_path;
    let core = match kind.key {
        "run" => Core::Run(run::read(&mut fields)),
        "task" => Core::Task(Box::new(task::read(&mut fields))),
        "put" => Core::Put(put::read(&mut fields)),
        "get" => Core::Get(get::read(&mut fields)),
        "set_pipeline" => Core::SetPipeline(set_pipeline::read(&mut fields)),
        "load_var" => Core::LoadVar(load_var::read(&mut fields)),
        "try" => Core::Try(try_step::read(&mut fields)),
        "do" => Core::Do(do_step::read(&mut fields)),
        _ => Core::InParallel(in_parallel::read(&mut fields)),
    };
    path.clone_into(&mut fields.path);
    fields.close();
    Some(Step { core, modifiers })
}

/// `…do[1].task(unit)` for a step with a name, `…do[1].in_parallel` for one without.
fn step_path(path: &str, key: &str, node: &Node) -> String {
    let text = |key: &str| {
        let name = node.get(key).and_then(|name| name.value.scalar_text());
        name.unwrap_or_default()
    };
    match key {
        "do" | "in_parallel" | "try" => format!("{path}.{key}"),
        "run" => format!("{path}.run({}.{})", text("type"), text("run")),
        _ => format!("{path}.{key}({})", text(key)),
    }
}

fn no_kind(node: &Node) -> String {
    let mut message = "no core step type declared (e.g. get, put, task, etc.)".to_owned();
    let Value::Map(entries) = &node.value else {
        return message;
    };
    if node.get("aggregate").is_some() {
        message.push_str("; `aggregate` is gone from Concourse, use `in_parallel`");
    }
    for (key, _) in entries.iter().take(MOST_HINTED) {
        // What is spelt right was not meant to be something else.
        if kind_keys().all(|name| name != key.text) {
            message.push_str(&crate::suggest::hint(&key.text, kind_keys()));
        }
    }
    message
}

/// Returns the edit that gives the step its kind, if the map has one key that can be meant so.
fn kind_fix(node: &Node) -> Option<Fix> {
    let Value::Map(entries) = &node.value else {
        return None;
    };
    let names: Vec<&str> = kind_keys().collect();
    let mut fixes = entries.iter().take(MOST_HINTED).filter_map(|(key, _)| {
        let meant = match key.text.as_str() {
            "aggregate" => "in_parallel",
            name if names.contains(&name) => return None,
            name => crate::suggest::certain(name, names.clone())?,
        };
        let is_kind = CORES.iter().any(|core| core.key == meant);
        is_kind.then(|| Fix::replace(key.span, &key.text, meant))
    });
    let fix = fixes.next()?;
    fixes.next().is_none().then_some(fix)
}

/// The number of a map's keys that are compared with the keys of steps.
const MOST_HINTED: usize = 10;

/// The keys of all steps: those that decide a kind, and those that every step may have.
fn kind_keys() -> impl Iterator<Item = &'static str> {
    let kinds = CORES.iter().map(|core| core.key);
    kinds
        .chain(modifiers::SHAPE.names())
        .chain(["timeout", "across"])
}

fn first_key(node: &Node) -> Option<Span> {
    match &node.value {
        Value::Map(entries) => entries.first().map(|(key, _)| key.span),
        _ => None,
    }
}
