//! Which kind of step a map is, by its keys, and which keys this version refuses.

use airside_yaml::{Node, Span};

use super::{do_step, get, in_parallel, put, task};
use crate::Step;
use crate::reader::{Fields, Reader};

/// Steps that run when others end. Jobs have them too.
pub(crate) const HOOKS: [&str; 5] = ["ensure", "on_error", "on_abort", "on_failure", "on_success"];

/// What wraps a step. Not supported yet.
const MODIFIERS: [&str; 3] = ["across", "attempts", "timeout"];

/// Kinds of steps that are not supported yet.
const REFUSED: [&str; 4] = ["run", "set_pipeline", "load_var", "try"];

/// All kinds, in the order in which a step with several keys is taken for one of them.
const KINDS: [&str; 9] = [
    "run",
    "task",
    "put",
    "get",
    "set_pipeline",
    "load_var",
    "try",
    "do",
    "in_parallel",
];

pub(super) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<Step> {
    let mut fields = Fields::open(reader, node, path)?;
    let Some(kind) = KINDS.into_iter().find(|kind| fields.has(kind)) else {
        // The rest of the map cannot be judged without knowing what it is.
        let names = KINDS.into_iter().chain(HOOKS).chain(MODIFIERS);
        let message = no_kind(node, names);
        let span = first_key(node).unwrap_or(node.span);
        fields.reader.problem(path, span, message);
        return None;
    };
    let step_path = step_path(path, kind, node);
    let span = node.get(kind).map_or(node.span, |name| name.span);
    fields.reader.places.note(step_path.clone(), span);
    refuse_modifiers(&mut fields, &step_path);
    if REFUSED.contains(&kind) {
        fields.refuse(kind, &step_path);
        return None;
    }
    // What a field is called in messages starts with the step; unknown fields are the place's.
    fields.path.clone_from(&step_path);
    let step = match kind {
        "task" => Step::Task(Box::new(task::read(&mut fields))),
        "put" => Step::Put(put::read(&mut fields)),
        "get" => Step::Get(get::read(&mut fields)),
        "do" => Step::Do(do_step::read(&mut fields)),
        _ => Step::InParallel(in_parallel::read(&mut fields)),
    };
    path.clone_into(&mut fields.path);
    fields.close();
    Some(step)
}

/// `…do[1].task(unit)` for a step with a name, `…do[1].in_parallel` for one without.
fn step_path(path: &str, kind: &str, node: &Node) -> String {
    match kind {
        "do" | "in_parallel" | "try" => format!("{path}.{kind}"),
        _ => {
            let name = node
                .get(kind)
                .and_then(|name| name.value.scalar_text())
                .unwrap_or_default();
            format!("{path}.{kind}({name})")
        }
    }
}

fn refuse_modifiers(fields: &mut Fields<'_, '_>, step_path: &str) {
    for name in HOOKS.into_iter().chain(MODIFIERS) {
        let refused = fields.refuse(name, step_path);
        if refused && name == "across" {
            // It belongs to `across`, which has been refused already.
            let _ = fields.take("fail_fast");
        }
    }
}

fn no_kind(node: &Node, names: impl Iterator<Item = &'static str>) -> String {
    let mut message = "no core step type declared (e.g. get, put, task, etc.)".to_owned();
    let airside_yaml::Value::Map(entries) = &node.value else {
        return message;
    };
    let names: Vec<&str> = names.collect();
    for (key, _) in entries {
        message.push_str(&crate::suggest::hint(&key.text, names.iter().copied()));
    }
    message
}

fn first_key(node: &Node) -> Option<Span> {
    match &node.value {
        airside_yaml::Value::Map(entries) => entries.first().map(|(key, _)| key.span),
        _ => None,
    }
}
