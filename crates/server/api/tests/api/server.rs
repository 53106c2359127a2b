//! The wall, components, health, the log level and the list of users.

use crate::support::{Server, request};
use airside_store::testing::TestDatabase;
use axum::body::Body;
use http::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

airside_store::on_both_databases!(
    the_wall_stands_until_it_is_taken_down_or_its_time_is_up,
    components_are_listed_and_paused,
    the_server_tells_how_it_is_and_who_came,
);

const WALL: &str = "/api/v1/wall";

async fn the_wall_stands_until_it_is_taken_down_or_its_time_is_up(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    let set = server
        .send_json(&ann, "PUT", WALL, &json!({"message": "hello"}))
        .await;
    assert_eq!(set.status, StatusCode::OK);
    assert_eq!(
        server.call(None, "GET", WALL).await.json(),
        json!({"message": "hello"})
    );
    let hour = json!({"message": "soon", "TTL": 3_600_000_000_000_i64});
    server.send_json(&ann, "PUT", WALL, &hour).await;
    let left = server.call(None, "GET", WALL).await.json()["TTL"]
        .as_i64()
        .unwrap();
    assert!(
        left > 3_590_000_000_000 && left <= 3_600_000_000_000,
        "{left}"
    );
    server
        .send_json(&ann, "PUT", WALL, &json!({"message": "gone", "TTL": 1}))
        .await;
    assert_eq!(server.call(None, "GET", WALL).await.json(), json!({}));
    let empty = server
        .send_json(&ann, "PUT", WALL, &json!({"message": " "}))
        .await;
    assert_eq!(empty.status, StatusCode::BAD_REQUEST);
    server
        .send_json(&ann, "PUT", WALL, &json!({"message": "hello"}))
        .await;
    assert_eq!(
        server.call(Some(&ann), "DELETE", WALL).await.status,
        StatusCode::OK
    );
    assert_eq!(server.call(None, "GET", WALL).await.json(), json!({}));
}

async fn components_are_listed_and_paused(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    let every = Duration::from_secs(10);
    for name in ["collector", "sweeper"] {
        assert!(server.store.component_turn(name, every).await.unwrap());
    }
    let paused = async || -> Vec<Value> {
        let listed = server.get(&ann, "/api/v1/components").await.json();
        assert_eq!(listed[0]["interval"], 10_000_000_000_i64);
        assert!(listed[0]["last_ran"].as_str().unwrap().ends_with('Z'));
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|each| each["paused"].clone())
            .collect()
    };
    assert_eq!(paused().await, [false, false]);
    server.put(&ann, "/api/v1/components/sweeper/pause").await;
    assert_eq!(paused().await, [false, true]);
    server.put(&ann, "/api/v1/components/pause").await;
    assert_eq!(paused().await, [true, true]);
    server.put(&ann, "/api/v1/components/sweeper/unpause").await;
    assert_eq!(paused().await, [true, false]);
    server.put(&ann, "/api/v1/components/unpause").await;
    assert_eq!(paused().await, [false, false]);
    let unknown = server.put(&ann, "/api/v1/components/no/pause").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

async fn the_server_tells_how_it_is_and_who_came(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    server.login("bob").await;
    let users = server.get(&ann, "/api/v1/users").await.json();
    let names: Vec<_> = users
        .as_array()
        .unwrap()
        .iter()
        .map(|user| &user["username"])
        .collect();
    assert_eq!(names, ["ann", "bob"]);
    assert_eq!(users[0]["connector"], "local");
    assert_eq!(
        server
            .get(&ann, "/api/v1/users?since=2999-01-01")
            .await
            .text,
        "[]"
    );
    let bad = server.get(&ann, "/api/v1/users?since=yesterday").await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);

    let health = server.call(None, "GET", "/api/v1/health").await.json();
    assert_eq!(
        (&health["database"]["status"], &health["status"]),
        (&json!("ok"), &json!("degraded"))
    );

    let level = "/api/v1/log-level";
    assert_eq!(server.get(&ann, level).await.text, "info");
    let set = |text: &str| {
        request(Some(&ann), "PUT", level)
            .body(Body::from(text.to_owned()))
            .unwrap()
    };
    assert_eq!(server.ask(set("info")).await.status, StatusCode::OK);
    assert_eq!(
        server.ask(set("loud")).await.status,
        StatusCode::BAD_REQUEST
    );
    let creds = server.get(&ann, "/api/v1/info/creds").await.json();
    assert_eq!(creds, json!({"dummy": {"health": {"method": "noop"}}}));
}
