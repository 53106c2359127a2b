//! The page of a build: what its viewers see, and what they may do.

use std::time::Duration;

use airside_model::{
    BuildId, BuildStatus, Plan, PlanId,
    event::{Event, Origin},
};
use axum::body::Body;
use http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{Server, TP, TestResponse};

const NAUGHTY: &str = "<script>alert(1)</script>\"'🦀";

/// Asks as a browser does that this user has logged in with; as a stranger without one.
async fn browse(server: &Server, token: Option<&str>, path: &str) -> TestResponse {
    let mut request = Request::builder().uri(path).header("accept", "text/html");
    if let Some(token) = token {
        let cookies = format!("skymarshal_auth=\"bearer {token}\"; skymarshal_csrf=proof");
        request = request.header("cookie", cookies);
    }
    server.ask(request.body(Body::empty()).unwrap()).await
}

fn plan(name: &str) -> Plan {
    serde_json::from_value(json!({"id": "1", "do": [
        {"id": "2", "task": {"name": name, "privileged": false, "hermetic": false}},
        {"id": "3", "task": {"name": "after", "privileged": false, "hermetic": false}},
    ]}))
    .unwrap()
}

/// Starts a build, and lets its first task print something and end, unless there is no exit status.
async fn run(server: &Server, build: BuildId, name: &str, exit_status: Option<i32>) {
    let hour = Duration::from_secs(3600);
    let lease = server.store.take_build(build, "here", "", hour).await;
    let lease = lease.unwrap().unwrap();
    server.store.start_build(&lease, &plan(name)).await.unwrap();
    let log = server.logs.writer(build, lease.epoch).await.unwrap();
    let origin = || Origin::step(&PlanId::new("2"));
    let mut events = vec![
        Event::Status {
            status: BuildStatus::Started,
            time: 1,
        },
        Event::Initialize {
            origin: origin(),
            time: 1,
        },
        Event::Log {
            time: 1,
            origin: origin(),
            payload: "a secret of the output".to_owned(),
        },
    ];
    if let Some(exit_status) = exit_status {
        events.push(Event::FinishTask {
            time: 2,
            exit_status,
            origin: origin(),
        });
    }
    for (position, event) in (1..).zip(events) {
        log.append("all", position, event).await.unwrap();
    }
    if exit_status.is_some() {
        let finish = server.store.finish_build(&lease, BuildStatus::Failed);
        finish.await.unwrap();
        let status = BuildStatus::Failed;
        let end = Event::Status { status, time: 3 };
        log.append("all", 9, end).await.unwrap();
        log.close().await.unwrap();
    }
}

fn has(page: &TestResponse, texts: &[&str]) {
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    for text in texts {
        assert!(page.text.contains(text), "no {text}: {}", page.text);
    }
}

fn lacks(page: &TestResponse, texts: &[&str]) {
    for text in texts {
        assert!(!page.text.contains(text), "{text}: {}", page.text);
    }
}

#[tokio::test]
async fn a_build_has_one_page_under_its_job_and_by_its_id() {
    let (server, ann, build) = Server::with_build().await;
    run(&server, build, "unit", Some(7)).await;
    let address = "/teams/main/pipelines/p/jobs/hello/builds/1";
    for path in [address, &format!("/builds/{build}")] {
        let page = browse(&server, Some(&ann), path).await;
        has(
            &page,
            &[
                "hello #1",
                "exit 7 in “unit”",
                "triggered by ann",
                "data-step-name=\"unit\"",
                "not run, as “unit” failed",
                "data-team-name=\"main\"",
                "data-pipeline-name=\"p\"",
                "data-build-name=\"1\"",
                "data-action=\"rerun\"",
                "data-action=\"trigger\"",
                "data-log-step=\"2\"",
                "icon-failed.svg",
            ],
        );
        lacks(&page, &["a secret of the output", "data-action=\"abort\""]);
    }
    let part = browse(&server, Some(&ann), &format!("{address}?part=head,tabs")).await;
    assert!(part.text.starts_with("<div id=\"head\""), "{}", part.text);
    lacks(&part, &["<html", "data-step-name"]);
    for (tab, text) in [
        ("inputs", "Inputs"),
        ("timeline", "Timeline of the steps"),
        ("compare", "data-step-name=\"unit\""),
    ] {
        let page = browse(&server, Some(&ann), &format!("{address}?tab={tab}")).await;
        has(&page, &[text]);
    }
}

#[tokio::test]
async fn the_newest_build_has_an_address() {
    let (server, ann, _) = Server::with_build().await;
    let again = server.trigger(&ann, "hello").await.json()["name"].clone();
    assert_eq!(again, "2");
    let latest = "/teams/main/pipelines/p/jobs/hello/builds/latest";
    let page = browse(&server, Some(&ann), latest).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    let to = "/teams/main/pipelines/p/jobs/hello/builds/2";
    assert_eq!(page.header("location"), to);
    let none = "/teams/main/pipelines/p/jobs/open/builds/latest";
    let page = browse(&server, Some(&ann), none).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn hostile_strangers_see_no_steps_no_people_and_no_comment_of_a_job_that_is_not_public() {
    let (server, ann, build) = Server::with_build().await;
    run(&server, build, "hidden-step", Some(1)).await;
    let comment = format!("/api/v1/builds/{build}/comment");
    let body = json!({"comment": "a hidden comment"});
    let written = server.send_json(&ann, "PUT", &comment, &body).await;
    assert_eq!(written.status, StatusCode::OK, "{}", written.text);
    let open = server.trigger(&ann, "open").await.json();
    let open = BuildId(open["id"].as_i64().unwrap());
    run(&server, open, "shown-step", Some(1)).await;
    let path = format!("/builds/{build}");
    let page = browse(&server, None, &path).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER, "not exposed");

    server.put(&ann, &format!("{TP}/expose")).await;
    let hidden = [
        "hidden-step",
        "a hidden comment",
        "by ann",
        "exit 1",
        "data-act=\"send\"",
    ];
    let other = server.login("other").await;
    for token in [None, Some(other.as_str())] {
        for tab in ["log", "timeline", "inputs", "compare"] {
            let page = browse(&server, token, &format!("{path}?tab={tab}")).await;
            has(&page, &["hello #1", "failed"]);
            lacks(&page, &hidden);
        }
    }
    let page = browse(&server, None, &path).await;
    has(&page, &["are for members of its team"]);
    let page = browse(&server, None, &format!("/builds/{open}")).await;
    has(&page, &["shown-step", "exit 1"]);
    lacks(&page, &["triggered by ann"]);
    let mine = browse(&server, Some(&ann), &path).await;
    has(
        &mine,
        &["hidden-step", "a hidden comment", "data-ask=\"comment\""],
    );
}

#[tokio::test]
async fn a_waiting_build_shows_reasons_to_its_team_alone() {
    let (server, ann, build) = Server::with_build().await;
    let path = format!("/builds/{build}");
    let page = browse(&server, Some(&ann), &path).await;
    has(
        &page,
        &[
            "for 2 things",
            "The pipeline is paused",
            "The job is not paused",
            "why not",
            "What it will run",
            "data-confirm=\"Abort hello #1?\"",
        ],
    );
    server.put(&ann, &format!("{TP}/expose")).await;
    let page = browse(&server, None, &path).await;
    has(&page, &["pending"]);
    lacks(&page, &["why not", "What it will run", "data-confirm"]);
}

#[tokio::test]
async fn running_aborting_and_removed_builds_say_so() {
    let (server, ann, build) = Server::with_build().await;
    run(&server, build, "unit", None).await;
    let path = format!("/builds/{build}");
    let page = browse(&server, Some(&ann), &path).await;
    has(
        &page,
        &[
            "data-status=\"started\"",
            "data-state=\"started\"",
            "data-since=",
        ],
    );
    server
        .put(&ann, &format!("/api/v1/builds/{build}/abort"))
        .await;
    let page = browse(&server, Some(&ann), &path).await;
    has(&page, &["is being aborted", "disabled title="]);

    let (server, ann, build) = Server::with_build().await;
    run(&server, build, "unit", Some(1)).await;
    server.store.reap_builds(&[build]).await.unwrap();
    let page = browse(&server, Some(&ann), &format!("/builds/{build}")).await;
    has(&page, &["The log of this build was removed"]);
    lacks(&page, &["data-step-name"]);
}

#[tokio::test]
async fn hostile_names_of_a_one_off_build_are_text() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let body: Value = json!({"id": "1", "task": {
        "name": NAUGHTY, "privileged": false, "hermetic": false,
        "config": {"platform": "linux", "run": {"path": "true"}},
    }});
    let made = server
        .send_json(&ann, "POST", "/api/v1/teams/main/builds", &body)
        .await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let id = made.json()["id"].as_i64().unwrap();
    let path = format!("/builds/{id}?step=%3Cscript%3E&tab=%3Cscript%3E&with=%22");
    let page = browse(&server, Some(&ann), &path).await;
    has(&page, &[&format!("build {id}"), "&#60;script&#62;alert(1)"]);
    lacks(&page, &["<script>alert", "data-action=\"trigger\""]);
}

#[tokio::test]
async fn viewers_see_all_and_have_no_buttons() {
    let (server, ann, build) = Server::with_build().await;
    let auth = json!({"auth": {
        "owner": {"users": ["local:ann"], "groups": []},
        "viewer": {"users": ["local:viewer"], "groups": []},
    }});
    let set = server
        .send_json(&ann, "PUT", "/api/v1/teams/main", &auth)
        .await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.text);
    run(&server, build, "unit", Some(1)).await;
    let viewer = server.login("viewer").await;
    let page = browse(&server, Some(&viewer), &format!("/builds/{build}")).await;
    has(&page, &["data-step-name=\"unit\"", "triggered by ann"]);
    lacks(&page, &["data-act=\"send\"", "fly intercept"]);
}

#[tokio::test]
async fn strips_of_many_builds_go_on() {
    let (server, ann, first) = Server::with_build().await;
    for _ in 0..104 {
        assert_eq!(server.trigger(&ann, "hello").await.status, StatusCode::OK);
    }
    let newest = "/teams/main/pipelines/p/jobs/hello/builds/105";
    let page = browse(&server, Some(&ann), newest).await;
    has(&page, &["data-key=\"105\"", "data-key=\"6\"", "?older="]);
    lacks(&page, &["data-key=\"5\"", "?newer="]);
    let page = browse(&server, Some(&ann), &format!("/builds/{first}")).await;
    has(
        &page,
        &["data-key=\"1\" href=", "?newer=", "105 is waiting"],
    );
}

#[tokio::test]
async fn a_step_that_says_nothing_has_the_end_that_the_store_has() {
    let (server, ann, build) = Server::with_build().await;
    let hour = Duration::from_secs(3600);
    let lease = server.store.take_build(build, "here", "", hour).await;
    let lease = lease.unwrap().unwrap();
    let plan = plan("unit");
    server.store.start_build(&lease, &plan).await.unwrap();
    let began = airside_store::now();
    for (id, status) in [("2", "succeeded"), ("3", "timedout")] {
        let outcome = json!({"status": status, "artifacts": {}});
        let id = PlanId::new(id);
        let saved = server
            .store
            .save_outcome(&lease, &id, &outcome, None::<&()>, began);
        saved.await.unwrap();
    }
    let page = browse(&server, Some(&ann), &format!("/builds/{build}")).await;
    has(
        &page,
        &[
            "data-step-name=\"unit\" data-step-kind=\"task\" data-state=\"succeeded\"",
            "data-step-name=\"after\" data-step-kind=\"task\" data-state=\"failed\"",
        ],
    );
}
