//! Teams, and everything that is done to pipelines but setting them.

use crate::support::{PIPELINE, Server, TP, request};
use airside_store::testing::TestDatabase;
use axum::body::Body;
use http::StatusCode;
use serde_json::{Value, json};

airside_store::on_both_databases!(
    teams_are_made_changed_renamed_and_destroyed,
    pipelines_are_renamed_ordered_archived_and_brought_back,
    instances_of_a_pipeline_are_told_apart,
);

fn owner(name: &str) -> Value {
    json!({"auth": {"owner": {"users": [format!("local:{name}")], "groups": []}}})
}

async fn teams_are_made_changed_renamed_and_destroyed(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    let bob = server.login("bob").await;
    let team = "/api/v1/teams/crew";
    let refused = server.send_json(&bob, "PUT", team, &owner("bob")).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);

    let made = server.send_json(&ann, "PUT", team, &owner("bob")).await;
    assert_eq!(made.status, StatusCode::CREATED);
    assert_eq!(made.json()["team"]["name"], "crew");
    assert_eq!(made.json()["team"]["auth"], owner("bob")["auth"]);
    let changed = server.send_json(&bob, "PUT", team, &owner("bob")).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.text);

    for (bad, why) in [
        (json!({}), "at least one role"),
        (json!({"auth": {}}), "at least one role"),
        (json!("crew"), "the team cannot be read"),
        (
            json!({"auth": {"king": {"users": ["local:a"]}}}),
            "no role `king`",
        ),
        (json!({"auth": {"owner": {}}}), "neither users nor groups"),
        (json!({"auth": {"owner": {"users": "ann"}}}), "not a list"),
    ] {
        let answer = server.send_json(&ann, "PUT", team, &bad).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
        assert!(answer.text.contains(why), "{}", answer.text);
    }
    for tricky in ["%2e%2e", "a%2Fb", "a%00b", "a%5Cb"] {
        let path = format!("/api/v1/teams/{tricky}");
        let answer = server.send_json(&ann, "PUT", &path, &owner("bob")).await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_REQUEST,
            "{tricky}: {}",
            answer.text
        );
    }

    let rename = |name: &str| json!({"name": name});
    let forbidden = server
        .send_json(&bob, "PUT", &format!("{team}/rename"), &rename("gang"))
        .await;
    assert_eq!(forbidden.status, StatusCode::FORBIDDEN);
    let taken = server
        .send_json(&ann, "PUT", &format!("{team}/rename"), &rename("main"))
        .await;
    assert_eq!(taken.status, StatusCode::BAD_REQUEST);
    assert!(
        taken.json()["errors"][0]
            .as_str()
            .unwrap()
            .contains("taken")
    );
    let renamed = server
        .send_json(&ann, "PUT", &format!("{team}/rename"), &rename("gang"))
        .await;
    assert_eq!(
        (renamed.status, renamed.text.as_str()),
        (StatusCode::OK, "{}")
    );
    assert_eq!(server.get(&ann, team).await.status, StatusCode::NOT_FOUND);
    let main = server
        .send_json(&ann, "PUT", "/api/v1/teams/main/rename", &rename("x"))
        .await;
    assert_eq!(main.status, StatusCode::BAD_REQUEST);

    let gang = "/api/v1/teams/gang";
    assert_eq!(
        server.call(Some(&bob), "DELETE", gang).await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        server.call(Some(&ann), "DELETE", gang).await.status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(
        server.call(Some(&ann), "DELETE", gang).await.status,
        StatusCode::NOT_FOUND
    );
    let last = server
        .call(Some(&ann), "DELETE", "/api/v1/teams/main")
        .await;
    // With words in it, fly would not know the refusal for what it is.
    assert_eq!(
        (last.status, last.text.as_str()),
        (StatusCode::FORBIDDEN, "")
    );
}

async fn set(server: &Server, token: &str, pipeline: &str) {
    let path = format!("/api/v1/teams/main/pipelines/{pipeline}");
    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
    let path = format!("{path}/config?{query}");
    let request = request(Some(token), "PUT", &path).header("content-type", "application/x-yaml");
    let answer = server
        .ask(request.body(Body::from(PIPELINE)).unwrap())
        .await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
}

async fn names(server: &Server, token: &str) -> Vec<String> {
    let listed = server
        .get(token, "/api/v1/teams/main/pipelines")
        .await
        .json();
    let shown = |pipeline: &Value| match pipeline.get("instance_vars") {
        Some(vars) => format!("{}/{vars}", pipeline["name"].as_str().unwrap()),
        None => pipeline["name"].as_str().unwrap().to_owned(),
    };
    listed.as_array().unwrap().iter().map(shown).collect()
}

async fn pipelines_are_renamed_ordered_archived_and_brought_back(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    for name in ["p", "q", "r"] {
        set(&server, &ann, name).await;
    }
    let ordering = "/api/v1/teams/main/pipelines/ordering";
    let ordered = server
        .send_json(&ann, "PUT", ordering, &json!(["r", "p"]))
        .await;
    assert_eq!(ordered.status, StatusCode::OK);
    assert_eq!(names(&server, &ann).await, ["r", "p", "q"]);
    for bad in [json!(["q", "no"]), json!("q"), json!([1])] {
        let answer = server.send_json(&ann, "PUT", ordering, &bad).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
    }
    assert_eq!(names(&server, &ann).await, ["r", "p", "q"]);

    let rename = format!("{TP}/rename");
    for bad in ["q", "", "../x", "a/b"] {
        let answer = server
            .send_json(&ann, "PUT", &rename, &json!({"name": bad}))
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
        assert!(answer.json()["errors"][0].is_string());
    }
    let answer = server
        .send_json(&ann, "PUT", &rename, &json!({"name": "P"}))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json()["warnings"][0]["type"], "invalid_identifier");
    let gone = server
        .send_json(&ann, "PUT", &rename, &json!({"name": "p"}))
        .await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);

    let pipeline = "/api/v1/teams/main/pipelines/q";
    let pause = server
        .put(&ann, &format!("{pipeline}/jobs/hello/pause"))
        .await;
    assert_eq!(pause.status, StatusCode::OK);
    let job = server
        .get(&ann, &format!("{pipeline}/jobs/hello"))
        .await
        .json();
    assert_eq!(
        (&job["paused"], &job["paused_by"]),
        (&json!(true), &json!("ann"))
    );
    server
        .put(&ann, &format!("{pipeline}/jobs/hello/unpause"))
        .await;
    let job = server
        .get(&ann, &format!("{pipeline}/jobs/hello"))
        .await
        .json();
    assert_eq!(job.get("paused"), None);

    let archived = server.put(&ann, &format!("{pipeline}/archive")).await;
    assert_eq!(archived.status, StatusCode::OK);
    let shown = server.get(&ann, pipeline).await.json();
    assert_eq!(
        (&shown["archived"], &shown["paused"]),
        (&json!(true), &json!(true))
    );
    let config = server.get(&ann, &format!("{pipeline}/config")).await;
    assert_eq!(config.status, StatusCode::NOT_FOUND);
    for verb in ["pause", "unpause"] {
        let answer = server.put(&ann, &format!("{pipeline}/{verb}")).await;
        assert_eq!(answer.status, StatusCode::CONFLICT);
        assert_eq!(answer.text, "action not allowed for an archived pipeline");
    }
}

async fn instances_of_a_pipeline_are_told_apart(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    for query in [
        "",
        "?vars.branch=%22a%22",
        "?vars.branch=%22b%22&vars.n.m=1",
    ] {
        set(&server, &ann, &format!("p{query}")).await;
    }
    let expected = [
        "p",
        r#"p/{"branch":"a"}"#,
        r#"p/{"branch":"b","n":{"m":1}}"#,
    ];
    assert_eq!(names(&server, &ann).await, expected);
    let whole = format!("{TP}?vars=%7B%22n%22%3A%7B%22m%22%3A1%7D%2C%22branch%22%3A%22b%22%7D");
    let found = server.get(&ann, &whole).await.json();
    assert_eq!(found["instance_vars"]["n"]["m"], 1);
    let none = server.get(&ann, &format!("{TP}?vars.branch=%22c%22")).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let bad = server.get(&ann, &format!("{TP}?vars.branch=c")).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    assert!(bad.text.contains("branch"), "{}", bad.text);

    let order = json!([{"branch": "a"}, null]);
    let ordered = server
        .send_json(&ann, "PUT", &format!("{TP}/ordering"), &order)
        .await;
    assert_eq!(ordered.status, StatusCode::OK, "{}", ordered.text);
    assert_eq!(
        names(&server, &ann).await,
        [expected[1], expected[0], expected[2]]
    );

    let trigger = format!("{TP}/jobs/hello/builds?vars.branch=%22a%22");
    let build = server.call(Some(&ann), "POST", &trigger).await.json();
    assert_eq!(build["pipeline_instance_vars"], json!({"branch": "a"}));
    server.call(Some(&ann), "POST", &trigger).await;
    let page = server
        .get(&ann, &format!("{TP}/builds?limit=1&vars.branch=%22a%22"))
        .await;
    assert!(
        page.header("link").contains("vars.branch=%22a%22"),
        "{}",
        page.header("link")
    );
    let other = server.get(&ann, &format!("{TP}/builds")).await;
    assert_eq!(other.text, "[]");
}

#[tokio::test]
async fn hostile_renames_take_over_nothing_that_names_a_team() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let auth = json!({"auth": {"owner": {"users": ["local:bob"], "groups": []}}});
    let made = server
        .send_json(&ann, "PUT", "/api/v1/teams/crew", &auth)
        .await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text);
    let worker = airside_model::WorkerName::new("gpu");
    let kind = airside_store::WorkerKind::Local;
    let registered = server.store.register_worker(&worker, Some("ml"), &[], kind);
    registered.await.unwrap();
    let token = server
        .store
        .save_agent_token("camera", Some("vision"), &[], "hash");
    token.await.unwrap();
    for (name, mentions) in [("ml", "worker `gpu`"), ("vision", "agent `camera`")] {
        let rename = json!({"name": name});
        let refused = server
            .send_json(&ann, "PUT", "/api/v1/teams/crew/rename", &rename)
            .await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text);
        assert!(refused.text.contains(mentions), "{}", refused.text);
    }
}
