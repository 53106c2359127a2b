//! Badges and the list for desktop notifiers.

use crate::support::{Server, TP};
use airside_model::BuildStatus;
use http::StatusCode;
use std::time::Duration;

#[tokio::test]
async fn badges_and_cctray_show_the_last_finished_build() {
    let (server, ann, build) = Server::with_build().await;
    let badge = server.get(&ann, &format!("{TP}/badge")).await;
    assert_eq!(badge.header("content-type"), "image/svg+xml");
    assert!(badge.text.contains("unknown"));
    let empty = server.get(&ann, "/api/v1/teams/main/cc.xml").await;
    assert_eq!(empty.text, "<Projects></Projects>");

    let lease = server
        .store
        .take_build(build, "t", "t", Duration::from_secs(60))
        .await
        .unwrap();
    server
        .store
        .finish_build(&lease.unwrap(), BuildStatus::Failed)
        .await
        .unwrap();
    for path in [
        format!("{TP}/badge"),
        format!("{TP}/jobs/hello/badge?title=%3Cb%3E"),
    ] {
        let badge = server.get(&ann, &path).await;
        assert!(
            badge.text.contains("failing") && !badge.text.contains("<b>"),
            "{}",
            badge.text
        );
    }
    let cc = server.get(&ann, "/api/v1/teams/main/cc.xml").await;
    assert_eq!(cc.header("content-type"), "application/xml");
    for part in [
        "name=\"p/hello\"",
        "lastBuildStatus=\"Failure\"",
        "activity=\"Sleeping\"",
    ] {
        assert!(cc.text.contains(part), "{}", cc.text);
    }
    let anonymous = server.call(None, "GET", "/api/v1/teams/main/cc.xml").await;
    assert_eq!(anonymous.text, "<Projects></Projects>");
    let old = server
        .call(None, "GET", "/api/v1/pipelines/a%2Fb/jobs/j/badge")
        .await;
    assert_eq!(old.status, StatusCode::PERMANENT_REDIRECT);
    assert_eq!(
        old.header("location"),
        "/api/v1/teams/main/pipelines/a%2Fb/jobs/j/badge"
    );
}
