//! The dashboard: what each viewer gets of it, and where the palette leads.

use axum::body::Body;
use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{PIPELINE, Server, request};

/// Returns the data of a dashboard as this caller gets it.
async fn data(server: &Server, token: Option<&str>) -> Value {
    let page = server.call(token, "GET", "/").await;
    assert_eq!(page.status, StatusCode::OK);
    let (_, block) = page.text.split_once("id=\"dashboard-data\">").unwrap();
    let (block, _) = block.split_once("</script>").unwrap();
    serde_json::from_str(block).unwrap()
}

async fn set_pipeline(server: &Server, token: &str, team: &str, name: &str) {
    let path = format!("/api/v1/teams/{team}/pipelines/{name}/config");
    let sent = request(Some(token), "PUT", &path).header("content-type", "application/x-yaml");
    let answer = server.ask(sent.body(Body::from(PIPELINE)).unwrap()).await;
    assert!(answer.status.is_success(), "{}", answer.text);
}

#[tokio::test]
async fn an_empty_installation_shows_the_first_steps() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    for token in [None, Some(ann.as_str())] {
        let page = server.call(token, "GET", "/").await;
        assert!(
            page.text.contains("<h1>No pipelines yet</h1>"),
            "{}",
            page.text
        );
    }
}

#[tokio::test]
async fn a_member_sees_pipelines_with_the_statuses_of_their_jobs() {
    let (server, ann, _) = Server::with_build().await;
    server
        .put(&ann, "/api/v1/teams/main/pipelines/p/pause")
        .await;
    let seen = data(&server, Some(&ann)).await;
    let item = &seen["live"]["items"][0];
    assert_eq!(item[1], "main");
    assert_eq!(item[2], "p");
    // Paused, and the reader belongs to the team.
    assert_eq!(item[3], 1 + 8);
    assert_eq!(
        (&item[5], &item[6], &item[7]),
        (&json!("500"), &json!("000"), &json!(1))
    );
    assert_eq!(item[10][0], "ann");
    assert_eq!(seen["teams"][0], json!(["main", "owner", 3]));
}

#[tokio::test]
async fn hostile_strangers_see_nothing_that_is_not_exposed() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let page = server.call(None, "GET", "/").await;
    assert!(page.text.contains("No pipelines yet"), "{}", page.text);
}

#[tokio::test]
async fn hostile_strangers_see_what_is_exposed_and_no_names_of_people() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    server
        .put(&ann, "/api/v1/teams/main/pipelines/p/expose")
        .await;
    server
        .put(&ann, "/api/v1/teams/main/pipelines/p/pause")
        .await;
    let seen = data(&server, None).await;
    let item = seen["live"]["items"][0].as_array().unwrap();
    assert_eq!((&item[2], &item[3]), (&json!("p"), &json!(1 + 4)));
    assert!(item.get(10).is_none(), "{item:?}");
    assert_eq!(seen["teams"], json!([]));
    assert!(!seen.to_string().contains("ann"));
}

#[tokio::test]
async fn the_wall_is_text_and_a_part_of_the_page() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let wall = json!({"message": "<script>alert(1)</script> & \"more\""});
    server.send_json(&ann, "PUT", "/api/v1/wall", &wall).await;
    for path in ["/", "/?part=wall"] {
        let page = server.get(&ann, path).await;
        assert!(!page.text.contains("<script>alert"), "{}", page.text);
        assert!(
            page.text.contains("&#60;script&#62;alert(1)"),
            "{}",
            page.text
        );
    }
    let part = server.get(&ann, "/?part=wall").await.text;
    assert!(part.starts_with("<div id=\"wall\"") && !part.contains("dashboard-data"));
}

#[tokio::test]
async fn the_palette_finds_what_its_user_may_see() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    set_pipeline(&server, &ann, "main", "web").await;
    let go = async |token: Option<&str>, query: &str| {
        let answer = server
            .call(token, "GET", &format!("/airside/v1/go?{query}"))
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()
    };
    let found = go(Some(&ann), "q=we").await;
    assert_eq!(
        found["pipelines"][0],
        json!(["web", "main", "/teams/main/pipelines/web"])
    );
    let found = go(Some(&ann), "q=web%20hel").await;
    let job = json!([
        "web / hello",
        "main",
        "/teams/main/pipelines/web/jobs/hello"
    ]);
    assert_eq!(found["jobs"], json!([job]));
    assert_eq!(found["resources"], json!([]));
    assert_eq!(go(Some(&ann), "q=").await, json!({}));
    let having = go(Some(&ann), "having=job&name=hllo&how=fuzzy").await;
    assert_eq!(having["pipelines"].as_array().unwrap().len(), 1);
    let none = go(Some(&ann), "having=job&name=hllo&how=exact").await;
    assert_eq!(none["pipelines"], json!([]));
    // Strangers find nothing of it.
    assert_eq!(go(None, "q=we").await["pipelines"], json!([]));
    assert_eq!(
        go(None, "having=job&name=hello&how=exact").await["pipelines"],
        json!([])
    );
    let long = "x".repeat(300);
    let refused = server.get(&ann, &format!("/airside/v1/go?q={long}")).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}
