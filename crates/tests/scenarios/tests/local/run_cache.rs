//! `airside run` keeps images and task caches for later runs.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use airside_scenarios::{
    Counter, Environment, Output, Run, counting_registry::CountingRegistry, plans::task,
};
use serde_json::{Value, json};

fn pipeline(steps: Value) -> String {
    json!({"jobs": [{"name": "job", "plan": steps}]}).to_string()
}

/// A task whose cache has a line more after each run.
fn growing(more: &str) -> Value {
    let script = format!("echo line >> kept/lines; echo $(wc -l < kept/lines) lines; {more}");
    let mut step = task("grow", &script);
    step["config"]["caches"] = json!([{"path": "kept"}]);
    step
}

#[track_caller]
fn assert_says(output: &Output, words: &str) {
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(all.contains(words), "no {words:?} in:\n{all}");
}

/// A registry with an image, and a task that runs in it.
fn registry() -> (CountingRegistry, Value) {
    let registry = CountingRegistry::default();
    let rootfs = fs::read(&Environment::get().rootfs).unwrap();
    registry.push("small/image", "latest", &[rootfs]);
    let repository = format!("{}/small/image", registry.address);
    let step = json!({"task": "in-image", "config": {
        "platform": "linux",
        "image_resource": {"type": "registry-image", "source": {"repository": repository}},
        "run": {"path": "sh", "args": ["-c", "echo it runs"]},
    }});
    (registry, step)
}

fn cache_of(run: &Run) -> PathBuf {
    run.path().join("cache/airside/run")
}

fn number_of_images(run: &Run) -> usize {
    fs::read_dir(cache_of(run).join("images/images")).map_or(0, Iterator::count)
}

fn clean(run: &Run, args: &[&str]) -> String {
    let output = Command::new(Environment::get().airside)
        .args(["clean", "--cache"])
        .args(args)
        .env("XDG_CACHE_HOME", run.path().join("cache"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_image_is_pulled_for_the_first_run_only() {
    let (registry, step) = registry();
    let run = Run::new(&pipeline(json!([step])));
    let blobs = || registry.count("GET /v2/small/image/blobs/");
    assert_says(&run.run(&[]).succeeded(), "it runs");
    let first = blobs();
    assert!(first > 0);
    assert_says(&run.run(&[]).succeeded(), "it runs");
    assert_eq!(blobs(), first, "{:?}", registry.requests());
    run.run(&["--fresh"]).succeeded();
    assert_eq!(blobs(), 2 * first);
    assert_eq!(number_of_images(&run), 1);
}

#[test]
fn a_task_finds_its_cache_in_the_next_run_and_no_other_pipeline_does() {
    let run = Run::new(&pipeline(json!([growing("")])));
    assert_says(&run.run(&[]).succeeded(), "| 1 lines");
    assert_says(&run.run(&[]).succeeded(), "| 2 lines");
    assert_says(&run.run(&["--fresh"]).succeeded(), "| 1 lines");
    assert_says(&run.run(&[]).succeeded(), "| 3 lines");
    let other = Run::new(&pipeline(json!([growing("")])));
    let cache = cache_of(&run);
    let shared = ["--cache-dir", cache.to_str().unwrap()];
    assert_says(&other.run(&shared).succeeded(), "| 1 lines");
    assert_says(&run.run(&shared).succeeded(), "| 4 lines");
}

#[test]
fn several_runs_at_once_share_a_cache() {
    let (_registry, step) = registry();
    let run = Run::new(&pipeline(json!([growing(""), step])));
    let running: Vec<_> = (0..3).map(|_| run.spawn(&[])).collect();
    for each in running {
        assert_says(&each.wait().succeeded(), "it runs");
    }
    run.nothing_is_left();
    assert_eq!(number_of_images(&run), 1);
    assert_says(&run.run(&[]).succeeded(), "| 2 lines");
}

#[test]
fn a_killed_run_leaves_a_cache_that_the_next_can_use() {
    let counter = Counter::start();
    let (_registry, step) = registry();
    let stay = counter.bump("stay");
    let run = Run::new(&pipeline(json!([growing(""), step, task("stay", &stay)])));
    run.run(&[]).succeeded();
    counter.hold("stay");
    let running = run.spawn(&[]);
    counter.wait("stay", 2);
    // Its image and its task cache are in use: they are not removed.
    let said = clean(&run, &[]);
    assert!(
        said.contains("kept, as a run uses it: 1 images and 1 task caches"),
        "{said}"
    );
    // Drop kills it, as `kill -9` does.
    drop(running);
    counter.release("stay");
    assert_says(&run.run(&[]).succeeded(), "| 2 lines");
    assert_eq!(number_of_images(&run), 1);
}

#[test]
fn the_cache_is_as_small_as_it_should_be() {
    let (_registry, step) = registry();
    let run = Run::new(&pipeline(json!([growing(""), step])));
    run.run(&["--cache-size", "0"]).succeeded();
    assert_eq!(number_of_images(&run), 0);
    assert_says(&run.run(&["--cache-size", "1GiB"]).succeeded(), "| 1 lines");
    assert_eq!(number_of_images(&run), 1);
    let size = "bytes, ends as";
    assert_says(
        &run.run(&["--cache-size", size]).ended_with(2),
        "is not a number of bytes",
    );
}

#[test]
fn clean_removes_the_cache_and_says_how_much() {
    let (_registry, step) = registry();
    let run = Run::new(&pipeline(json!([growing(""), step])));
    assert!(clean(&run, &[]).contains("there is none"));
    run.run(&[]).succeeded();
    let expected = |verb: &str| {
        let cache = cache_of(&run);
        format!(
            "cache {}: {verb} 1 images and 1 task caches, ",
            cache.display()
        )
    };
    let said = clean(&run, &["--dry-run"]);
    assert!(said.contains(&expected("would remove")), "{said}");
    assert_eq!(number_of_images(&run), 1);
    let said = clean(&run, &[]);
    assert!(
        said.contains(&expected("removed")) && said.contains("iB\n"),
        "{said}"
    );
    assert_eq!(number_of_images(&run), 0);
    assert_says(&run.run(&[]).succeeded(), "| 1 lines");
}

#[test]
fn hostile_cache_directories_of_others_are_not_used() {
    let run = Run::new(&pipeline(json!([task("t", "echo it ran")])));
    let open = run.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let below = |path: &Path| path.join("below").to_str().unwrap().to_owned();
    let output = run.run(&["--cache-dir", &below(&open)]).ended_with(2);
    assert_says(&output, "other users can write to");
    assert!(!output.stdout.contains("it ran"), "{output:?}");
    // The default one is only left out, and the user is told.
    let run = run.env("XDG_CACHE_HOME", open.to_str().unwrap());
    let output = run.run(&[]).succeeded();
    assert_says(
        &output,
        "nothing is kept between runs: other users can write to",
    );
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}
