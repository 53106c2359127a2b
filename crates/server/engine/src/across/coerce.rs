//! Makes texts of values that stand where a plan has texts, as Concourse does when it reads such a
//! plan: all of a step's own fields and `params`, but nothing else in a task's `config`.

use airside_config::env_text;
use serde_json::{Map, Value};

type Node = Map<String, Value>;

/// Changes the node and all below it.
pub(super) fn plan(plan: &mut Value) -> Result<(), String> {
    let Value::Object(plan) = plan else {
        return Ok(());
    };
    for (kind, node) in plan {
        match (kind.as_str(), node) {
            ("do" | "retry", Value::Array(steps)) => steps.iter_mut().try_for_each(self::plan)?,
            ("in_parallel", Value::Object(node)) => {
                let steps = node.get_mut("steps").and_then(Value::as_array_mut);
                steps.into_iter().flatten().try_for_each(self::plan)?;
            }
            (kind, Value::Object(node)) => step(kind, node)?,
            _ => {}
        }
    }
    Ok(())
}

fn step(kind: &str, node: &mut Node) -> Result<(), String> {
    match kind {
        "on_success" | "on_failure" | "on_abort" | "on_error" | "ensure" => {
            below(node, &["step", kind])
        }
        "try" => below(node, &["step"]),
        "timeout" => {
            texts(node, &["duration"]);
            below(node, &["step"])
        }
        "get" | "put" | "check" => {
            texts(node, &["name", "type", "resource", "timeout", "tags"]);
            match node.get_mut("image") {
                Some(Value::Object(image)) => below(image, &["check_plan", "get_plan"]),
                _ => Ok(()),
            }
        }
        "task" => task(node),
        "run" => {
            texts(node, &["message", "type", "timeout", "tags"]);
            Ok(())
        }
        "set_pipeline" => {
            texts(node, &["name", "file", "team", "var_files"]);
            Ok(())
        }
        "load_var" => {
            texts(node, &["name", "file", "format"]);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn below(node: &mut Node, keys: &[&str]) -> Result<(), String> {
    for key in keys {
        node.get_mut(*key).map_or(Ok(()), plan)?;
    }
    Ok(())
}

/// Makes texts of these fields, or of what is in them if they are lists or maps.
fn texts(node: &mut Node, keys: &[&str]) {
    for key in keys {
        match node.get_mut(*key) {
            Some(Value::Array(items)) => items.iter_mut().for_each(text),
            Some(Value::Object(map)) => map.values_mut().for_each(text),
            Some(value) => text(value),
            None => {}
        }
    }
}

/// Makes a text of a scalar. Anything else stays, and is refused when the plan is read.
fn text(value: &mut Value) {
    if let Value::Number(_) | Value::Bool(_) | Value::Null = value {
        *value = Value::String(env_text(value));
    }
}

fn task(node: &mut Node) -> Result<(), String> {
    let fields = ["name", "config_path", "image", "timeout", "tags"];
    texts(node, &fields);
    texts(node, &["input_mapping", "output_mapping"]);
    params(node);
    let name = node.get("name").and_then(Value::as_str);
    let name = name.unwrap_or_default().to_owned();
    let Some(Value::Object(config)) = node.get_mut("config") else {
        return Ok(());
    };
    params(config);
    let run = config.get("run").and_then(Value::as_object);
    let args = run.and_then(|run| run.get("args")?.as_array());
    for (index, arg) in args.into_iter().flatten().enumerate() {
        if !arg.is_string() {
            return Err(format!(
                "`run.args[{index}]` of the task `{name}` must be a text and became {} {arg}: put the value of \
                 the across variable in quotes, or pass it in `params`",
                airside_vars::kind(arg)
            ));
        }
    }
    Ok(())
}

/// Variables of the environment: lists and maps are their JSON, null is empty.
fn params(node: &mut Node) {
    if let Some(Value::Object(params)) = node.get_mut("params") {
        for value in params.values_mut() {
            *value = Value::String(env_text(value));
        }
    }
}
