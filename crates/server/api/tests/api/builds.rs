//! Builds, their pages, and what runs them.

use crate::support::{PIPELINE, Server, TP, request};
use airside_model::{BuildId, WorkerName};
use airside_store::{WorkerKind, testing::TestDatabase};
use http::StatusCode;
use serde_json::json;

airside_store::on_both_databases!(
    builds_are_listed_by_the_time_of_their_start,
    builds_of_several_exposed_pipelines_make_one_list,
    reruns_stand_beside_what_they_repeat,
);

#[tokio::test]
async fn a_job_is_triggered_and_its_build_is_found() {
    let (server, ann, build) = Server::with_build().await;
    let shown = server
        .get(&ann, &format!("/api/v1/builds/{build}"))
        .await
        .json();
    assert_eq!(
        shown,
        json!({"id": build, "team_name": "main", "name": "1", "status": "pending",
            "api_url": format!("/api/v1/builds/{build}"), "job_name": "hello",
            "pipeline_id": 1, "pipeline_name": "p", "created_by": "ann"})
    );
    let by_name = server.get(&ann, &format!("{TP}/jobs/hello/builds/1")).await;
    assert_eq!(by_name.json(), shown);
    for path in [
        "/api/v1/builds",
        "/api/v1/teams/main/builds",
        &format!("{TP}/builds"),
    ] {
        assert_eq!(
            server.get(&ann, path).await.json(),
            json!([shown]),
            "{path}"
        );
    }
    let unplanned = server
        .get(&ann, &format!("/api/v1/builds/{build}/plan"))
        .await;
    assert_eq!(unplanned.status, StatusCode::NOT_FOUND);
    let preparation = server
        .get(&ann, &format!("/api/v1/builds/{build}/preparation"))
        .await
        .json();
    let expected = json!({
        "build_id": build.0,
        "paused_pipeline": "blocking",
        "paused_job": "not_blocking",
        "max_running_builds": "not_blocking",
        "inputs": {"r": "blocking", "s": "not_blocking"},
        "inputs_satisfied": "blocking",
        "missing_input_reasons": {"r": "why not"},
    });
    assert_eq!(preparation, expected);

    let aborted = server
        .put(&ann, &format!("/api/v1/builds/{build}/abort"))
        .await;
    assert_eq!(aborted.status, StatusCode::NO_CONTENT);
    assert!(server.store.build(build).await.unwrap().unwrap().aborted);

    let refused = server.trigger(&ann, "manual").await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert!(refused.text.contains("manual"));
    assert_eq!(
        server.trigger(&ann, "no").await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_plan_shows_no_sources() {
    let (server, ann, build) = Server::with_build().await;
    let plan = serde_json::from_value(json!({"id": "1", "get": {
        "name": "r", "type": "mock", "resource": "r", "source": {"password": "hunter2"}}}))
    .unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let lease = server
        .store
        .take_build(build, "me", "here", hour)
        .await
        .unwrap()
        .unwrap();
    server.store.start_build(&lease, &plan).await.unwrap();
    let shown = server
        .get(&ann, &format!("/api/v1/builds/{build}/plan"))
        .await;
    assert_eq!(
        shown.json(),
        json!({"schema": "exec.v2",
            "plan": {"id": "1", "get": {"name": "r", "type": "mock", "resource": "r"}}})
    );
}

/// A build that repeats another stands before it, in every list and on every page.
async fn reruns_stand_beside_what_they_repeat(database: TestDatabase) {
    let (server, ann, first) = Server::with_build_on(database).await;
    let mut builds = vec![server.store.build(first).await.unwrap().unwrap()];
    for _ in 0..2 {
        let made = server.trigger(&ann, "hello").await.json();
        let id = BuildId(made["id"].as_i64().unwrap());
        builds.push(server.store.build(id).await.unwrap().unwrap());
    }
    let rerun = async |index: usize| {
        let made = server.store.create_rerun(&builds[index], "ann").await;
        made.unwrap().id.0
    };
    let (again, third) = (rerun(0).await, rerun(0).await);
    let of_second = rerun(1).await;
    let [a, b, c] = [0, 1, 2].map(|index: usize| builds[index].id.0);
    let all = [c, of_second, b, third, again, a];
    let lists = ["/api/v1/builds", "/api/v1/teams/main/builds"].map(str::to_owned);
    let of_pipeline = [format!("{TP}/builds"), format!("{TP}/jobs/hello/builds")];
    for list in lists.iter().chain(&of_pipeline) {
        let mut query = "limit=2".to_owned();
        let mut found = Vec::new();
        loop {
            let answer = server.get(&ann, &format!("{list}?{query}")).await;
            let page = answer.json();
            let ids = page
                .as_array()
                .unwrap()
                .iter()
                .map(|build| build["id"].as_i64().unwrap());
            found.extend(ids);
            let links = answer
                .headers
                .get_all("link")
                .iter()
                .map(|link| link.to_str().unwrap());
            let mut older = links.filter(|link| link.contains("rel=\"next\""));
            let Some(link) = older.next() else { break };
            query = link.split(['?', '>']).nth(1).unwrap().to_owned();
        }
        assert_eq!(found, all, "{list}");
    }
}

#[tokio::test]
async fn pages_link_to_their_neighbours() {
    let (server, ann, first) = Server::with_build().await;
    for _ in 0..4 {
        server.trigger(&ann, "hello").await;
    }
    let path = format!("{TP}/jobs/hello/builds");
    let ids = |answer: &crate::support::TestResponse| -> Vec<i64> {
        let builds = answer.json();
        builds
            .as_array()
            .unwrap()
            .iter()
            .map(|build| build["id"].as_i64().unwrap())
            .collect()
    };
    let base = first.0;
    let page = |key: &str, id: i64, rel: &str| {
        format!(
            "<http://{}{path}?{key}={id}&limit=2>; rel=\"{rel}\"",
            server.address
        )
    };
    for (query, expected, previous, next) in [
        ("limit=2", vec![base + 4, base + 3], None, Some(base + 2)),
        (
            &format!("limit=2&to={}", base + 2),
            vec![base + 2, base + 1],
            Some(base + 3),
            Some(base),
        ),
        (
            &format!("limit=2&from={}", base + 1),
            vec![base + 2, base + 1],
            Some(base + 3),
            Some(base),
        ),
        (
            &format!("limit=2&to={base}"),
            vec![base],
            Some(base + 1),
            None,
        ),
    ] {
        let answer = server.get(&ann, &format!("{path}?{query}")).await;
        assert_eq!(ids(&answer), expected, "{query}");
        let links: Vec<&str> = answer
            .headers
            .get_all("link")
            .iter()
            .map(|link| link.to_str().unwrap())
            .collect();
        let wanted: Vec<String> = previous
            .map(|id| page("from", id, "previous"))
            .into_iter()
            .chain(next.map(|id| page("to", id, "next")))
            .collect();
        assert_eq!(links, wanted, "{query}");
    }
    let all = server.get(&ann, "/api/v1/builds").await;
    assert_eq!((ids(&all).len(), all.header("link")), (5, ""));
    assert_eq!(
        server.get(&ann, "/api/v1/builds?limit=x").await.status,
        StatusCode::BAD_REQUEST
    );
}

/// Starts the build and ends it.
async fn run(server: &Server, build: i64) {
    let hour = std::time::Duration::from_secs(3600);
    let build = airside_model::BuildId(build);
    let lease = server.store.take_build(build, "me", "here", hour).await;
    let lease = lease.unwrap().unwrap();
    let plan = serde_json::from_value(json!({"id": "1", "do": []})).unwrap();
    server.store.start_build(&lease, &plan).await.unwrap();
    let status = airside_model::BuildStatus::Succeeded;
    server.store.finish_build(&lease, status).await.unwrap();
}

async fn builds_are_listed_by_the_time_of_their_start(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let build = server.trigger(&ann, "hello").await.json();
        ids.insert(0, build["id"].as_i64().unwrap());
    }
    // The newest has not started.
    for id in &ids[1..] {
        run(&server, *id).await;
    }
    let start = server
        .get(&ann, &format!("/api/v1/builds/{}", ids[2]))
        .await;
    let start = start.json()["start_time"].as_i64().unwrap();
    let (before, after, far) = (start - 1, start + 1000, i64::MAX);
    for path in [
        "/api/v1/builds".to_owned(),
        "/api/v1/teams/main/builds".to_owned(),
        format!("{TP}/builds"),
        format!("{TP}/jobs/hello/builds"),
    ] {
        for (query, expected) in [
            (format!("from={before}"), &ids[1..]),
            (format!("from={before}&to={after}"), &ids[1..]),
            (format!("from={before}&limit=1"), &ids[1..2]),
            (format!("to={before}"), &[]),
            (format!("from={after}"), &[]),
            (format!("to={far}"), &ids[1..]),
            ("limit=5".to_owned(), &ids[..]),
        ] {
            let path = format!("{path}?timestamps=true&{query}");
            let answer = server.get(&ann, &path).await;
            assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
            assert_eq!(answer.header("link"), "", "{path}");
            let listed: Vec<i64> = (answer.json().as_array().unwrap().iter())
                .map(|build| build["id"].as_i64().unwrap())
                .collect();
            assert_eq!(listed, expected, "{path}");
        }
    }
}

#[tokio::test]
async fn workers_of_a_team_are_shown_to_it_alone() {
    let server = Server::start().await;
    let (ann, bob) = (server.login("ann").await, server.login("bob").await);
    let tags = ["big".to_owned()];
    for (name, team) in [("shared", None), ("mains", Some("main"))] {
        let name = WorkerName::new(name);
        server
            .store
            .register_worker(&name, team, &tags, WorkerKind::Local)
            .await
            .unwrap();
    }
    let workers = server.get(&ann, "/api/v1/workers").await.json();
    assert_eq!(workers.as_array().unwrap().len(), 2);
    assert_eq!(
        (&workers[0]["team"], &workers[1]["team"]),
        (&json!("main"), &json!(""))
    );
    let crew = json!({"auth": {"viewer": {"users": ["local:bob"], "groups": []}}});
    server
        .send_json(&ann, "PUT", "/api/v1/teams/crew", &crew)
        .await;
    let seen = server.get(&bob, "/api/v1/workers").await.json();
    assert_eq!(seen.as_array().unwrap().len(), 1);
    assert_eq!(seen[0]["name"], "shared");
    assert_eq!(seen[0]["state"], "running");
    assert_eq!(seen[0]["tags"], json!(["big"]));
}

async fn builds_of_several_exposed_pipelines_make_one_list(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    let pipelines = ["p", "q", "hidden"].map(|name| format!("/api/v1/teams/main/pipelines/{name}"));
    for path in &pipelines {
        let request = request(Some(&ann), "PUT", &format!("{path}/config"))
            .header("content-type", "application/x-yaml");
        let answer = server.ask(request.body(PIPELINE.into()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::CREATED);
        if !path.ends_with("hidden") {
            server.put(&ann, &format!("{path}/expose")).await;
        }
    }
    for path in pipelines.iter().cycle().take(7) {
        server
            .call(Some(&ann), "POST", &format!("{path}/jobs/hello/builds"))
            .await;
    }
    for (query, expected) in [
        ("", vec![7, 5, 4, 2, 1]),
        ("?limit=2", vec![7, 5]),
        ("?limit=2&to=4", vec![4, 2]),
        ("?limit=2&from=2", vec![4, 2]),
    ] {
        let answer = server
            .call(None, "GET", &format!("/api/v1/builds{query}"))
            .await
            .json();
        let ids: Vec<i64> = answer
            .as_array()
            .unwrap()
            .iter()
            .map(|build| build["id"].as_i64().unwrap())
            .collect();
        assert_eq!(ids, expected, "{query}");
    }
}

#[tokio::test]
async fn hostile_strangers_see_what_is_exposed_and_no_people() {
    let (server, ann, build) = Server::with_build().await;
    for path in ["jobs/hello/pause", "pause", "expose"] {
        let changed = server.put(&ann, &format!("{TP}/{path}")).await;
        assert_eq!(changed.status, StatusCode::OK, "{path}");
    }
    for path in [
        "/api/v1/pipelines",
        "/api/v1/teams/main/pipelines",
        TP,
        "/api/v1/jobs",
        &format!("{TP}/jobs"),
        &format!("{TP}/jobs/hello"),
        "/api/v1/builds",
        &format!("{TP}/builds"),
        &format!("{TP}/jobs/hello/builds"),
        &format!("{TP}/jobs/hello/builds/1"),
        &format!("/api/v1/builds/{build}"),
    ] {
        let own = server.get(&ann, path).await;
        assert!(own.text.contains("\"ann\""), "{path}: {}", own.text);
        let theirs = server.call(None, "GET", path).await;
        assert_eq!(theirs.status, StatusCode::OK, "{path}");
        assert!(theirs.text.contains("\"p\""), "{path}: {}", theirs.text);
        assert!(!theirs.text.contains("\"ann\""), "{path}: {}", theirs.text);
    }
}
