//! Mistakes of users end a step as errored, with words in the build's log, before anything is
//! placed.

use airside_model::BuildStatus;
use airside_protocol::Exit;
use serde_json::{Value, json};

use crate::{
    on_large_stacks,
    plans::{hooked, plan, task},
    server::Site,
};

async fn errs(step: Value, words: &str) {
    let site = Site::new();
    site.machine.exit("on_error", Exit::Code(0));
    let server = site.start().await;
    let build = server.run(&plan(hooked("on_error", step))).await;
    let (status, log) = server.ended(build).await;
    assert_eq!(status, BuildStatus::Errored, "{log}");
    assert!(log.contains(words), "{words} is missing from\n{log}");
    assert_eq!(site.machine.began(), ["on_error"]);
}

#[test]
fn a_missing_input_is_named() {
    let mut step = task("step");
    step["task"]["config"]["inputs"] = json!([{"name": "nothing"}, {"name": "more"}]);
    on_large_stacks(errs(step, "missing inputs: nothing, more"));
}

#[test]
fn a_missing_image_artifact_is_named() {
    let mut step = task("step");
    step["task"]["image"] = json!("nowhere");
    on_large_stacks(errs(step, "missing image artifact source: nowhere"));
}

#[test]
fn an_unknown_type_of_image_says_what_to_write() {
    let mut step = task("step");
    step["task"]["config"]["image_resource"]["type"] = json!("tracker");
    on_large_stacks(errs(step, "images of type `tracker` are not supported"));
}

#[test]
fn a_timeout_that_is_none_is_shown() {
    let mut step = task("step");
    step["task"]["timeout"] = json!("soon");
    on_large_stacks(errs(step, "parse timeout: `soon`"));
}

#[test]
fn a_get_whose_version_is_not_known_errs() {
    let get = json!({"id": "step", "get": {
        "name": "g", "type": "mock", "source": {}, "version_from": "elsewhere",
    }});
    on_large_stacks(errs(get, "the version to get is not known"));
}

#[test]
fn a_variable_without_a_value_is_named() {
    let put = json!({"id": "step", "put": {
        "name": "p", "resource": "p", "type": "mock", "source": {"a": "((nothing))"}, "inputs": "all",
    }});
    on_large_stacks(errs(put, "nothing"));
}
