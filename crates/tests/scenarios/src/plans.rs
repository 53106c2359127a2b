//! Plans as JSON, for pipelines whose steps stand inside each other.

use serde_json::{Value, json};

/// A task that runs a bash script on the machine's own file system.
pub fn task(name: &str, script: &str) -> Value {
    json!({"task": name, "config": config(script)})
}

/// The configuration of such a task.
pub fn config(script: &str) -> Value {
    json!({
        "platform": "linux",
        "image_resource": {"type": "host", "source": {}},
        "run": {"path": "bash", "args": ["-c", script]},
    })
}

/// A step with more keys, such as a hook.
pub fn with(mut step: Value, more: Value) -> Value {
    if let (Value::Object(step), Value::Object(more)) = (&mut step, more) {
        step.extend(more);
    }
    step
}

/// A pipeline of one job named `job`, and of the resources it gets.
pub fn pipeline(resources: Value, plan: Value) -> String {
    json!({"resources": resources, "jobs": [{"name": "job", "plan": plan}]}).to_string()
}
