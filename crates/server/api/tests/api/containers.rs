//! Containers as `fly containers` lists them.

use crate::support::{Server, request};
use airside_model::{Handle, PlanId, StepKind, StepLabels, WorkerName};
use airside_store::NewPlacement;
use axum::body::Body;
use http::StatusCode;
use serde_json::json;

#[tokio::test]
async fn containers_are_listed_and_filtered() {
    let (server, ann, build) = Server::with_build().await;
    assert_eq!(
        server.get(&ann, "/api/v1/teams/main/containers").await.text,
        "[]"
    );
    let hour = std::time::Duration::from_secs(3600);
    let lease = server
        .store
        .take_build(build, "me", "here", hour)
        .await
        .unwrap()
        .unwrap();
    for (plan, attempt) in [("1", 1), ("2", 2)] {
        let labels = StepLabels {
            team: "main".into(),
            team_id: airside_model::TeamId(1),
            pipeline: Some("p".into()),
            job: Some("hello".into()),
            build,
            build_name: "1".into(),
            step: format!("step-{plan}"),
            kind: StepKind::Task,
            attempt,
            attempts: if attempt > 1 {
                vec![attempt]
            } else {
                Vec::new()
            },
        };
        let placement = NewPlacement {
            handle: &Handle::new(format!("s-{plan}")),
            plan: &PlanId::new(plan),
            attempt,
            placement: 1,
            worker: &WorkerName::new("w"),
            labels: &labels,
            token_hash: "hash",
            dir: "/work",
            user: "",
            request: &json!({}),
        };
        server
            .store
            .create_placement(&lease, placement)
            .await
            .unwrap();
    }
    let all = server
        .get(&ann, "/api/v1/teams/main/containers")
        .await
        .json();
    assert_eq!(
        all[0],
        json!({"id": "s-1", "worker_name": "w", "state": "creating", "type": "task",
            "step_name": "step-1", "pipeline_id": 1, "job_id": 1, "build_id": build,
            "pipeline_name": "p", "job_name": "hello", "build_name": "1",
            "working_directory": "/work"})
    );
    assert_eq!(all[1]["attempt"], "2");
    for (query, count) in [
        ("pipeline_name=p&job_name=hello&build_name=1", 2),
        ("step_name=step-2", 1),
        ("attempt=2&type=task", 1),
        ("type=get", 0),
        ("build_id=999", 0),
        ("job_name=other", 0),
        ("pipeline_name=p&vars=%7B%7D", 2),
        ("pipeline_name=p&vars=%7B%22a%22:1%7D", 0),
    ] {
        let path = format!("/api/v1/teams/main/containers?{query}");
        let found = server.get(&ann, &path).await.json();
        assert_eq!(found.as_array().unwrap().len(), count, "{query}");
    }
    let one = |team: &str, rest: &str| format!("/api/v1/teams/{team}/containers/s-1{rest}");
    let shown = server.get(&ann, &one("main", "")).await;
    assert_eq!(shown.json(), all[0]);
    let team = json!({"auth": {"owner": {"users": ["local:ann"], "groups": []}}});
    server
        .send_json(&ann, "PUT", "/api/v1/teams/other", &team)
        .await;
    for path in [one("other", ""), one("other", "/hijack"), one("main", "0")] {
        let upgrade = request(Some(&ann), "GET", &path)
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "c2l4dGVlbiBieXRlcyEhIQ==");
        let answer = server.ask(upgrade.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
}
