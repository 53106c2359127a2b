//! Pages that are lists: what strangers, viewers and members see on them.

use airside_model::{BuildId, MetadataField, ResourceId, Version, WorkerName};
use airside_store::{GivenInput, WorkerKind};
use http::StatusCode;
use serde_json::json;

use crate::support::{Server, TP, TestResponse};

const PAGES: &str = "/teams/main/pipelines/p";

/// A server with a build, a viewer and a member of the main team, and the tokens of the three
/// users.
async fn server() -> (Server, String, String, String) {
    let (server, ann, _) = Server::with_build().await;
    let role = |name: &str| json!({"users": [format!("local:{name}")], "groups": []});
    let auth =
        json!({"auth": {"owner": role("ann"), "member": role("member"), "viewer": role("viewer")}});
    let set = server
        .send_json(&ann, "PUT", "/api/v1/teams/main", &auth)
        .await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.text);
    let (member, viewer) = (server.login("member").await, server.login("viewer").await);
    (server, ann, member, viewer)
}

async fn expose(server: &Server, ann: &str) {
    let exposed = server.put(ann, &format!("{TP}/expose")).await;
    assert_eq!(exposed.status, StatusCode::OK);
}

/// Finds versions of resource `r`, as a check would.
async fn found(server: &Server, numbers: &[&str]) -> ResourceId {
    let store = &server.store;
    let team = store.team("main").await.unwrap().unwrap();
    let pipelines = store.pipelines(Some(team.id)).await.unwrap();
    let pipeline = &pipelines[0];
    let resource = store.resource(pipeline.id, "r").await.unwrap().unwrap().id;
    let from = store.check_from(resource).await.unwrap().unwrap();
    let metadata = MetadataField {
        name: "message".to_owned(),
        value: "secret <script>".to_owned(),
    };
    let versions: Vec<_> = numbers
        .iter()
        .map(|number| {
            let version = [("version".to_owned(), number.to_string())];
            (Version(version.into()), vec![metadata.clone()])
        })
        .collect();
    store
        .save_versions(resource, &from, &versions)
        .await
        .unwrap();
    resource
}

#[track_caller]
fn check(page: &TestResponse, has: &[&str], lacks: &[&str]) {
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    for text in has {
        assert!(page.text.contains(text), "{text} is not in {}", page.text);
    }
    for text in lacks {
        assert!(!page.text.contains(text), "{text} is in {}", page.text);
    }
}

#[tokio::test]
async fn a_job_offers_each_viewer_what_they_may_do() {
    let (server, ann, member, viewer) = server().await;
    let path = format!("{PAGES}/jobs/hello");
    let stranger = server.call(None, "GET", &path).await;
    assert_eq!(stranger.status, StatusCode::SEE_OTHER);
    let comment = json!({"comment": "<b>odd</b>"});
    let builds = server.get(&ann, &format!("{TP}/jobs/hello/builds")).await;
    let id = builds.json()[0]["id"].to_string();
    let path_of_note = format!("/api/v1/builds/{id}/comment");
    let noted = server.send_json(&ann, "PUT", &path_of_note, &comment).await;
    assert_eq!(noted.status, StatusCode::OK);
    expose(&server, &ann).await;
    let stranger = server.call(None, "GET", &path).await;
    let people = [">ann<", "data-act=\"send\"", "odd", "A build now would get"];
    check(
        &stranger,
        &[
            "<h1 class=\"cut\" title=\"hello\">",
            "jobs/hello/builds/1\"",
        ],
        &people,
    );
    let page = server.get(&viewer, &path).await;
    let refused = "disabled title=\"only for those with role pipeline-operator on team main\"";
    check(
        &page,
        &[">ann<", "&#60;b&#62;odd", "A build now would get", refused],
        &["<b>odd"],
    );
    let page = server.get(&member, &path).await;
    check(
        &page,
        &[
            "data-url=\"/api/v1/teams/main/pipelines/p/jobs/hello/pause\"",
            "data-goto=\"latest\"",
        ],
        &["disabled title"],
    );
    let page = server.get(&member, &format!("{PAGES}/jobs/manual")).await;
    check(
        &page,
        &[
            "may not be triggered by hand: it says so itself",
            "No builds yet",
        ],
        &[],
    );
    let part = server.get(&member, &format!("{path}?part=rows")).await;
    check(
        &part,
        &["<div class=\"stack\" id=\"rows\""],
        &["<h1", "<html"],
    );
    let none = server.get(&member, &format!("{PAGES}/jobs/none")).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn builds_of_a_job_come_in_pages() {
    let (server, ann, member, _) = server().await;
    for _ in 0..4 {
        server.trigger(&ann, "hello").await;
    }
    let path = format!("{PAGES}/jobs/hello");
    let first = server.get(&member, &format!("{path}?limit=2")).await;
    check(
        &first,
        &["id=\"b5\"", "id=\"b4\"", "rel=\"next\""],
        &["id=\"b3\"", "rel=\"prev\""],
    );
    let (_, rest) = first.text.split_once("rel=\"next\" href=\"").unwrap();
    let older = rest.split('"').next().unwrap().replace("&#38;", "&");
    let second = server.get(&member, &older).await;
    check(
        &second,
        &["id=\"b3\"", "id=\"b2\"", "rel=\"next\"", "rel=\"prev\""],
        &["id=\"b4\"", "id=\"b1\""],
    );
    let odd = server
        .get(
            &member,
            &format!("{path}?limit=-1&from=x&to=99999999999999999999"),
        )
        .await;
    check(&odd, &["id=\"b5\""], &[]);
}

#[tokio::test]
async fn a_resource_shows_versions_as_the_api_does() {
    let (server, ann, member, viewer) = server().await;
    let resource = found(&server, &["1", "2", "3"]).await;
    expose(&server, &ann).await;
    let path = format!("{PAGES}/resources/r");
    let stranger = server.call(None, "GET", &path).await;
    check(
        &stranger,
        &["version: 3", "title=\"version: 1\""],
        &["secret", "data-act=\"send\"", "How it is read"],
    );
    let page = server.get(&viewer, &path).await;
    check(
        &page,
        &[
            "secret &#60;script&#62;",
            "How it is read",
            "disabled title=",
        ],
        &["<script>"],
    );
    let id = server
        .store
        .latest_version(resource)
        .await
        .unwrap()
        .unwrap()
        .0
        .0;
    let page = server.get(&member, &path).await;
    let pin = format!("data-url=\"{TP}/resources/r/versions/{id}/pin\"");
    check(
        &page,
        &["Check now", &pin, "aria-pressed=\"true\""],
        &["disabled", "Used as input by"],
    );
    assert_eq!(
        server
            .put(&member, &format!("{TP}/resources/r/versions/{id}/pin"))
            .await
            .status,
        StatusCode::OK
    );
    let opened = server
        .get(&member, &format!("{path}?open={id}&part=v{id}"))
        .await;
    check(
        &opened,
        &[
            "is-pinned is-open",
            "Used as input by",
            "No build: found by a check",
            "/causality/",
        ],
        &["<h1"],
    );
    let page = server.get(&member, &path).await;
    check(
        &page,
        &[
            "Pinned to",
            "data-ask=\"pin_comment\"",
            "/resources/r/unpin\"",
        ],
        &[],
    );
    let filtered = server
        .get(&member, &format!("{path}?filter=version%3A2"))
        .await;
    check(
        &filtered,
        &["title=\"version: 2\"", "value=\"version:2\""],
        &["title=\"version: 1\""],
    );
    let by_value = server.get(&member, &format!("{path}?filter=1")).await;
    check(
        &by_value,
        &["title=\"version: 1\""],
        &["title=\"version: 2\""],
    );
    let none = server
        .get(&member, &format!("{PAGES}/resources/none"))
        .await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn builds_are_listed_for_those_who_may_see_them() {
    let (server, ann, member, viewer) = server().await;
    let path = "/airside/builds";
    let stranger = server.call(None, "GET", path).await;
    check(&stranger, &["No builds yet"], &["p/hello #1"]);
    let page = server.get(&member, path).await;
    // The pipeline is paused, says the stand-in.
    check(
        &page,
        &[
            "What waits",
            "p/hello #1",
            "its pipeline is paused",
            "/abort\"",
        ],
        &["Finished"],
    );
    let page = server.get(&viewer, path).await;
    check(
        &page,
        &["p/hello #1", "its pipeline is paused"],
        &["/abort\""],
    );
    expose(&server, &ann).await;
    let stranger = server.call(None, "GET", path).await;
    check(
        &stranger,
        &["p/hello #1"],
        &["its pipeline is paused", ">ann<", "/abort\""],
    );
    for (query, is_there) in [
        ("status=pending", true),
        ("status=failed", false),
        ("team=main", true),
        ("team=none", false),
        ("pipeline=p", true),
        ("pipeline=none", false),
        ("team=main&pipeline=p&status=pending", true),
        ("status=odd&from=1&limit=0", false),
    ] {
        for token in [None, Some(member.as_str())] {
            let page = server.call(token, "GET", &format!("{path}?{query}")).await;
            assert_eq!(page.status, StatusCode::OK);
            assert_eq!(page.text.contains("p/hello #1"), is_there, "{query}");
        }
    }
}

#[tokio::test]
async fn workers_are_shown_with_what_one_may_do() {
    let (server, ann, member, viewer) = server().await;
    for (name, team) in [
        ("own", Some("main")),
        ("all", None),
        ("theirs", Some("none")),
    ] {
        let worker = WorkerName(name.to_owned());
        let tags = ["<b>".to_owned()];
        let store = &server.store;
        store
            .register_worker(&worker, team, &tags, WorkerKind::Local)
            .await
            .unwrap();
    }
    let path = "/airside/workers";
    assert_eq!(
        server.call(None, "GET", path).await.status,
        StatusCode::SEE_OTHER
    );
    let page = server.get(&viewer, path).await;
    check(
        &page,
        &["id=\"w-own\"", "id=\"w-all\"", "&#60;b&#62;"],
        &["theirs", "/land\"", "<b>"],
    );
    let page = server.get(&member, path).await;
    check(
        &page,
        &["/api/v1/workers/own/land\"", "/workers/own/retire\""],
        &["/workers/all/land\"", "theirs"],
    );
    let page = server.get(&ann, path).await;
    let lacks = "its team none does not exist";
    check(
        &page,
        &[
            "/workers/all/land\"",
            "id=\"w-theirs\"",
            lacks,
            "lacks something",
        ],
        &[],
    );
    server.put(&ann, "/api/v1/workers/all/land").await;
    let page = server.get(&ann, &format!("{path}?part=workers")).await;
    check(
        &page,
        &["/workers/all/prune\"", "Bring back"],
        &["<html", "/workers/all/land\""],
    );
}

#[tokio::test]
async fn a_team_shows_its_members_to_its_viewers_and_its_buttons_to_those_who_may() {
    let (server, ann, member, viewer) = server().await;
    let path = "/airside/teams/main";
    let stranger = server.call(None, "GET", path).await;
    assert_eq!(stranger.status, StatusCode::SEE_OTHER);
    let other = server.login("other").await;
    assert_eq!(server.get(&other, path).await.status, StatusCode::FORBIDDEN);
    let page = server.get(&viewer, path).await;
    check(
        &page,
        &["local:ann", "local:member", ">p</span>"],
        &["data-act=\"send\"", "?destroy="],
    );
    let page = server.get(&member, path).await;
    let order = "data-url=\"/api/v1/teams/main/pipelines/ordering\"";
    check(
        &page,
        &[
            order,
            "data-moves=\"up\"",
            "/pipelines/p/archive\"",
            "/p/expose\"",
        ],
        &["Rename team"],
    );
    let id = page.text.split("?destroy=").nth(1).unwrap();
    let id = id.split('#').next().unwrap();
    let destroy = format!("{path}?destroy={id}");
    let page = server.get(&member, &destroy).await;
    check(
        &page,
        &[
            "data-typed=\"p\"",
            "data-method=\"DELETE\"",
            "btn-danger\" disabled",
        ],
        &[],
    );
    let page = server.get(&viewer, &destroy).await;
    check(&page, &[], &["data-typed", "DELETE"]);
    check(&server.get(&ann, path).await, &["Rename team"], &[]);
    check(
        &server.get(&member, "/airside/teams").await,
        &["/airside/teams/main\"", "member"],
        &[],
    );
    assert_eq!(
        server.get(&other, "/airside/teams").await.status,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn causality_is_shown_as_far_as_the_pipeline_is() {
    let (server, ann, member, _) = server().await;
    let resource = found(&server, &["1"]).await;
    let (version, _) = server
        .store
        .latest_version(resource)
        .await
        .unwrap()
        .unwrap();
    let path = format!("{PAGES}/resources/r/causality/{}", version.0);
    let down = format!("{path}/downstream");
    assert_eq!(
        server.call(None, "GET", &down).await.status,
        StatusCode::SEE_OTHER
    );
    check(&server.get(&member, &down).await, &["Not used"], &[]);
    check(
        &server.get(&member, &format!("{path}/upstream")).await,
        &["Not made by a build"],
        &[],
    );
    let builds = server.get(&ann, &format!("{TP}/jobs/hello/builds")).await;
    let build = BuildId(builds.json()[0]["id"].as_i64().unwrap());
    let input = GivenInput {
        name: "r".to_owned(),
        version,
        first_occurrence: true,
    };
    assert!(
        server
            .store
            .give_inputs(build, &[input], &[])
            .await
            .unwrap()
    );
    let builds = "/teams/main/pipelines/p/jobs/hello/builds/1\"";
    check(
        &server.get(&member, &down).await,
        &[builds, "used by"],
        &["Not used"],
    );
    expose(&server, &ann).await;
    check(&server.call(None, "GET", &down).await, &[builds], &[]);
    let none = format!("{PAGES}/resources/r/causality/99/downstream");
    assert_eq!(
        server.get(&member, &none).await.status,
        StatusCode::NOT_FOUND
    );
    // The job's page and the resource's page know of it, too.
    let job = server.get(&member, &format!("{PAGES}/jobs/hello")).await;
    check(&job, &["title=\"version: 1\""], &[]);
    let resource = server.get(&member, &format!("{PAGES}/resources/r")).await;
    check(&resource, &["title=\"hello: pending\""], &[]);
}

#[tokio::test]
async fn fly_is_offered_for_the_machines_that_there_are_programs_for() {
    let server = Server::start().await;
    let page = server.call(None, "GET", "/download-fly").await;
    check(&page, &["gives out no fly"], &["/api/v1/cli"]);
    let dir = server.database.dir().join("cli");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("fly-linux-amd64"), "program").unwrap();
    let page = server.call(None, "GET", "/download-fly").await;
    check(
        &page,
        &["/api/v1/cli?platform=linux&#38;arch=amd64"],
        &["gives out no fly", "darwin"],
    );
    let program = server
        .call(None, "GET", "/api/v1/cli?platform=linux&arch=amd64")
        .await;
    assert_eq!(program.text, "program");
}
