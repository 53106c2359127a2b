//! Uploads and downloads, one-off builds, and what else `fly execute` and `fly sync` need.

use std::io::{Read, Write};

use axum::body::{Body, to_bytes};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http::StatusCode;
use serde_json::{Value, json};
use tar::{EntryType, Header};

use crate::support::{Server, TestResponse, request};

const ARTIFACTS: &str = "/api/v1/teams/main/artifacts";

/// A tar of one entry; names go in as they are, however bad.
fn tar(kind: EntryType, name: &str, link: &str, size: u64, data: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(size);
    let fields = header.as_old_mut();
    fields.name[..name.len()].copy_from_slice(name.as_bytes());
    fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    let mut tar = header.as_bytes().to_vec();
    tar.extend_from_slice(data);
    tar.resize(tar.len().next_multiple_of(512) + 1024, 0);
    tar
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    gzip(&tar(EntryType::Regular, name, "", data.len() as u64, data))
}

async fn upload(server: &Server, token: &str, body: Vec<u8>) -> TestResponse {
    let request = request(Some(token), "POST", &format!("{ARTIFACTS}?platform=linux"));
    server.ask(request.body(Body::from(body)).unwrap()).await
}

fn live(server: &Server) -> usize {
    let live = server.database.dir().join("volumes/live");
    std::fs::read_dir(live).unwrap().count()
}

#[tokio::test]
async fn what_is_uploaded_can_be_downloaded_by_its_team_alone() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let content: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let answer = upload(&server, &ann, file("./some/file", &content)).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    let artifact = answer.json();
    assert_eq!(
        (&artifact["name"], &artifact["build_id"]),
        (&json!(""), &json!(0))
    );
    let id = artifact["id"].as_i64().unwrap();

    let wanted =
        request(Some(&ann), "GET", &format!("{ARTIFACTS}/{id}")).header("accept-encoding", "gzip");
    let response = server.send(wanted.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        response.headers().get("content-encoding"),
        None,
        "once is enough"
    );
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let mut plain = Vec::new();
    GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
    let mut archive = tar::Archive::new(&plain[..]);
    let mut found = None;
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.path().unwrap().ends_with("some/file") {
            let mut data = Vec::new();
            entry.read_to_end(&mut data).unwrap();
            found = Some(data);
        }
    }
    assert_eq!(found, Some(content));

    let team = json!({"auth": {"owner": {"users": ["local:ann"], "groups": []}}});
    server
        .send_json(&ann, "PUT", "/api/v1/teams/other", &team)
        .await;
    for (path, status) in [
        (
            format!("/api/v1/teams/other/artifacts/{id}"),
            StatusCode::NOT_FOUND,
        ),
        (format!("{ARTIFACTS}/{}", id + 1), StatusCode::NOT_FOUND),
        (format!("{ARTIFACTS}/x"), StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(server.get(&ann, &path).await.status, status, "{path}");
    }
    let volumes = server.get(&ann, "/api/v1/teams/main/volumes").await.json();
    assert_eq!(volumes[0]["type"], "artifact");
    let none = server.get(&ann, "/api/v1/teams/other/volumes").await.json();
    assert_eq!(none, json!([]));
}

#[tokio::test]
async fn bad_uploads_leave_nothing() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let regular = EntryType::Regular;
    let whole = file("file", &[7; 100_000]);
    let cut_tar = tar(regular, "file", "", 2000, &[0; 512]);
    for (what, body) in [
        ("nothing", Vec::new()),
        ("no gzip", b"plain text".to_vec()),
        ("a stream cut short", whole[..whole.len() / 2].to_vec()),
        ("a tar cut short", gzip(&cut_tar[..1024])),
        ("a name that leaves", file("../file", b"x")),
        ("a device", gzip(&tar(EntryType::Char, "null", "", 0, b""))),
        (
            "a link out",
            gzip(&tar(EntryType::Link, "l", "../../etc/passwd", 0, b"")),
        ),
    ] {
        let answer = upload(&server, &ann, body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{what}");
        assert!(
            answer.text.contains("cannot be taken"),
            "{what}: {}",
            answer.text
        );
    }
    let bomb = gzip(&tar(regular, "bomb", "", 1 << 60, b""));
    let answer = upload(&server, &ann, bomb).await;
    assert_eq!(answer.status, StatusCode::INSUFFICIENT_STORAGE);
    let limit =
        "which is what uploads may still fill of the server's disk (--disk-high-watermark 95 %)";
    assert!(answer.text.contains(limit), "{}", answer.text);
    // A link to somewhere else is only a link; nothing is ever read or written through it.
    let link = gzip(&tar(EntryType::Symlink, "link", "/etc/passwd", 0, b""));
    assert_eq!(
        upload(&server, &ann, link).await.status,
        StatusCode::CREATED
    );
    assert_eq!(live(&server), 1);
    let tmp = server.database.dir().join("volumes/tmp");
    assert_eq!(std::fs::read_dir(tmp).unwrap().count(), 0);
}

#[tokio::test]
async fn one_off_builds_are_builds_without_a_job() {
    let (server, ann, _) = Server::with_build().await;
    let plan = json!({"id": "1", "do": [
        {"id": "2", "in_parallel": {"steps": null}},
        {"id": "3", "task": {"name": "one-off", "privileged": true, "tags": ["t"],
            "config": {"platform": "linux", "run": {"path": "true"}}}}]});
    let of_team = "/api/v1/teams/main/builds";
    let answer = server.send_json(&ann, "POST", of_team, &plan).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    let build = answer.json();
    assert_eq!(build["name"], build["id"].to_string());
    assert_eq!(build["status"], "started");
    assert_eq!(build["created_by"], "ann");
    assert_eq!(build.get("job_name"), None);
    let path = format!("/api/v1/builds/{}", build["id"]);
    let shown = server.get(&ann, &format!("{path}/plan")).await.json();
    assert_eq!(shown["plan"]["do"][1]["task"]["name"], "one-off");
    let artifacts = server.get(&ann, &format!("{path}/artifacts")).await;
    assert_eq!(
        (artifacts.status, artifacts.json()),
        (StatusCode::OK, json!([]))
    );

    let of_pipeline = "/api/v1/teams/main/pipelines/p/builds";
    let answer = server.send_json(&ann, "POST", of_pipeline, &plan).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    assert_eq!(answer.json()["pipeline_name"], "p");

    let deep = r#"{"id":"1","try":{"step":"#.repeat(10_000);
    let wanted = request(Some(&ann), "POST", of_team).body(Body::from(deep));
    let answer = server.ask(wanted.unwrap()).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
    for bad in [
        json!(null),
        json!({"id": "1"}),
        json!({"id": "1", "dance": {}}),
    ] {
        let answer = server.send_json(&ann, "POST", of_team, &bad).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn inputs_of_a_job_are_known_once_they_have_versions() {
    let (server, ann, _) = Server::with_build().await;
    let path = "/api/v1/teams/main/pipelines/p/jobs/hello/inputs";
    assert_eq!(server.get(&ann, path).await.status, StatusCode::NOT_FOUND);
    let team = server.store.team("main").await.unwrap().unwrap();
    let pipeline = server.store.pipeline(team.id, "p").await.unwrap().unwrap();
    let row = server
        .store
        .resource(pipeline.id, "r")
        .await
        .unwrap()
        .unwrap();
    let version = serde_json::from_value(json!({"version": "v1"})).unwrap();
    let from = server.store.check_from(row.id).await.unwrap().unwrap();
    let found = [(version, Vec::new())];
    let saved = server.store.save_versions(row.id, &from, &found);
    let airside_store::SavedVersions::Saved(places) = saved.await.unwrap() else {
        panic!("it is new");
    };
    assert_eq!(server.get(&ann, path).await.status, StatusCode::NOT_FOUND);
    let job = server
        .store
        .job(pipeline.id, "hello")
        .await
        .unwrap()
        .unwrap();
    let next = airside_store::NextInputs {
        inputs: vec![airside_store::NextInput {
            name: "r".into(),
            chosen: Ok((places[0].version, true)),
        }],
        has_new: true,
    };
    server.store.save_next_inputs(job.id, &next).await.unwrap();
    let inputs: Value = server.get(&ann, path).await.json();
    let expected = json!([{"name": "r", "resource": "r", "type": "mock", "source": {},
        "version": {"version": "v1"}}]);
    assert_eq!(inputs, expected);
}

#[tokio::test]
async fn fly_is_given_out_with_its_length() {
    let server = Server::start().await;
    let cli = server.database.dir().join("cli");
    std::fs::create_dir(&cli).unwrap();
    std::fs::write(cli.join("fly-linux-amd64"), "a program").unwrap();
    let path = |query: &str| format!("/api/v1/cli?{query}");
    let given = server
        .call(None, "GET", &path("arch=amd64&platform=Linux"))
        .await;
    assert_eq!(given.text, "a program");
    assert_eq!(given.header("content-length"), "9");
    for (query, status) in [
        ("arch=arm64&platform=linux", StatusCode::NOT_FOUND),
        ("arch=amd64", StatusCode::BAD_REQUEST),
        ("arch=amd64&platform=../linux", StatusCode::BAD_REQUEST),
    ] {
        let answer = server.call(None, "GET", &path(query)).await;
        assert_eq!(answer.status, status, "{query}");
        assert!(!answer.text.is_empty());
    }
}
