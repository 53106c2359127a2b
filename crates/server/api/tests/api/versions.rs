//! Versions and what is done with them, in Concourse's shapes.

use airside_model::{BuildId, BuildStatus, MetadataField, ResourceId, Version};
use airside_store::{GivenInput, testing::TestDatabase};
use http::StatusCode;
use serde_json::{Value, json};

use crate::support::{Server, TP};

airside_store::on_both_databases!(
    versions_are_listed_and_looked_at,
    versions_are_enabled_pinned_and_cleared,
    builds_show_what_they_took_in_and_put_out,
    builds_are_run_again,
);

const VERSIONS: &str = "/api/v1/teams/main/pipelines/p/resources/r/versions";

async fn resource(server: &Server) -> ResourceId {
    let team = server.store.team("main").await.unwrap().unwrap();
    let pipeline = server.store.pipeline(team.id, "p").await.unwrap().unwrap();
    let resource = server.store.resource(pipeline.id, "r").await.unwrap();
    resource.unwrap().id
}

/// Saves versions with two pairs each, and gives their ids.
async fn found(server: &Server, numbers: std::ops::RangeInclusive<i64>) -> Vec<i64> {
    let resource = resource(server).await;
    let from = server.store.check_from(resource).await.unwrap().unwrap();
    let version = |number: i64| {
        let metadata = vec![MetadataField {
            name: "by".into(),
            value: "ann".into(),
        }];
        let pairs = [("n", number.to_string()), ("odd", (number % 2).to_string())];
        (Version::from(pairs), metadata)
    };
    let versions: Vec<_> = numbers.map(version).collect();
    let saved = server.store.save_versions(resource, &from, &versions).await;
    let airside_store::SavedVersions::Saved(places) = saved.unwrap() else {
        panic!("they are new");
    };
    places.iter().map(|place| place.version.0).collect()
}

fn numbers(listed: &Value) -> Vec<String> {
    let versions = listed.as_array().unwrap().iter();
    versions
        .map(|version| version["version"]["n"].as_str().unwrap().to_owned())
        .collect()
}

async fn versions_are_listed_and_looked_at(database: TestDatabase) {
    let (server, ann, _) = Server::with_build_on(database).await;
    assert_eq!(server.get(&ann, VERSIONS).await.json(), json!([]));
    let ids = found(&server, 1..=5).await;
    let whole = server.get(&ann, VERSIONS).await;
    assert_eq!(numbers(&whole.json()), ["5", "4", "3", "2", "1"]);
    let expected = json!({"id": ids[4], "metadata": [{"name": "by", "value": "ann"}],
        "version": {"n": "5", "odd": "1"}, "enabled": true});
    assert_eq!(whole.json()[0], expected);
    assert_eq!(whole.header("link"), "");

    let middle = server
        .get(&ann, &format!("{VERSIONS}?limit=2&to={}", ids[3]))
        .await;
    assert_eq!(numbers(&middle.json()), ["4", "3"]);
    let links: Vec<_> = middle.headers.get_all("link").iter().collect();
    let url = format!("http://{}{VERSIONS}", server.address);
    let next = format!("<{url}?to={}&limit=2>; rel=\"next\"", ids[1]);
    let previous = format!("<{url}?from={}&limit=2>; rel=\"previous\"", ids[4]);
    assert_eq!(links, [&next, &previous]);
    let newer = server
        .get(&ann, &format!("{VERSIONS}?limit=2&from={}", ids[1]))
        .await;
    assert_eq!(numbers(&newer.json()), ["3", "2"]);
    let odd = server
        .get(&ann, &format!("{VERSIONS}?filter=odd:1&filter=nothing"))
        .await;
    assert_eq!(numbers(&odd.json()), ["5", "3", "1"]);
    let one = server
        .get(&ann, &format!("{VERSIONS}?filter=odd:1&filter=n:3"))
        .await;
    assert_eq!(numbers(&one.json()), ["3"]);

    let got = server.get(&ann, &format!("{VERSIONS}/{}", ids[4])).await;
    assert_eq!(got.json(), expected);
    for path in [
        format!("{VERSIONS}/99"),
        format!("{TP}/resources/no/versions"),
    ] {
        assert_eq!(
            server.get(&ann, &path).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    // A user who only sees the exposed pipeline does not see the content of versions.
    server.put(&ann, &format!("{TP}/expose")).await;
    let seen = server.call(None, "GET", VERSIONS).await.json();
    assert_eq!(
        seen[0],
        json!({"id": ids[4], "version": {"n": "5", "odd": "1"}, "enabled": true})
    );
    let shared = server.get(&ann, &format!("{TP}/resources/r/shared")).await;
    let own = json!([{"name": "r", "pipeline_name": "p", "team_name": "main"}]);
    assert_eq!(
        shared.json(),
        json!({"resources": own, "resource_types": null})
    );
}

async fn versions_are_enabled_pinned_and_cleared(database: TestDatabase) {
    let (server, ann, _) = Server::with_build_on(database).await;
    let ids = found(&server, 1..=2).await;
    let version = format!("{VERSIONS}/{}", ids[0]);
    for (action, enabled) in [("disable", false), ("disable", false), ("enable", true)] {
        let done = server.put(&ann, &format!("{version}/{action}")).await;
        assert_eq!(done.status, StatusCode::OK);
        assert_eq!(server.get(&ann, &version).await.json()["enabled"], enabled);
    }
    let missing = server.put(&ann, &format!("{VERSIONS}/99/disable")).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);

    let resource = format!("{TP}/resources/r");
    let unpin = format!("{resource}/unpin");
    assert_eq!(
        server.put(&ann, &unpin).await.status,
        StatusCode::INTERNAL_SERVER_ERROR
    );
    assert_eq!(
        server.put(&ann, &format!("{version}/pin")).await.status,
        StatusCode::OK
    );
    let comment = json!({"pin_comment": "for now"});
    let path = format!("{resource}/pin_comment");
    let said = server.send_json(&ann, "PUT", &path, &comment).await;
    assert_eq!(said.status, StatusCode::OK);
    let shown = server.get(&ann, &resource).await.json();
    assert_eq!(shown["pinned_version"], json!({"n": "1", "odd": "1"}));
    assert_eq!(shown["pin_comment"], "for now");
    assert_eq!(shown.get("pinned_in_config"), None);
    assert_eq!(server.put(&ann, &unpin).await.status, StatusCode::OK);
    assert_eq!(
        server
            .get(&ann, &resource)
            .await
            .json()
            .get("pinned_version"),
        None
    );

    let cleared = server.call(Some(&ann), "DELETE", VERSIONS).await;
    assert_eq!(cleared.json(), json!({"versions_removed": 2}));
    assert_eq!(server.get(&ann, VERSIONS).await.json(), json!([]));
    let of_type = format!("{TP}/resource-types/no/versions");
    let of_type = server.call(Some(&ann), "DELETE", &of_type).await;
    assert_eq!(of_type.status, StatusCode::NOT_FOUND);
}

/// Gives the build a version, lets it put another one out, and ends it.
async fn ran(server: &Server, build: BuildId, input: i64, output: &Version) {
    let input = GivenInput {
        name: "r".into(),
        version: airside_model::ResourceVersionId(input),
        first_occurrence: true,
    };
    let store = &server.store;
    assert!(store.give_inputs(build, &[input], &[]).await.unwrap());
    let put = store.save_output(build, "out", resource(server).await, output, &[]);
    put.await.unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let lease = store.take_build(build, "me", "here", hour).await.unwrap();
    let lease = lease.unwrap();
    store
        .finish_build(&lease, BuildStatus::Succeeded)
        .await
        .unwrap();
}

async fn builds_show_what_they_took_in_and_put_out(database: TestDatabase) {
    let (server, ann, build) = Server::with_build_on(database).await;
    let ids = found(&server, 1..=1).await;
    let made = Version::from([("n", "2")]);
    ran(&server, build, ids[0], &made).await;
    let pipeline = server.get(&ann, TP).await.json()["id"].clone();
    let resources = server
        .get(&ann, &format!("/api/v1/builds/{build}/resources"))
        .await;
    let expected = json!({
        "inputs": [{"name": "r", "version": {"n": "1", "odd": "1"}, "pipeline_id": pipeline,
            "first_occurrence": true}],
        "outputs": [{"name": "out", "version": {"n": "2"}}],
    });
    assert_eq!(resources.json(), expected);

    let listed = server.get(&ann, VERSIONS).await.json();
    let out = listed[0]["id"].as_i64().unwrap();
    for (path, expected) in [
        (format!("{VERSIONS}/{}/input_to", ids[0]), vec![build.0]),
        (format!("{VERSIONS}/{}/output_of", ids[0]), vec![]),
        (format!("{VERSIONS}/{out}/output_of"), vec![build.0]),
        (format!("{VERSIONS}/{out}/input_to"), vec![]),
    ] {
        let builds = server.get(&ann, &path).await.json();
        let shown: Vec<_> = builds
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].clone())
            .collect();
        assert_eq!(json!(shown), json!(expected), "{path}");
    }
    let downstream = server
        .get(&ann, &format!("{VERSIONS}/{}/downstream", ids[0]))
        .await
        .json();
    let job = &downstream["jobs"][0];
    assert_eq!(
        (&job["name"], &job["build_ids"]),
        (&json!("hello"), &json!([build]))
    );
    assert_eq!(
        downstream["builds"][0]["resource_version_ids"],
        json!([out])
    );
    assert_eq!(
        downstream["resource_versions"][0]["build_ids"],
        json!([build])
    );
    assert_eq!(
        downstream["resources"][0]["version_ids"],
        json!([ids[0], out])
    );
    let upstream = server
        .get(&ann, &format!("{VERSIONS}/{out}/upstream"))
        .await
        .json();
    assert_eq!(
        upstream["builds"][0]["resource_version_ids"],
        json!([ids[0]])
    );
    let nowhere = server
        .get(&ann, &format!("{VERSIONS}/{out}/downstream"))
        .await
        .json();
    assert_eq!(nowhere["builds"], json!([]));
    let dump = server.get(&ann, &format!("{TP}/versions-db")).await.json();
    assert_eq!(dump["BuildInputs"][0]["InputName"], "r");
    assert_eq!(dump["BuildOutputs"][0]["VersionID"], out);
    assert_eq!(dump["ResourceVersions"].as_array().unwrap().len(), 2);

    let comment = format!("/api/v1/builds/{build}/comment");
    let said = server
        .send_json(&ann, "PUT", &comment, &json!({"comment": "good"}))
        .await;
    assert_eq!(said.status, StatusCode::OK);
    let path = format!("/api/v1/builds/{build}");
    assert_eq!(server.get(&ann, &path).await.json()["comment"], "good");
    server.put(&ann, &format!("{TP}/expose")).await;
    assert_eq!(
        server.call(None, "GET", &path).await.json().get("comment"),
        None
    );
    let bad = server.send_json(&ann, "PUT", &comment, &json!([1])).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
}

async fn builds_are_run_again(database: TestDatabase) {
    let (server, ann, build) = Server::with_build_on(database).await;
    let path = format!("{TP}/jobs/hello/builds/1");
    let without = server.call(Some(&ann), "POST", &path).await;
    assert_eq!(
        without.status,
        StatusCode::INTERNAL_SERVER_ERROR,
        "it has no inputs"
    );
    let ids = found(&server, 1..=1).await;
    ran(&server, build, ids[0], &Version::from([("n", "2")])).await;
    let rerun = server.call(Some(&ann), "POST", &path).await.json();
    assert_eq!(
        (&rerun["name"], &rerun["rerun_number"]),
        (&json!("1.1"), &json!(1))
    );
    assert_eq!(rerun["rerun_of"], json!({"id": build, "name": "1"}));
    let shown = server
        .get(&ann, &format!("{TP}/jobs/hello/builds/1.1"))
        .await;
    assert_eq!(shown.json()["id"], rerun["id"]);
    let job = server.get(&ann, &format!("{TP}/jobs/hello")).await.json();
    assert_eq!(job["next_build"]["id"], rerun["id"]);
    let missing = server
        .call(Some(&ann), "POST", &format!("{TP}/jobs/hello/builds/7"))
        .await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    let asked = server.put(&ann, &format!("{TP}/jobs/hello/schedule")).await;
    assert_eq!(asked.status, StatusCode::OK);
    let config =
        crate::support::PIPELINE.replace("name: hello,", "name: hello, disable_reruns: true,");
    let version = server.get(&ann, &format!("{TP}/config")).await;
    let version = version.header("x-concourse-config-version").to_owned();
    server.set_pipeline(&ann, &version, &config).await;
    let refused = server.call(Some(&ann), "POST", &path).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
}
