//! Plans of the tests. Each node's id is the name of its step or hook.

use airside_model::Plan;
use serde_json::{Value, json};

pub(crate) fn task(name: &str) -> Value {
    task_with_timeout(name, "")
}

pub(crate) fn task_with_timeout(name: &str, timeout: &str) -> Value {
    let image = json!({"name": "", "type": "host", "source": {}});
    let config = json!({"platform": "linux", "image_resource": image, "run": {"path": "true"}});
    let task = json!({"name": name, "privileged": false, "config": config, "timeout": timeout});
    json!({"id": name, "task": task})
}

/// A step with a task as its hook; `kind` is also the name of that task.
pub(crate) fn hooked(kind: &str, step: Value) -> Value {
    json!({"id": format!("with {kind}"), kind: {"step": step, kind: task(kind)}})
}

/// A step with a hook of each kind.
pub(crate) fn with_all_hooks(step: Value) -> Value {
    let kinds = ["on_success", "on_failure", "on_error", "on_abort", "ensure"];
    kinds.iter().fold(step, |step, kind| hooked(kind, step))
}

pub(crate) fn timed(step: Value, duration: &str) -> Value {
    json!({"id": "timed", "timeout": {"step": step, "duration": duration}})
}

pub(crate) fn in_order(steps: &[Value]) -> Value {
    json!({"id": "all", "do": steps})
}

pub(crate) fn plan(value: Value) -> Plan {
    serde_json::from_value(value).unwrap()
}
