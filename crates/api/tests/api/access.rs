//! Who gets in: every action, for nobody, for a stranger and with a bad token.

use crate::support::{Server, TP};
use airside_auth::{Access, Action, Method, Role};
use http::StatusCode;

fn example(action: Action, build: &str) -> (&'static str, String) {
    let method = match action.method() {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    };
    let path = action
        .path()
        .replace("{team_name}", "main")
        .replace("{pipeline_name}", "p")
        .replace("{job_name}", "hello")
        .replace("{build_name}", "1")
        .replace("{build_id}", build);
    assert!(!path.contains('{'), "{path}");
    (method, path)
}

#[tokio::test]
async fn every_action_is_served_and_denies_those_it_must() {
    let (server, ann, build) = Server::with_build().await;
    let bob = server.login("bob").await;
    for &action in Action::ALL {
        let (method, path) = example(action, &build.to_string());
        let anonymous = server.call(None, method, &path).await;
        let public = matches!(action.access(), Access::Public | Access::Filtered);
        if public {
            assert_eq!(anonymous.status, StatusCode::OK, "{action:?}");
        } else {
            assert_eq!(anonymous.status, StatusCode::UNAUTHORIZED, "{action:?}");
            assert_eq!(anonymous.text, "not authorized");
        }
        let bad = server.call(Some("bad"), method, &path).await;
        let ignored = action.access() == Access::Public;
        let expected = if ignored {
            StatusCode::OK
        } else {
            StatusCode::UNAUTHORIZED
        };
        assert_eq!(bad.status, expected, "{action:?}");

        let stranger = server.call(Some(&bob), method, &path).await;
        if public || action.access() == Access::Token {
            assert_eq!(stranger.status, StatusCode::OK, "{action:?}");
        } else {
            assert_eq!(stranger.status, StatusCode::FORBIDDEN, "{action:?}");
            assert_eq!(stranger.text, "forbidden");
        }
    }
    assert_eq!(
        server.get(&ann, TP).await.status,
        StatusCode::OK,
        "nothing was changed"
    );
}

#[tokio::test]
async fn lists_show_strangers_only_what_is_exposed() {
    let (server, ann, build) = Server::with_build().await;
    let bob = server.login("bob").await;
    let lists = [
        "/api/v1/teams",
        "/api/v1/pipelines",
        "/api/v1/teams/main/pipelines",
        "/api/v1/builds",
    ];
    for path in lists {
        assert_eq!(server.call(None, "GET", path).await.text, "[]", "{path}");
        assert_eq!(server.get(&bob, path).await.text, "[]", "{path}");
        assert_eq!(
            server
                .get(&ann, path)
                .await
                .json()
                .as_array()
                .unwrap()
                .len(),
            1,
            "{path}"
        );
    }
    assert_eq!(
        server.put(&ann, &format!("{TP}/expose")).await.status,
        StatusCode::OK
    );
    for path in &lists[1..] {
        assert_eq!(
            server
                .call(None, "GET", path)
                .await
                .json()
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }
    let open = server.trigger(&ann, "open").await.json()["id"]
        .as_i64()
        .unwrap();
    for (path, expected) in [
        (TP.to_owned(), StatusCode::OK),
        (format!("{TP}/jobs"), StatusCode::OK),
        (format!("{TP}/config"), StatusCode::UNAUTHORIZED),
        (format!("/api/v1/builds/{build}"), StatusCode::OK),
        (
            format!("/api/v1/builds/{build}/preparation"),
            StatusCode::UNAUTHORIZED,
        ),
        (format!("/api/v1/builds/{open}/preparation"), StatusCode::OK),
    ] {
        assert_eq!(
            server.call(None, "GET", &path).await.status,
            expected,
            "{path}"
        );
    }
    server.put(&ann, &format!("{TP}/hide")).await;
    assert_eq!(
        server.call(None, "GET", TP).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn what_does_not_exist_is_not_told_to_strangers() {
    let (server, ann, _) = Server::with_build().await;
    let bob = server.login("bob").await;
    for path in [
        "/api/v1/teams/no",
        "/api/v1/teams/no/pipelines/p",
        "/api/v1/teams/main/pipelines/no",
        "/api/v1/teams/main/pipelines/p/jobs/no",
        "/api/v1/teams/main/pipelines/p/jobs/hello/builds/9",
    ] {
        assert_eq!(
            server.call(None, "GET", path).await.status,
            StatusCode::UNAUTHORIZED,
            "{path}"
        );
        assert_eq!(
            server.get(&bob, path).await.status,
            StatusCode::FORBIDDEN,
            "{path}"
        );
        assert_eq!(
            server.get(&ann, path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    for path in ["/api/v1/builds/999", "/api/v1/builds/nonsense"] {
        assert_eq!(
            server.call(None, "GET", path).await.status,
            StatusCode::UNAUTHORIZED,
            "{path}"
        );
        assert_eq!(
            server.get(&bob, path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn every_response_carries_the_headers() {
    let server = Server::start().await;
    for path in ["/api/v1/info", "/api/v1/user", "/api/v1/cli", "/nowhere"] {
        let answer = server.call(None, "GET", path).await;
        for (name, value) in [
            ("x-concourse-version", "8.3.0"),
            ("x-frame-options", "deny"),
            ("content-security-policy", "frame-ancestors 'none'"),
            ("x-content-type-options", "nosniff"),
            ("x-download-options", "noopen"),
            ("cache-control", "no-store, private"),
        ] {
            assert_eq!(answer.header(name), value, "{path} {name}");
        }
    }
}

#[tokio::test]
async fn what_is_not_served_is_said_so() {
    let server = Server::start().await;
    let answer = server
        .call(None, "PUT", "/api/v1/teams/main/pipelines/p/archive")
        .await;
    assert_eq!(answer.status, StatusCode::NOT_IMPLEMENTED);
    let text = answer.json()["error"].as_str().unwrap().to_owned();
    assert!(
        text.ends_with("is not implemented by this version of Airside"),
        "{text}"
    );
    let instanced = server.call(None, "GET", &format!("{TP}?vars.a=1")).await;
    assert_eq!(instanced.status, StatusCode::NOT_IMPLEMENTED);
    for path in ["/api/v1/nonsense", "/api", "/"] {
        assert_eq!(
            server.call(None, "GET", path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_server_says_what_it_is() {
    let server = Server::start().await;
    let info = server.call(None, "GET", "/api/v1/info").await.json();
    assert_eq!(info["version"], "8.3.0");
    assert_eq!(info["worker_version"], "2.5");
    assert_eq!(info["airside_version"], "0.1.0");
    assert_eq!(info["external_url"], format!("http://{}", server.address));
    assert_eq!(server.call(None, "GET", "/api/v1/wall").await.text, "{}");
}

#[test]
fn no_route_that_changes_something_is_open_to_everybody() {
    for action in Action::ALL
        .iter()
        .filter(|action| action.method() != Method::Get)
    {
        assert!(
            matches!(action.access(), Access::Role(role) if role > Role::Viewer),
            "{action:?}"
        );
    }
}
