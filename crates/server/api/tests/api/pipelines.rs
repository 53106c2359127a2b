//! Setting, reading and removing pipelines.

use crate::support::{PIPELINE, Server, TP, request};
use axum::body::Body;
use http::StatusCode;
use serde_json::json;

#[tokio::test]
async fn a_pipeline_is_set_read_changed_and_destroyed() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    assert_eq!(
        server.get(&ann, &format!("{TP}/config")).await.status,
        StatusCode::NOT_FOUND
    );

    let created = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(
        (created.status, created.text.as_str()),
        (StatusCode::CREATED, "{}")
    );
    assert_eq!(created.header("content-type"), "application/json");

    let read = server.get(&ann, &format!("{TP}/config")).await;
    let version = read.header("x-concourse-config-version").to_owned();
    assert_eq!(read.json()["config"]["jobs"][0]["name"], "hello");

    let pipeline = server.get(&ann, TP).await.json();
    assert_eq!(
        (&pipeline["paused"], &pipeline["team_name"]),
        (&json!(true), &json!("main"))
    );
    for (verb, paused) in [("unpause", false), ("pause", true)] {
        let answer = server.put(&ann, &format!("{TP}/{verb}")).await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, ""));
        assert_eq!(server.get(&ann, TP).await.json()["paused"], paused);
    }

    assert_eq!(
        server.set_pipeline(&ann, &version, PIPELINE).await.status,
        StatusCode::OK
    );
    for stale in [&version, ""] {
        let answer = server.set_pipeline(&ann, stale, PIPELINE).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            answer
                .text
                .contains("comparison with existing config failed during save")
        );
    }

    let destroyed = server.call(Some(&ann), "DELETE", TP).await;
    assert_eq!(destroyed.status, StatusCode::NO_CONTENT);
    assert_eq!(server.get(&ann, TP).await.status, StatusCode::NOT_FOUND);
    assert_eq!(
        server.call(Some(&ann), "DELETE", TP).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_configuration_that_cannot_be_taken_is_refused_with_the_reason() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let put = async |kind: &str, body: Vec<u8>| {
        let request =
            request(Some(&ann), "PUT", &format!("{TP}/config")).header("content-type", kind);
        server.ask(request.body(Body::from(body)).unwrap()).await
    };
    let invalid = put("application/x-yaml", b"jobs: [{name: 7".to_vec()).await;
    assert_eq!(invalid.status, StatusCode::BAD_REQUEST);
    assert_eq!(invalid.header("content-type"), "application/json");
    assert!(invalid.json()["errors"][0].is_string());

    let other = put("text/plain", PIPELINE.into()).await;
    assert_eq!(other.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(other.text.contains("text/plain"));
    assert_eq!(
        put("application/x-yaml", b"a: \xff".to_vec()).await.status,
        StatusCode::BAD_REQUEST
    );
    let large = put("application/x-yaml", vec![b' '; (10 << 20) + 1]).await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(large.text.contains("10 MiB"));
    let malformed = server.set_pipeline(&ann, "seven", PIPELINE).await;
    assert_eq!(malformed.status, StatusCode::BAD_REQUEST);
    assert_eq!(server.get(&ann, "/api/v1/pipelines").await.text, "[]");

    let json = json!({"jobs": [{"name": "j", "plan": [{"get": "r"}]}],
        "resources": [{"name": "r", "type": "mock", "source": {}}]});
    let answer = put("application/json; charset=utf-8", json.to_string().into()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
}

#[tokio::test]
async fn odd_names_are_warned_about_and_impossible_ones_refused() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    for (name, status, key) in [("_odd", 201, "warnings"), ("a%2Fb", 400, "errors")] {
        let path = format!("/api/v1/teams/main/pipelines/{name}/config");
        let request =
            request(Some(&ann), "PUT", &path).header("content-type", "application/x-yaml");
        let answer = server
            .ask(request.body(Body::from(PIPELINE)).unwrap())
            .await;
        assert_eq!(answer.status.as_u16(), status, "{name}");
        assert_eq!(answer.json()[key].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn jobs_and_resources_are_listed() {
    let (server, ann, build) = Server::with_build().await;
    let jobs = server.get(&ann, &format!("{TP}/jobs")).await.json();
    assert_eq!(jobs.as_array().unwrap().len(), 3);
    assert_eq!(jobs[0]["next_build"]["id"], build.0);
    assert_eq!(jobs[0]["inputs"][0]["resource"], "r");

    let job = server.get(&ann, &format!("{TP}/jobs/manual")).await.json();
    assert_eq!(
        (&job["name"], &job["disable_manual_trigger"]),
        (&json!("manual"), &json!(true))
    );
    for key in ["next_build", "finished_build"] {
        assert_eq!(job.get(key), Some(&json!(null)), "{key}");
    }
    let resources = server.get(&ann, &format!("{TP}/resources")).await.json();
    assert_eq!(
        resources,
        json!([{"name": "r", "pipeline_id": 1, "pipeline_name": "p", "team_name": "main",
            "type": "mock"}])
    );
}

#[tokio::test]
async fn with_check_creds_a_pipeline_is_refused_whose_variables_nobody_knows() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let set = async |config: &str| {
        let path = format!("{TP}/config?check_creds=");
        let request =
            request(Some(&ann), "PUT", &path).header("content-type", "application/x-yaml");
        let body = Body::from(config.to_owned());
        server.ask(request.body(body).unwrap()).await
    };
    let job = "jobs: [{name: j, plan: [{get: r}]}]";
    let one = set(&format!(
        "{job}\nresources: [{{name: r, type: mock, source: {{b: ((b.c)), a: ((a))}}}}]"
    ))
    .await;
    assert_eq!(one.status, StatusCode::BAD_REQUEST);
    let words = "credential validation failed\n\n1 error occurred:\n\t* undefined vars: a, b.c\n\n";
    assert_eq!(one.json(), json!({"errors": [words]}));

    let task = "jobs: [{name: j, plan: [{task: t, params: {P: ((p))}, vars: {v: ((v))}, config: \
        {platform: linux, rootfs_uri: x, run: {path: ((path))}}}]}]";
    let many = set(task).await;
    let words = "credential validation failed\n\n3 errors occurred:\n\t* undefined vars: p\n\t* undefined \
        vars: v\n\t* failed to interpolate task config: undefined vars: path\n\n";
    assert_eq!(many.json(), json!({"errors": [words]}));
    assert_eq!(server.get(&ann, TP).await.status, StatusCode::NOT_FOUND);

    let none = set(&format!("{job}\nresources: [{{name: r, type: mock}}]")).await;
    assert_eq!(none.status, StatusCode::CREATED, "{}", none.text);
}

#[tokio::test]
async fn with_check_creds_the_manager_and_var_sources_are_asked() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    for (source, status) in [
        ("((installed)) ((s:a.b))", StatusCode::CREATED),
        ("((s:c))", StatusCode::BAD_REQUEST),
        ("((t:c))", StatusCode::BAD_REQUEST),
        ("((.:local))", StatusCode::BAD_REQUEST),
    ] {
        let config = format!(
            "{{jobs: [{{name: j, plan: [{{get: r}}]}}], var_sources: [{{name: s, type: dummy, config: \
             {{vars: {{a: {{b: 1}}}}}}}}], resources: [{{name: r, type: mock, source: {{x: '{source}'}}}}]}}"
        );
        let path = "/api/v1/teams/main/pipelines/creds/config?check_creds=";
        let request = request(Some(&ann), "PUT", path).header("content-type", "application/x-yaml");
        let request = request.header("x-concourse-config-version", "0");
        let answer = server.ask(request.body(Body::from(config)).unwrap()).await;
        assert_eq!(answer.status, status, "{source}: {}", answer.text);
    }
}
