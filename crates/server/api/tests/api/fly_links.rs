//! Pages at the addresses that fly prints, and at those that nothing has.

use airside_model::WorkerName;
use airside_store::WorkerKind;
use axum::body::Body;
use http::{Request, StatusCode};

use crate::support::{PIPELINE, Server, TestResponse};

const PIPELINE_LINK: &str = "/teams/main/pipelines/p";

async fn browse(server: &Server, method: &str, path: &str) -> TestResponse {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    server.ask(request.body(Body::empty()).unwrap()).await
}

/// Returns the commands that a page shows.
fn commands(page: &TestResponse) -> Vec<&str> {
    let pieces = page.text.split("<code>").skip(1);
    pieces
        .map(|piece| piece.split("</code>").next().unwrap())
        .collect()
}

#[tokio::test]
async fn links_of_fly_name_the_commands_that_show_the_same() {
    let server = Server::start().await;
    for (path, title, expected) in [
        ("/builds/22", "Build 22", "fly -t TARGET watch -b 22"),
        (
            PIPELINE_LINK,
            "Pipeline p",
            "fly -t TARGET unpause-pipeline -p p",
        ),
        (
            "/teams/a%20b/pipelines/p/jobs/unit",
            "Job unit",
            "fly -t TARGET trigger-job --team &#39;a b&#39; -j p/unit",
        ),
        (
            "/teams/main/pipelines/p/jobs/unit/builds/3.1",
            "Build 3.1 of job unit",
            "fly -t TARGET watch -j p/unit -b 3.1",
        ),
        (
            "/teams/main/pipelines/p/resources/repo?vars.branch=%22x%22",
            "Resource repo",
            "fly -t TARGET check-resource -r &#39;p/branch:&quot;x&quot;/repo&#39;",
        ),
        (
            "/?csrf_token=123",
            "You are logged in",
            "fly -t TARGET pipelines",
        ),
        ("/", "This is an Airside server", "fly -t TARGET builds"),
    ] {
        let page = browse(&server, "GET", path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        let heading = format!("<h1>{title}</h1>");
        assert!(page.text.contains(&heading), "{path}: {}", page.text);
        let commands = commands(&page);
        assert!(commands.contains(&expected), "{path}: {commands:?}");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(!page.text.contains("<script"), "{path}");
        let head = browse(&server, "HEAD", path).await;
        assert_eq!(
            (head.status, head.text.as_str()),
            (StatusCode::OK, ""),
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_page_of_the_server_says_when_no_step_can_run() {
    let server = Server::start().await;
    let words = "No worker is running, so no step can run";
    let why = "fly -t TARGET workers -d";
    let stuck = browse(&server, "GET", "/").await;
    assert!(stuck.text.contains(words), "{}", stuck.text);
    assert_eq!(commands(&stuck).last(), Some(&why));
    let build = browse(&server, "GET", "/builds/1").await;
    assert!(
        !build.text.contains(words),
        "a link knows its address alone"
    );
    let name = WorkerName::new("w");
    let registered = server
        .store
        .register_worker(&name, None, &[], WorkerKind::Local);
    registered.await.unwrap();
    let fine = browse(&server, "GET", "/").await;
    assert!(!fine.text.contains(words), "{}", fine.text);
    assert!(!commands(&fine).contains(&why));
}

#[tokio::test]
async fn hostile_a_link_tells_strangers_nothing_and_carries_no_markup() {
    let server = Server::start().await;
    let before = browse(&server, "GET", PIPELINE_LINK).await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let after = browse(&server, "GET", PIPELINE_LINK).await;
    assert_eq!(before.text, after.text, "made or not, the page is the same");
    let page = browse(&server, "GET", "/teams/main/pipelines/%3Cscript%3E%27;id").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.text.contains("<script"), "{}", page.text);
    // Quoted for a shell, and what is quoted is escaped for the page.
    let shown = "-p &#39;&lt;script&gt;&#39;\\&#39;&#39;;id&#39;";
    assert!(commands(&page)[0].ends_with(shown), "{:?}", commands(&page));
}

#[tokio::test]
async fn addresses_without_a_page_are_told_to_browsers_and_not_to_programs() {
    let server = Server::start().await;
    for path in [
        "/nothing",
        "/builds/x",
        "/builds/-1",
        "/teams/main/pipelines/-p",
        "/teams/main/pipelines/a%E2%80%AEb",
        "/teams/main/pipelines/p/jobs/j/builds/latest",
        "/teams/main/pipelines/p?vars.a=nonsense",
    ] {
        let page = browse(&server, "GET", path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        assert!(page.text.contains("<h1>Page not found</h1>"), "{path}");
    }
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
