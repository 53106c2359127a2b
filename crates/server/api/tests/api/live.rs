//! The stream of changes: what each caller gets of each topic, and when it ends.

use std::time::Duration;

use airside_model::{BuildId, BuildStatus};
use airside_store::{Pausing, testing::TestDatabase};
use axum::body::{Body, BodyDataStream};
use futures::{FutureExt, StreamExt};
use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{PIPELINE, Server, TP, request};

airside_store::on_both_databases!(
    each_caller_gets_what_its_pages_show,
    a_change_is_told_to_those_who_see_it,
);

const LIVE: &str = "/airside/v1/live?topics=";

/// An open stream.
struct Live {
    body: BodyDataStream,
    seen: String,
}

/// One event of a stream.
#[derive(Debug)]
struct Event {
    id: String,
    name: String,
    data: Value,
}

impl Event {
    fn text(&self) -> String {
        match &self.data["topic"] {
            Value::String(topic) => format!("{} {topic}", self.name),
            _ => self.name.clone(),
        }
    }
}

impl Live {
    async fn open(server: &Server, token: Option<&str>, topics: &str, last: &str) -> Self {
        let request = request(token, "GET", &format!("{LIVE}{topics}"));
        let request = request.header("last-event-id", last);
        let response = server.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(
            response.headers()["content-type"],
            "text/event-stream; charset=utf-8"
        );
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self {
            body: response.into_body().into_data_stream(),
            seen: String::new(),
        }
    }

    /// The next event; `None` if the stream has ended.
    async fn try_next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.seen.split_once("\n\n") {
                let field = |name: &str| {
                    let mut lines = event.lines();
                    let line = lines.find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_default().to_owned()
                };
                let event = Event {
                    id: field("id: "),
                    name: field("event: "),
                    data: serde_json::from_str(&field("data: ")).unwrap(),
                };
                self.seen = rest.to_owned();
                return Some(event);
            }
            let next = tokio::time::timeout(Duration::from_secs(30), self.body.next());
            let bytes = next.await.expect("an event comes")?.unwrap();
            self.seen.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    async fn next(&mut self) -> Event {
        self.try_next().await.expect("the stream goes on")
    }

    /// The next events, as many as are given, by name and topic.
    async fn texts(&mut self, number: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for _ in 0..number {
            texts.push(self.next().await.text());
        }
        texts
    }

    /// The next event of this name and topic.
    async fn wait_for(&mut self, text: &str) -> Event {
        loop {
            let event = self.next().await;
            if event.text() == text {
                return event;
            }
        }
    }

    fn is_silent(&mut self) -> bool {
        self.seen.is_empty() && self.body.next().now_or_never().is_none()
    }
}

/// A team with a viewer and an operator, a pipeline of it with a build, and a stranger who has
/// logged in.
async fn crew(database: TestDatabase) -> (Server, String, BuildId) {
    let (server, ann, build) = Server::with_build_on(database).await;
    let role = |name: &str| json!({"users": [format!("local:{name}")], "groups": []});
    let auth = json!({"auth": {"owner": role("ann"), "viewer": role("viewer")}});
    let set = server
        .send_json(&ann, "PUT", "/api/v1/teams/main", &auth)
        .await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.text);
    let other = json!({"auth": {"member": role("other")}});
    server
        .send_json(&ann, "PUT", "/api/v1/teams/others", &other)
        .await;
    (server, ann, build)
}

/// The ids of the topics of the team's pipeline.
async fn topics(server: &Server, build: BuildId) -> Vec<String> {
    let build = server.store.build(build).await.unwrap().unwrap();
    let pipeline = build.pipeline.unwrap();
    let resource = server.store.resource(pipeline, "r").await.unwrap().unwrap();
    vec![
        "dashboard".to_owned(),
        format!("pipeline:{pipeline}"),
        format!("job:{}", build.job.unwrap()),
        format!("build:{}", build.id),
        format!("resource:{}", resource.id),
        "workers".to_owned(),
        "builds".to_owned(),
    ]
}

/// Returns true for each topic that is allowed, in their order.
async fn verdicts(server: &Server, token: Option<&str>, topics: &[String]) -> Vec<(String, bool)> {
    let mut live = Live::open(server, token, &topics.join(","), "").await;
    assert_eq!(live.next().await.name, "hello");
    let mut verdicts = Vec::new();
    for _ in topics {
        let event = live.next().await;
        let topic = event.data["topic"].as_str().unwrap().to_owned();
        match event.name.as_str() {
            "state" => verdicts.push((topic, true)),
            "denied" => verdicts.push((topic, false)),
            other => panic!("{other} {topic}"),
        }
    }
    let place = |topic: &String| topics.iter().position(|one| one == topic);
    verdicts.sort_by_key(|(topic, _)| place(topic));
    verdicts
}

async fn each_caller_gets_what_its_pages_show(database: TestDatabase) {
    let (server, ann, build) = crew(database).await;
    let topics = topics(&server, build).await;
    let (viewer, other) = (server.login("viewer").await, server.login("other").await);
    // In none of the teams.
    let bob = server.login("bob").await;
    let hidden = [
        (Some(&ann), [true, true, true, true, true, true, true]),
        (Some(&viewer), [true, true, true, true, true, true, true]),
        (Some(&other), [true, false, false, false, false, true, true]),
        (Some(&bob), [true, false, false, false, false, false, true]),
        (None, [true, false, false, false, false, false, true]),
    ];
    let exposed = [
        (Some(&ann), [true, true, true, true, true, true, true]),
        (Some(&other), [true, true, true, true, true, true, true]),
        (Some(&bob), [true, true, true, true, true, false, true]),
        (None, [true, true, true, true, true, false, true]),
    ];
    for (token, expected) in hidden {
        let found = verdicts(&server, token.map(String::as_str), &topics).await;
        let found: Vec<bool> = found.into_iter().map(|(_, allowed)| allowed).collect();
        assert_eq!(found, expected, "{topics:?}");
    }
    assert_eq!(
        server.put(&ann, &format!("{TP}/expose")).await.status,
        StatusCode::OK
    );
    for (token, expected) in exposed {
        let found = verdicts(&server, token.map(String::as_str), &topics).await;
        let found: Vec<bool> = found.into_iter().map(|(_, allowed)| allowed).collect();
        assert_eq!(found, expected, "{topics:?}");
    }

    // What does not exist is not told to strangers.
    let absent = "pipeline:999999,job:999999,resource:999999,build:999999";
    let mut live = Live::open(&server, None, absent, "").await;
    for text in live.texts(5).await.iter().skip(1) {
        assert!(text.starts_with("denied "), "{text}");
    }
    let mut live = Live::open(&server, Some(&ann), absent, "").await;
    for text in live.texts(5).await.iter().skip(1) {
        assert!(text.starts_with("gone "), "{text}");
    }
}

async fn a_change_is_told_to_those_who_see_it(database: TestDatabase) {
    let (server, ann, build) = crew(database).await;
    let store = &server.store;
    let topics = topics(&server, build).await;
    let list = format!("dashboard,{},{},builds", topics[1], topics[3]);
    let mut live = Live::open(&server, Some(&ann), &list, "").await;
    let hello = live.next().await;
    assert_eq!(
        (&hello.data["edition"], &hello.data["beat"]),
        (&json!(airside_ui::edition()), &json!(15))
    );
    let expected = ["dashboard", &topics[1], &topics[3], "builds"];
    let mut states = live.texts(4).await;
    states.sort_by_key(|text| expected.iter().position(|topic| text.ends_with(topic)));
    assert_eq!(states, expected.map(|topic| format!("state {topic}")));
    let mut stranger = Live::open(&server, None, "dashboard,builds", "").await;
    stranger.texts(3).await;

    let minute = Duration::from_secs(60);
    let lease = store.take_build(build, "t", "t", minute).await.unwrap();
    let lease = lease.unwrap();
    store
        .finish_build(&lease, BuildStatus::Failed)
        .await
        .unwrap();
    let mut patches: Vec<Event> = Vec::new();
    while patches.len() < 3 {
        let event = live.next().await;
        if event.name == "patch" {
            patches.push(event);
        }
    }
    let of = |topic: &str| {
        let mut patches = patches.iter();
        let found = patches.find(|patch| patch.data["topic"] == topic);
        found.unwrap_or_else(|| panic!("{topic}")).data.clone()
    };
    let item = &of("dashboard")["items"][0];
    // Paused and seen by its team; the first of three jobs failed, none runs.
    assert_eq!(
        (&item[3], &item[5], &item[7]),
        (&json!(9), &json!("200"), &json!(0))
    );
    let job = topics[2].strip_prefix("job:").unwrap();
    assert_eq!(of(&topics[1])["jobs"], json!({job: "2"}));
    assert_eq!(of(&topics[3])["status"], "failed");

    // A stranger hears of it as soon as it is exposed, and not before.
    assert!(stranger.is_silent());
    let pipeline = topics[1]
        .strip_prefix("pipeline:")
        .unwrap()
        .parse()
        .unwrap();
    let id = airside_model::PipelineId(pipeline);
    store.set_pipeline_public(id, true).await.unwrap();
    let patch = stranger.wait_for("patch dashboard").await;
    assert_eq!(patch.data["items"][0][0], pipeline);
    assert_eq!(patch.data["order"], json!([pipeline]));
    let by = Pausing::Pause { by: "ann" };
    store.set_pipeline_paused(id, by).await.unwrap();
    store.set_pipeline_public(id, false).await.unwrap();
    let mut last = stranger.wait_for("patch dashboard").await;
    while last.data.get("gone").is_none() {
        let shown = last.data["items"][0].as_array().unwrap();
        assert!(shown.len() < 10, "not who paused it: {shown:?}");
        last = stranger.wait_for("patch dashboard").await;
    }
    assert_eq!(last.data["gone"], json!([pipeline]));
}

#[tokio::test]
async fn one_that_comes_back_gets_the_rest() {
    let (server, ann, build) = crew(TestDatabase::sqlite()).await;
    let mut live = Live::open(&server, Some(&ann), "dashboard", "").await;
    // All that happened before is told by then.
    server.store.set_wall("hi", None).await.unwrap();
    let known = live.wait_for("part dashboard").await;
    drop(live);
    let status = BuildStatus::Errored;
    let minute = Duration::from_secs(60);
    let lease = server
        .store
        .take_build(build, "t", "t", minute)
        .await
        .unwrap();
    let mut other = Live::open(&server, Some(&ann), "dashboard", "").await;
    other.texts(2).await;
    server
        .store
        .finish_build(&lease.unwrap(), status)
        .await
        .unwrap();
    other.wait_for("patch dashboard").await;

    let mut live = Live::open(&server, Some(&ann), "dashboard", &known.id).await;
    assert_eq!(live.texts(2).await, ["hello", "patch dashboard"]);
    let position = known.id;
    let mut live = Live::open(&server, Some(&ann), &format!("dashboard@{position}"), "").await;
    assert_eq!(live.texts(2).await, ["hello", "patch dashboard"]);
    let mut live = Live::open(&server, Some(&ann), "dashboard", "00000000-1").await;
    assert_eq!(live.texts(2).await, ["hello", "state dashboard"]);
}

#[tokio::test]
async fn rights_that_are_lost_end_what_is_told() {
    let (server, ann, build) = crew(TestDatabase::sqlite()).await;
    let topics = topics(&server, build).await;
    let viewer = server.login("viewer").await;
    let list = format!("dashboard,{}", topics[3]);
    let mut live = Live::open(&server, Some(&viewer), &list, "").await;
    live.texts(3).await;
    let owner = json!({"users": ["local:ann"], "groups": []});
    let auth = json!({"auth": {"owner": owner}});
    let set = server
        .send_json(&ann, "PUT", "/api/v1/teams/main", &auth)
        .await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.text);
    let denied = live.wait_for(&format!("denied {}", topics[3])).await;
    assert_eq!(denied.id, "");
    let state = live.wait_for("state dashboard").await;
    assert_eq!(state.data["items"], json!([]));

    // A pipeline that is destroyed is gone for those who saw it.
    let mut live = Live::open(&server, Some(&ann), &topics[1..5].join(","), "").await;
    live.texts(5).await;
    let gone = server.call(Some(&ann), "DELETE", TP).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    for topic in &topics[1..5] {
        live.wait_for(&format!("gone {topic}")).await;
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_token_and_with_the_server() {
    let (server, ann, _) = crew(TestDatabase::sqlite()).await;
    let viewer = server.login("viewer").await;
    let mut of_viewer = Live::open(&server, Some(&viewer), "dashboard", "").await;
    let mut of_ann = Live::open(&server, Some(&ann), "dashboard", "").await;
    for live in [&mut of_viewer, &mut of_ann] {
        live.texts(2).await;
    }
    let out = server.get(&viewer, "/sky/logout").await;
    assert_eq!(out.status, StatusCode::OK, "{}", out.text);
    // Teams that change have all judged again.
    let other = json!({"auth": {"member": {"users": ["local:bob"], "groups": []}}});
    server
        .send_json(&ann, "PUT", "/api/v1/teams/others", &other)
        .await;
    while of_viewer.try_next().await.is_some() {}

    server.shutdown.cancel();
    while of_ann.try_next().await.is_some() {}
}

#[tokio::test]
async fn hostile_lists_are_refused() {
    let (server, ann, _) = crew(TestDatabase::sqlite()).await;
    let many: Vec<String> = (0..65).map(|id| format!("build:{id}")).collect();
    let long = "dashboard,".repeat(500);
    for list in [
        "",
        "everything",
        "build:",
        "build:-1",
        "build:1%00",
        "build:99999999999999999999",
        "dashboard,,workers",
        "%2e%2e/builds",
        many.join(",").as_str(),
        long.as_str(),
    ] {
        for token in [None, Some(ann.as_str())] {
            let answer = server.call(token, "GET", &format!("{LIVE}{list}")).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{list}");
        }
    }
    let answer = server.call(Some(&ann), "GET", "/airside/v1/live").await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let bad = server
        .call(Some("bad"), "GET", &format!("{LIVE}dashboard"))
        .await;
    assert_eq!(bad.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_user_has_only_so_many_streams() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let set = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(set.status, StatusCode::CREATED);
    let mut streams = Vec::new();
    for _ in 0..16 {
        streams.push(Live::open(&server, Some(&ann), "workers", "").await);
    }
    let refused = server
        .call(Some(&ann), "GET", &format!("{LIVE}workers"))
        .await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(!refused.header("retry-after").is_empty());
    streams.pop();
    // The server learns that the client has left when it writes to it.
    let mut live = loop {
        server.store.set_wall("hi", None).await.unwrap();
        let worker = airside_model::WorkerName("w".to_owned());
        let kind = airside_store::WorkerKind::Local;
        server
            .store
            .register_worker(&worker, None, &[], kind)
            .await
            .unwrap();
        let request = request(Some(&ann), "GET", &format!("{LIVE}workers"));
        let response = server.send(request.body(Body::empty()).unwrap()).await;
        if response.status() == StatusCode::OK {
            break response.into_body().into_data_stream();
        }
        tokio::task::yield_now().await;
    };
    assert!(live.next().await.is_some());
}
