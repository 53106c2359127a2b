//! The stream of a build's events, byte for byte.

use std::io::Write as _;

use crate::support::{Server, request};
use airside_model::{BuildId, BuildStatus, event::Event};
use axum::body::{Body, BodyDataStream};
use flate2::write::GzDecoder;
use futures::{FutureExt, StreamExt};
use http::{Response, StatusCode};

const FIRST: &str = "id: 0\nevent: event\ndata: {\"data\":{\"status\":\"started\",\"time\":1},\
    \"event\":\"status\",\"version\":\"1.0\",\"event_id\":\"0\"}\n\n";
const SECOND: &str = "id: 1\nevent: event\ndata: {\"data\":{\"status\":\"succeeded\",\"time\":2},\
    \"event\":\"status\",\"version\":\"1.0\",\"event_id\":\"1\"}\n\n";
const END: &str = "id: 2\nevent: end\ndata\n\n";

fn status(status: BuildStatus, time: i64) -> Event {
    Event::Status { status, time }
}

async fn follow(
    server: &Server,
    token: &str,
    build: BuildId,
    headers: &[(&str, &str)],
) -> Response<Body> {
    let mut request = request(
        Some(token),
        "GET",
        &format!("/api/v1/builds/{build}/events"),
    );
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    server.send(request.body(Body::empty()).unwrap()).await
}

/// Reads pieces until there is as much as expected.
async fn read(stream: &mut BodyDataStream, expected: &str) {
    let mut seen = Vec::new();
    while seen.len() < expected.len() {
        seen.extend_from_slice(&stream.next().await.unwrap().unwrap());
    }
    assert_eq!(String::from_utf8(seen).unwrap(), expected);
}

#[tokio::test]
async fn events_come_as_they_happen_and_the_stream_stays_open() {
    let (server, ann, build) = Server::with_build().await;
    let response = follow(&server, &ann, build, &[]).await;
    assert_eq!(response.status(), StatusCode::OK);
    for (name, value) in [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("cache-control", "no-cache, no-store, must-revalidate"),
        ("x-accel-buffering", "no"),
        ("x-atc-stream-version", "2.0"),
        ("x-concourse-version", "8.3.0"),
    ] {
        assert_eq!(response.headers()[name], value, "{name}");
    }
    assert!(!response.headers().contains_key("content-encoding"));
    let mut stream = response.into_body().into_data_stream();

    let writer = server.logs.writer(build, 1).await.unwrap();
    writer
        .append("a", 1, status(BuildStatus::Started, 1))
        .await
        .unwrap();
    read(&mut stream, FIRST).await;
    writer
        .append("b", 1, status(BuildStatus::Succeeded, 2))
        .await
        .unwrap();
    read(&mut stream, SECOND).await;
    writer.close().await.unwrap();
    read(&mut stream, END).await;
    assert!(stream.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_client_that_was_cut_off_gets_the_rest() {
    let (server, ann, build) = Server::with_build().await;
    let writer = server.logs.writer(build, 1).await.unwrap();
    writer
        .append("a", 1, status(BuildStatus::Started, 1))
        .await
        .unwrap();
    writer
        .append("b", 1, status(BuildStatus::Succeeded, 2))
        .await
        .unwrap();
    writer.close().await.unwrap();
    for (last, expected) in [
        ("", format!("{FIRST}{SECOND}{END}")),
        ("0", format!("{SECOND}{END}")),
        ("1", END.into()),
    ] {
        let response = follow(&server, &ann, build, &[("last-event-id", last)]).await;
        read(&mut response.into_body().into_data_stream(), &expected).await;
    }
    for bad in ["x", "-1", "18446744073709551615"] {
        let response = follow(&server, &ann, build, &[("last-event-id", bad)]).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn each_event_is_readable_at_once_when_compressed() {
    let (server, ann, build) = Server::with_build().await;
    let response = follow(&server, &ann, build, &[("accept-encoding", "br, gzip")]).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let mut stream = response.into_body().into_data_stream();
    let writer = server.logs.writer(build, 1).await.unwrap();
    let mut decoder = GzDecoder::new(Vec::new());
    let mut expected = String::new();
    for (key, event, text) in [
        ("a", status(BuildStatus::Started, 1), FIRST),
        ("b", status(BuildStatus::Succeeded, 2), SECOND),
    ] {
        writer.append(key, 1, event).await.unwrap();
        expected.push_str(text);
        while decoder.get_ref().len() < expected.len() {
            decoder
                .write_all(&stream.next().await.unwrap().unwrap())
                .unwrap();
            decoder.flush().unwrap();
        }
        assert_eq!(decoder.get_ref(), expected.as_bytes());
    }
    let refused = follow(&server, &ann, build, &[("accept-encoding", "gzip;q=0")]).await;
    assert!(!refused.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_followers() {
    let (server, ann, build) = Server::with_build().await;
    let response = follow(&server, &ann, build, &[]).await;
    let mut stream = response.into_body().into_data_stream();
    server.shutdown.cancel();
    // Cut, not ended in order: that would tell fly that the build ended well.
    assert!(matches!(stream.next().await, Some(Err(_))));
    server.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_reaped_log_is_said_to_be_and_how_the_build_ended() {
    let (server, ann, build) = Server::with_build().await;
    let minute = std::time::Duration::from_secs(60);
    let lease = server.store.take_build(build, "me", "here", minute).await;
    let lease = lease.unwrap().unwrap();
    let failed = BuildStatus::Failed;
    server.store.finish_build(&lease, failed).await.unwrap();
    server.store.log_closed(build).await.unwrap();
    server.store.reap_builds(&[build]).await.unwrap();
    let response = follow(&server, &ann, build, &[]).await;
    let mut stream = response.into_body().into_data_stream();
    let mut seen = String::new();
    while !seen.contains("event: end") {
        seen += &String::from_utf8_lossy(&stream.next().await.unwrap().unwrap());
    }
    assert!(seen.contains("this build's log was removed"), "{seen}");
    assert!(seen.contains(r#""status":"failed""#), "{seen}");
    let shown = server
        .get(&ann, &format!("/api/v1/builds/{build}"))
        .await
        .json();
    assert!(
        shown["reap_time"].as_i64().is_some_and(|time| time > 0),
        "{shown}"
    );
    let plan = server
        .get(&ann, &format!("/api/v1/builds/{build}/plan"))
        .await;
    assert_eq!(plan.status, StatusCode::NOT_FOUND);
}
