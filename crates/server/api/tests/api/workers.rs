//! Workers: landed, retired, pruned, brought back; and what workers of Concourse would say.

use crate::support::Server;
use airside_model::WorkerName;
use airside_store::WorkerKind;
use http::StatusCode;
use serde_json::{Value, json};

const W: &str = "/api/v1/workers/w";

/// Makes a server with worker `w` of no team, and a token of an administrator.
async fn with_worker() -> (Server, String) {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let name = WorkerName::new("w");
    let registered = server
        .store
        .register_worker(&name, None, &[], WorkerKind::Kubernetes);
    registered.await.unwrap();
    (server, ann)
}

async fn states(server: &Server, token: &str) -> Vec<Value> {
    let workers = server.get(token, "/api/v1/workers").await.json();
    let workers = workers.as_array().unwrap().iter();
    workers.map(|worker| worker["state"].clone()).collect()
}

#[tokio::test]
async fn a_worker_lands_is_pruned_and_comes_back() {
    let (server, ann) = with_worker().await;
    let refused = server.put(&ann, &format!("{W}/prune")).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        refused.json(),
        json!({"stderr": "cannot prune running worker"})
    );

    let landed = server.put(&ann, &format!("{W}/land")).await;
    assert_eq!(landed.status, StatusCode::OK);
    assert_eq!(states(&server, &ann).await, ["landed"], "nothing ran there");
    let back = json!({"name": "w"});
    let registered = server.send_json(&ann, "POST", "/api/v1/workers", &back);
    assert_eq!(registered.await.status, StatusCode::OK);
    assert_eq!(states(&server, &ann).await, ["running"]);

    for (method, path) in [("PUT", "/retire"), ("DELETE", "")] {
        let left = server.call(Some(&ann), method, &format!("{W}{path}")).await;
        assert_eq!(left.status, StatusCode::OK, "{method}");
        assert_eq!(states(&server, &ann).await, [""; 0], "{method}");
        let registered = server.send_json(&ann, "POST", "/api/v1/workers", &back);
        assert_eq!(registered.await.status, StatusCode::OK);
    }
    server.put(&ann, &format!("{W}/land")).await;
    let pruned = server.put(&ann, &format!("{W}/prune")).await;
    assert_eq!(pruned.status, StatusCode::OK);
    assert_eq!(states(&server, &ann).await, [""; 0]);
}

#[tokio::test]
async fn there_is_nothing_to_do_about_workers_that_are_not_there() {
    let (server, ann) = with_worker().await;
    for (method, path) in [
        ("PUT", "/api/v1/workers/nobody/land"),
        ("PUT", "/api/v1/workers/nobody/retire"),
        ("PUT", "/api/v1/workers/nobody/prune"),
        ("PUT", "/api/v1/workers/nobody/heartbeat"),
        ("DELETE", "/api/v1/workers/nobody"),
        ("GET", "/api/v1/containers/destroying"),
        ("GET", "/api/v1/volumes/destroying"),
        ("PUT", "/api/v1/containers/report"),
        ("PUT", "/api/v1/volumes/report"),
    ] {
        let answer = server.call(Some(&ann), method, path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{method} {path}");
    }
}

#[tokio::test]
async fn workers_of_concourse_are_told_that_they_cannot_join() {
    let (server, ann) = with_worker().await;
    let garden = json!({"name": "garden-1", "addr": "10.0.0.1:7777", "platform": "linux"});
    let path = "/api/v1/workers?ttl=60s";
    let refused = server.send_json(&ann, "POST", path, &garden).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.text.contains("'garden-1'"), "{}", refused.text);
    assert!(refused.text.contains("cannot join"), "{}", refused.text);
    let nonsense = server.send_json(&ann, "POST", path, &json!([1])).await;
    assert_eq!(nonsense.status, StatusCode::BAD_REQUEST);

    let path = format!("{W}/heartbeat?ttl=60s");
    let said = json!({"active_containers": 7});
    let beat = server.send_json(&ann, "PUT", &path, &said).await;
    assert_eq!(beat.status, StatusCode::OK);
    assert_eq!(beat.json()["name"], "w");
    assert_eq!(beat.json()["active_containers"], 0, "its word is not taken");
    for what in ["containers", "volumes"] {
        let path = format!("/api/v1/{what}/destroying?worker_name=w");
        assert_eq!(server.get(&ann, &path).await.json(), json!([]));
        let path = format!("/api/v1/{what}/report?worker_name=w");
        let report = server.send_json(&ann, "PUT", &path, &json!(["h"])).await;
        assert_eq!(report.status, StatusCode::CONFLICT, "{what}");
        assert!(report.text.contains("looks for itself"), "{}", report.text);
    }
}

#[tokio::test]
async fn only_administrators_ask_for_a_heartbeat() {
    let (server, ann) = with_worker().await;
    let bob = server.login("bob").await;
    let name = WorkerName::new("mains");
    let registered = server
        .store
        .register_worker(&name, Some("main"), &[], WorkerKind::Kubernetes);
    registered.await.unwrap();
    let path = "/api/v1/workers/mains/heartbeat";
    assert_eq!(server.put(&ann, path).await.status, StatusCode::OK);
    assert_eq!(server.put(&bob, path).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn hostile_strangers_learn_no_names_of_workers() {
    let (server, ann) = with_worker().await;
    server.put(&ann, &format!("{W}/land")).await;
    let path = "/api/v1/health";
    let seen = server.get(&ann, path).await.json();
    assert_eq!(seen["workers"]["unhealthy_workers"], json!(["w"]), "{seen}");
    let bob = server.login("bob").await;
    for token in [None, Some(bob.as_str())] {
        let health = server.call(token, "GET", path).await.json();
        assert_eq!(health["workers"]["total"], 1, "{health}");
        assert_eq!(health["workers"]["unhealthy_workers"], Value::Null);
    }
    // A user of no team is a stranger, too.
    let listed = server.get(&bob, "/api/v1/workers").await;
    assert_eq!(listed.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_worker_whose_team_does_not_exist_is_told_until_it_is_made() {
    let (server, ann) = with_worker().await;
    let name = WorkerName::new("w");
    let store = &server.store;
    let kind = WorkerKind::Kubernetes;
    let registered = store.register_worker(&name, Some("opps"), &[], kind).await;
    registered.unwrap();
    let worker = server.get(&ann, "/api/v1/workers").await.json()[0].clone();
    let told = worker["addr"].as_str().unwrap_or_default();
    assert!(told.contains("its team opps does not exist"), "{worker}");
    let bob = server.login("bob").await;
    let listed = server.get(&bob, "/api/v1/workers").await;
    assert_eq!(listed.status, StatusCode::FORBIDDEN, "bob is in no team");

    let registered = store.register_worker(&name, Some("main"), &[], kind).await;
    registered.unwrap();
    let worker = server.get(&ann, "/api/v1/workers").await.json()[0].clone();
    assert_eq!(worker["addr"], "");
}
