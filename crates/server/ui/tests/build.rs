//! The page of a build in each of its states.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use airside_build_picture::{BuildPicture, PictureState};
use airside_model::BuildStatus;
use airside_ui::{
    BuildAction, BuildComparison, BuildHead, BuildInputs, BuildPage, BuildPerson, BuildSection,
    BuildSteps, BuildTab, BuildTabs, BuildWait, ComparedInput, ComparedStep, Crumb, InputRow,
    NewInput, PageStatus, PlannedStep, StepsContext, WaitReason, fragments, timeline,
};
use serde_json::{Value, json};

const NAUGHTY: &str = "<script>alert('é \"🦀\"')</script>";

fn task(id: &str, name: &str) -> Value {
    json!({"id": id, "task": {"name": name, "privileged": false, "hermetic": false}})
}

fn get(id: &str, name: &str) -> Value {
    json!({"id": id, "get": {"name": name, "type": "git", "version": {"ref": "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"}}})
}

/// Tells events: id, name of the event, further fields.
fn tell(picture: &mut BuildPicture, events: &[(&str, &str, Value)]) {
    for (time, (id, event, fields)) in (1_000..).zip(events) {
        let mut data = json!({"time": time, "origin": {"id": id}});
        for (key, value) in fields.as_object().expect("fields are an object") {
            data[key] = value.clone();
        }
        let envelope = json!({"data": data, "event": event, "version": "1.0", "event_id": "0"});
        picture.take_envelope(envelope.to_string().as_bytes());
    }
}

fn context() -> StepsContext {
    StepsContext {
        build: 9041,
        now: 1_060_000,
        began: Some(1_000_000),
        ended: Some(1_050_000),
        new_inputs: ["repo".to_owned()].into(),
        opened: None,
        url: "/teams/main/pipelines/web/jobs/unit/builds/126".to_owned(),
        intercepts: true,
    }
}

fn drawn(picture: &BuildPicture, status: BuildStatus) -> String {
    let steps = BuildSteps {
        picture,
        status,
        context: context(),
        notice: None,
    };
    lines(&steps.rendered())
}

/// Puts tags on lines of their own, so that a difference of snapshots can be read.
fn lines(html: &str) -> String {
    html.replace("><", ">\n<")
}

fn none() -> Value {
    json!({})
}

/// A build with hooks, attempts, `across`, an image, and a step that does not run.
fn failed() -> BuildPicture {
    let plan = json!({"id": "r", "do": [
        {"id": "p", "in_parallel": {"steps": [get("1", "repo"), get("2", "image")]}},
        {"id": "t", "retry": [task("3", "deps"), task("4", "deps"), task("5", "deps")]},
        {"id": "f", "on_failure": {
            "step": {"id": "x", "across": {"vars": [{"name": "go"}, {"name": "db"}]}},
            "on_failure": task("6", "notify"),
        }},
        {"id": "y", "timeout": {"duration": "1h", "step": {"id": "z", "try": {"step":
            {"id": "7", "put": {"name": "status", "type": "mock"}}}}}},
    ]});
    let mut picture = BuildPicture::new(Some(&plan));
    let fetched = json!({
        "exit_status": 0, "version": {"ref": "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"},
        "metadata": [
            {"name": "author", "value": "ana"}, {"name": "message", "value": NAUGHTY},
            {"name": "url", "value": "https://example.com/a?b=1&c=2"}, {"name": "bad", "value": "javascript:alert(1)"},
        ],
    });
    let substeps = json!({"substeps": [
        {"step": task("x/0", "test"), "values": ["1.26", "sqlite"]},
        {"step": task("x/1", "test"), "values": ["1.26", {"kind": NAUGHTY}]},
    ]});
    let image =
        json!({"plan": {"id": "x/0/get", "get": {"name": "golang", "type": "registry-image"}}});
    tell(
        &mut picture,
        &[
            ("1", "initialize-get", none()),
            ("2", "initialize-get", none()),
            (
                "1",
                "selected-worker",
                json!({"selected_worker": "pods/n3"}),
            ),
            ("1", "start-get", none()),
            ("1", "finish-get", fetched),
            (
                "2",
                "finish-get",
                json!({"exit_status": 0, "version": {"digest": format!("sha256:{}", "ab".repeat(32))}}),
            ),
            ("3", "initialize-task", none()),
            ("3", "error", json!({"message": "the node went away"})),
            ("4", "initialize-task", none()),
            ("4", "start-task", none()),
            ("4", "finish-task", json!({"exit_status": 0})),
            ("x", "initialize", none()),
            ("x", "across-substeps", substeps),
            ("x/0", "initialize-task", none()),
            ("x/0", "image-get", image),
            ("x/0/get", "initialize-get", none()),
            (
                "x/0/get",
                "finish-get",
                json!({"exit_status": 0, "version": {"tag": "1.26"}}),
            ),
            ("x/0", "start-task", none()),
            ("x/1", "initialize-task", none()),
            ("x/0", "finish-task", json!({"exit_status": 2})),
            ("x/1", "finish-task", json!({"exit_status": 0})),
            ("x", "finish", json!({"succeeded": false})),
            ("6", "initialize-task", none()),
            ("6", "finish-task", json!({"exit_status": 0})),
            ("", "status", json!({"status": "failed"})),
        ],
    );
    picture.set_end("6", PictureState::Succeeded, 1_022_100, 1_022_940);
    picture
}

#[test]
fn steps_of_a_failed_build() {
    insta::assert_snapshot!(drawn(&failed(), BuildStatus::Failed));
}

#[test]
fn steps_of_a_running_build() {
    let set =
        json!({"id": "3", "set_pipeline": {"name": "self", "team": "", "instance_vars": null}});
    let plan =
        json!({"id": "r", "do": [get("1", "repo"), set, task("2", NAUGHTY), task("4", "later")]});
    let mut picture = BuildPicture::new(Some(&plan));
    tell(
        &mut picture,
        &[
            ("1", "initialize-get", none()),
            (
                "1",
                "finish-get",
                json!({"exit_status": 0, "version": {"ref": "v1"}}),
            ),
            ("3", "initialize", none()),
            ("3", "set-pipeline-changed", json!({"changed": true})),
            ("3", "finish", json!({"succeeded": true})),
            ("2", "initialize-task", none()),
            ("2", "waiting-for-worker", none()),
        ],
    );
    insta::assert_snapshot!(drawn(&picture, BuildStatus::Started));
}

#[test]
fn steps_of_errored_and_aborted_builds() {
    let plan = json!({"id": "r", "do": [task("1", "a"), task("2", "b")]});
    for (words, status) in [
        ("no such image\nsecond line", BuildStatus::Errored),
        ("interrupted", BuildStatus::Aborted),
    ] {
        let mut picture = BuildPicture::new(Some(&plan));
        tell(
            &mut picture,
            &[
                ("1", "initialize-task", none()),
                ("1", "start-task", none()),
                ("1", "error", json!({"message": words})),
            ],
        );
        insta::assert_snapshot!(status.as_str(), drawn(&picture, status));
    }
}

#[test]
fn hooks_of_a_job_stand_behind_its_steps() {
    let steps = json!({"id": "d", "do": [
        {"id": "e", "ensure": {"step": task("1", "a"), "ensure": task("2", "b")}},
        task("3", "c"),
    ]});
    let plan = json!({"id": "o", "ensure": {
        "step": {"id": "f", "on_failure": {"step": steps, "on_failure": task("4", "d")}},
        "ensure": task("5", "e"),
    }});
    let html = drawn(&BuildPicture::new(Some(&plan)), BuildStatus::Started);
    let names = html.lines().filter_map(|line| {
        let (_, rest) = line.split_once("class=\"step-name cut\" title=\"")?;
        rest.split('"').next()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    for chip in ["ensure of a", "on_failure", "ensure"] {
        assert!(
            html.contains(&format!("title=\"{chip}\"")),
            "{chip}: {html}"
        );
    }
    assert!(!html.contains("data-step-kind=\"do\""), "{html}");
}

#[test]
fn a_build_without_steps_says_why() {
    let mut picture = BuildPicture::new(None);
    tell(
        &mut picture,
        &[("", "error", json!({"message": "unknown resource `x`"}))],
    );
    let steps = BuildSteps {
        picture: &picture,
        status: BuildStatus::Errored,
        context: context(),
        notice: Some("The log of this build was removed 3 d ago.".to_owned()),
    };
    insta::assert_snapshot!(lines(&steps.rendered()));
}

#[test]
fn many_combinations_are_cut_and_the_asked_one_is_drawn() {
    let substeps: Vec<Value> = (0..700)
        .map(|index| json!({"step": task(&format!("x/{index}"), "test"), "values": [index]}))
        .collect();
    let plan = json!({"id": "x", "across": {"vars": [{"name": "n"}]}});
    let mut picture = BuildPicture::new(Some(&plan));
    let finish = json!({"exit_status": 0});
    tell(
        &mut picture,
        &[
            ("x", "initialize", none()),
            ("x", "across-substeps", json!({"substeps": substeps})),
            ("x/650", "initialize-task", none()),
            ("x/650", "finish-task", json!({"exit_status": 1})),
            ("x/3", "initialize-task", none()),
            ("x/3", "finish-task", finish),
        ],
    );
    let mut steps = BuildSteps {
        picture: &picture,
        status: BuildStatus::Started,
        context: context(),
        notice: None,
    };
    let html = steps.rendered();
    assert!(html.contains("id=\"Sx/650\"") && !html.contains("id=\"Sx/3\""));
    assert!(html.contains("200 more combinations are not shown"));
    assert!(html.len() < 300_000, "{}", html.len());
    steps.context.opened = Some("x/3".to_owned());
    assert!(steps.rendered().contains("id=\"Sx/3\""));
}

fn page(status: PageStatus, section: BuildSection, content: String) -> BuildPage {
    let tab = |name: &str, status, is_here| BuildTab {
        name: name.to_owned(),
        href: format!("/teams/main/pipelines/web/jobs/unit/builds/{name}"),
        status,
        is_here,
    };
    BuildPage {
        id: 9041,
        name: "126".to_owned(),
        team: "main".to_owned(),
        pipeline: Some("web".to_owned()),
        job: Some("unit".to_owned()),
        job_id: Some(3),
        crumbs: vec![Crumb::new("main", "/"), Crumb::new("#126", "/builds/9041")],
        url: "/teams/main/pipelines/web/jobs/unit/builds/126".to_owned(),
        tabs: BuildTabs {
            tabs: vec![
                tab("127", PageStatus::Pending, false),
                tab("126", status, true),
            ],
            newer: None,
            older: Some("/teams/main/pipelines/web/jobs/unit/builds/126?older=9041".to_owned()),
            next: Some(tab("127", PageStatus::Pending, false)),
        },
        head: BuildHead {
            id: 9041,
            status,
            heading: "unit #126".to_owned(),
            reason: Some("exit 1 in “test”".to_owned()),
            duration: Some(std::time::Duration::from_secs(192)),
            since: None,
            at: (
                "started".into(),
                "2026-11-19T14:02:11Z".into(),
                "14:02:11".into(),
            ),
            person: Some(BuildPerson::Trigger),
            rerun_of: Some(("125".to_owned(), "/builds/9040".to_owned())),
            new_inputs: vec![NewInput {
                name: "repo".to_owned(),
                version: "ref a1b2c3d".to_owned(),
                href: "/teams/main/pipelines/web/resources/repo".to_owned(),
            }],
            comment: format!("flaky, see https://example.com/1 {NAUGHTY}"),
            edits_comment: true,
            actions: vec![BuildAction {
                text: "Trigger",
                icon: "plus",
                class: "btn-primary",
                method: "POST",
                url: "/api/v1/teams/main/pipelines/web/jobs/unit/builds".to_owned(),
                confirm: None,
                goto: Some("latest".to_owned()),
                refusal: Some("The pipeline is archived".to_owned()),
            }],
        },
        section,
        compared_with: Some(("125".to_owned(), PageStatus::Succeeded)),
        sees_output: true,
        content,
    }
}

#[test]
fn the_page_around_the_steps() {
    let steps = "<!--[steps]--><div id=\"steps\"></div><!--[/steps]-->";
    let page = page(PageStatus::Failed, BuildSection::Log, steps.to_owned()).page();
    assert_eq!(page.topics, ["build:9041", "job:3"]);
    assert_eq!(page.title, "✗ unit #126 · web");
    insta::assert_snapshot!(lines(&page.body));
    let parts = fragments(&page.body, "tabs,head,steps");
    assert!(
        parts.starts_with("<nav class=\"builds\" id=\"tabs\"")
            && parts.ends_with("<div id=\"steps\"></div>")
    );
    let whole = page.render(&airside_ui::Shell::default());
    assert!(whole.contains("data-build-name=\"126\"") && whole.contains("icon-failed.svg"));
}

#[test]
fn a_waiting_build_says_for_what() {
    let reason = |text: &str, is_met: bool| WaitReason {
        text: text.to_owned(),
        of: (!is_met).then(|| (NAUGHTY.to_owned(), "/teams/main".to_owned())),
        is_met,
        details: if is_met {
            Vec::new()
        } else {
            vec!["no version passed “publish”".to_owned()]
        },
        links: Vec::new(),
    };
    let wait = BuildWait {
        waited: std::time::Duration::from_secs(250),
        since: 1_000,
        reasons: vec![
            reason("The job is not paused", true),
            reason("has no version yet", false),
        ],
        planned: vec![PlannedStep {
            kind: "get",
            name: "repo".to_owned(),
        }],
    };
    insta::assert_snapshot!(lines(&wait.rendered()));
}

#[test]
fn inputs_comparison_and_timeline() {
    let row = |name: &str, is_new| InputRow {
        name: name.to_owned(),
        href: Some("/teams/main/pipelines/web/resources/repo".to_owned()),
        version: [("ref", "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678")].into(),
        is_new,
    };
    let inputs = BuildInputs {
        inputs: vec![row("repo", true), row(NAUGHTY, false)],
        outputs: Vec::new(),
    };
    insta::assert_snapshot!("inputs", lines(&inputs.rendered()));
    let step = |name: &str, there, here| ComparedStep {
        name: name.to_owned(),
        there: Some((PageStatus::Succeeded, there)),
        here: Some((PageStatus::Failed, here)),
    };
    let input = |name: &str, here: &str| ComparedInput {
        name: name.to_owned(),
        there: "ref 1".to_owned(),
        here: here.to_owned(),
    };
    let comparison = BuildComparison {
        other: (
            "125".to_owned(),
            "/builds/9040".to_owned(),
            PageStatus::Succeeded,
        ),
        name: "126".to_owned(),
        status: PageStatus::Failed,
        choice: "a green build before it".to_owned(),
        inputs: vec![input("image", "ref 1"), input("repo", "ref 2")],
        steps: vec![
            step("task a", Some(1_000), Some(900)),
            step("task b", Some(1_000), Some(61_000)),
            step("put c", None, None),
        ],
    };
    insta::assert_snapshot!("comparison", lines(&comparison.rendered()));
    insta::assert_snapshot!(
        "timeline",
        lines(&timeline(&failed(), BuildStatus::Failed, &context()))
    );
}
