//! Pages of the web UI: who sees them, and what refusals look like.

use axum::body::Body;
use http::{Request, StatusCode};

use crate::support::{PIPELINE, Server, TestResponse};

async fn browse(server: &Server, method: &str, path: &str) -> TestResponse {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    server.ask(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn addresses_without_a_page_are_told_to_browsers_and_not_to_programs() {
    let server = Server::start().await;
    let page = browse(&server, "GET", "/nothing").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text.contains("<h1>Nothing here</h1>"), "{}", page.text);
    let head = browse(&server, "HEAD", "/nothing").await;
    assert_eq!(
        (head.status, head.text.as_str()),
        (StatusCode::NOT_FOUND, "")
    );
    let of_api = browse(&server, "GET", "/api/v1/nothing").await;
    let posted = browse(&server, "POST", "/nothing").await;
    let program = server.call(None, "GET", "/nothing").await;
    for answer in [of_api, posted, program] {
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        assert_eq!(answer.text, "");
    }
}

#[tokio::test]
async fn hostile_strangers_are_led_to_the_login_whether_a_pipeline_exists_or_not() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    for path in [
        "/teams/main/pipelines/p",
        "/teams/main/pipelines/none",
        "/teams/none/pipelines/p?vars.a=%22b%22",
    ] {
        let page = browse(&server, "GET", path).await;
        assert_eq!(page.status, StatusCode::SEE_OTHER, "{path}");
        let to = page.header("location");
        assert!(
            to.starts_with("/sky/login?redirect_uri=%2Fteams%2F"),
            "{to}"
        );
    }
}

#[tokio::test]
async fn the_proof_of_a_login_leaves_the_address() {
    let server = Server::start().await;
    let page = browse(&server, "GET", "/?csrf_token=abc&view=all").await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    assert_eq!(page.header("location"), "/?view=all");
}

#[tokio::test]
async fn pages_run_no_script_but_their_own() {
    let server = Server::start().await;
    let page = browse(&server, "GET", "/").await;
    assert_eq!(page.status, StatusCode::OK);
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("script-src 'self';") && !policy.contains("unsafe"),
        "{policy}"
    );
    let (_, asset) = page.text.split_once("src=\"").unwrap();
    let asset = browse(&server, "GET", asset.split('"').next().unwrap()).await;
    assert_eq!(asset.status, StatusCode::OK);
    assert!(asset.header("cache-control").contains("immutable"));
}
