//! Machines that may join as agents.

use crate::support::Server;
use airside_model::WorkerName;
use airside_store::WorkerKind;
use http::StatusCode;
use serde_json::json;

const PATH: &str = "/api/v1/agents";

#[tokio::test]
async fn tokens_are_for_names_teams_and_tags_that_can_be() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let name = WorkerName::new("pods");
    let kind = WorkerKind::Kubernetes;
    let registered = server.store.register_worker(&name, None, &[], kind);
    registered.await.unwrap();
    for (name, body, status) in [
        ("a%20b", json!({}), StatusCode::BAD_REQUEST),
        ("pods", json!({}), StatusCode::CONFLICT),
        ("a", json!({"team": "nobody"}), StatusCode::BAD_REQUEST),
        ("a", json!({"tags": [" "]}), StatusCode::BAD_REQUEST),
        ("a", json!({"tag": "x"}), StatusCode::BAD_REQUEST),
        ("a", json!([]), StatusCode::BAD_REQUEST),
    ] {
        let path = format!("{PATH}/{name}/token");
        let answer = server.send_json(&ann, "PUT", &path, &body).await;
        assert_eq!(answer.status, status, "{name} {body}: {}", answer.text);
    }
    assert_eq!(server.get(&ann, PATH).await.json(), json!([]));
}

#[tokio::test]
async fn tokens_are_listed_without_what_makes_them_secret_and_revoked() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    for (name, team, tags) in [
        ("a", Some("main"), vec!["x".to_owned()]),
        ("b", None, vec![]),
    ] {
        let saved = server.store.save_agent_token(name, team, &tags, "hash");
        saved.await.unwrap();
    }
    let listed = server.get(&ann, PATH).await;
    assert!(!listed.text.contains("hash"), "{}", listed.text);
    let mut listed = listed.json();
    for row in listed.as_array_mut().unwrap() {
        assert!(row["created_at"].is_i64());
        row.as_object_mut().unwrap().remove("created_at");
    }
    let expected = json!([
        {"name": "a", "team": "main", "tags": ["x"]},
        {"name": "b", "team": null, "tags": []},
    ]);
    assert_eq!(listed, expected);
    let path = format!("{PATH}/a/token");
    for status in [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND] {
        let answer = server.call(Some(&ann), "DELETE", &path).await;
        assert_eq!(answer.status, status);
    }
}
