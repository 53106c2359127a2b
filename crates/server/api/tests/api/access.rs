//! Access: every route, for every kind of caller.

use crate::support::{Server, TP};
use airside_auth::{Action, Method, RequiredAccess, Role};
use airside_model::WorkerName;
use airside_store::{WorkerKind, testing::TestDatabase};
use http::StatusCode;
use serde_json::json;

airside_store::on_both_databases!(
    every_route_lets_in_exactly_those_that_the_table_says,
    lists_show_strangers_only_what_is_exposed,
    what_does_not_exist_is_not_told_to_strangers,
);

fn example(action: Action, build: &str) -> (&'static str, String) {
    let method = match action.method() {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    };
    let mut path = action
        .path()
        .replace("{team_name}", "crew")
        .replace("{pipeline_name}", "p")
        .replace("{job_name}", "hello")
        .replace("{build_name}", "1")
        .replace("{build_id}", build)
        .replace("{worker_name}", "w")
        .replace("{agent_name}", "a")
        .replace("{component_name}", "sweeper")
        .replace("{resource_name}", "r")
        .replace("{resource_type_name}", "t")
        .replace("{prototype_name}", "t")
        .replace("{resource_config_version_id}", "1")
        .replace("{step_name}", "s")
        .replace("{artifact_id}", "1")
        .replace("{handle}", "h");
    if matches!(action.access(), RequiredAccess::WorkerTeam(_)) && !path.contains("/w") {
        path.push_str("?worker_name=w");
    }
    assert!(!path.contains('{'), "{path}");
    (method, path)
}

/// All kinds of callers, lowest first: what each may do is all that those before may, and more.
const CALLERS: [&str; 7] = ["", "other", "viewer", "operator", "member", "owner", "ann"];

/// The first of [`CALLERS`] who is let in.
fn first_allowed(access: RequiredAccess) -> usize {
    match access {
        RequiredAccess::Public | RequiredAccess::Filtered => 0,
        // `other` belongs to another team.
        RequiredAccess::Token | RequiredAccess::SomeTeam => 1,
        RequiredAccess::ExposedPipeline | RequiredAccess::ExposedJob => 2,
        RequiredAccess::Role(role) | RequiredAccess::WorkerTeam(role) => match role {
            Role::Viewer => 2,
            Role::PipelineOperator => 3,
            Role::Member => 4,
            Role::Owner => 5,
            Role::Admin => 6,
        },
    }
}

/// A team whose members have each role, a member of another team, a pipeline, a build and a worker.
async fn crew(database: TestDatabase) -> (Server, Vec<Option<String>>, String) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    let role = |name: &str| json!({"users": [format!("local:{name}")], "groups": []});
    let auth = json!({"auth": {"viewer": role("viewer"), "pipeline-operator": role("operator"),
        "member": role("member"), "owner": role("owner")}});
    let made = server
        .send_json(&ann, "PUT", "/api/v1/teams/crew", &auth)
        .await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let other = json!({"auth": {"member": role("other")}});
    server
        .send_json(&ann, "PUT", "/api/v1/teams/others", &other)
        .await;
    let config = json!({"jobs": [{"name": "hello", "plan": [{"get": "r"}]}],
        "resources": [{"name": "r", "type": "mock", "source": {}}]});
    let path = "/api/v1/teams/crew/pipelines/p/config";
    let set = server.send_json(&ann, "PUT", path, &config).await;
    assert_eq!(set.status, StatusCode::CREATED, "{}", set.text);
    let path = "/api/v1/teams/crew/pipelines/p/jobs/hello/builds";
    let build = server.call(Some(&ann), "POST", path).await.json()["id"].to_string();
    let worker = WorkerName("w".to_owned());
    server
        .store
        .register_worker(&worker, Some("crew"), &[], WorkerKind::Local)
        .await
        .unwrap();
    let mut tokens = Vec::new();
    for name in CALLERS {
        tokens.push(match name {
            "" => None,
            name => Some(server.login(name).await),
        });
    }
    (server, tokens, build)
}

async fn every_route_lets_in_exactly_those_that_the_table_says(database: TestDatabase) {
    let (server, tokens, build) = crew(database).await;
    for &action in Action::ALL {
        let first = first_allowed(action.access());
        let (method, path) = example(action, &build);
        let bad = server.call(Some("bad"), method, &path).await.status;
        // A page leads to the login.
        let unknown = if action.is_page() {
            StatusCode::SEE_OTHER
        } else {
            StatusCode::UNAUTHORIZED
        };
        if action.access() != RequiredAccess::Public {
            assert_eq!(bad, unknown, "{action:?} with a bad token");
        }
        for (index, (token, caller)) in tokens.iter().zip(CALLERS).enumerate() {
            if index >= first && action.method() != Method::Get {
                // It would be done; what it does has tests of its own.
                continue;
            }
            if index >= first && action == Action::BuildEvents {
                continue;
            }
            let answer = server.call(token.as_deref(), method, &path).await;
            let status = answer.status;
            if index >= first {
                let denied = [
                    StatusCode::UNAUTHORIZED,
                    StatusCode::FORBIDDEN,
                    StatusCode::NOT_IMPLEMENTED,
                    StatusCode::SEE_OTHER,
                ];
                assert!(
                    !denied.contains(&status),
                    "{action:?} for {caller:?}: {status}"
                );
            } else if token.is_none() {
                assert_eq!(status, unknown, "{action:?}");
                assert!(action.is_page() || answer.text == "not authorized");
            } else {
                assert_eq!(status, StatusCode::FORBIDDEN, "{action:?} for {caller:?}");
                assert!(action.is_page() || answer.text == "forbidden");
            }
        }
    }
    let ann = tokens.last().unwrap().as_deref().unwrap();
    let path = "/api/v1/teams/crew/pipelines/p";
    assert_eq!(
        server.get(ann, path).await.status,
        StatusCode::OK,
        "nothing was changed"
    );
}

#[test]
fn every_route_of_concourse_is_in_the_table() {
    let api = |action: &&Action| {
        action.path().starts_with("/api/v1/") || action.path().starts_with("/.well")
    };
    let agents = |action: &&Action| action.path().starts_with("/api/v1/agents");
    let (api, agents) = (
        Action::ALL.iter().filter(api).count(),
        Action::ALL.iter().filter(agents).count(),
    );
    assert_eq!((api - agents, agents), (108, 3));
}

async fn lists_show_strangers_only_what_is_exposed(database: TestDatabase) {
    let (server, ann, build) = Server::with_build_on(database).await;
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

async fn what_does_not_exist_is_not_told_to_strangers(database: TestDatabase) {
    let (server, ann, _) = Server::with_build_on(database).await;
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
async fn what_is_no_route_is_not_found() {
    let server = Server::start().await;
    for path in ["/api/v1/nonsense", "/api", "/nowhere"] {
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
    assert_eq!(info["worker_version"], "3.0");
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
        let guarded = match action.access() {
            RequiredAccess::Role(role) | RequiredAccess::WorkerTeam(role) => role > Role::Viewer,
            // A webhook shows a token of its own.
            _ => *action == Action::CheckResourceWebHook,
        };
        assert!(guarded, "{action:?}");
    }
}
