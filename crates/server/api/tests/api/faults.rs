//! Bad input and bad times: a clear answer each, and nothing half done.

use std::{sync::atomic::Ordering, time::Duration};

use crate::support::{PIPELINE, Server, TP, request};
use airside_store::{DatabaseTimeout, DatabaseUrl, testing::TestDatabase};
use axum::body::Body;
use http::StatusCode;
use tokio::io::AsyncBufReadExt as _;

airside_store::on_both_databases!(
    of_many_who_set_a_pipeline_at_once_one_wins,
    a_database_that_is_away_is_said_to_be,
    a_nul_is_refused_wherever_it_hides,
);

#[tokio::test]
async fn bodies_that_cannot_be_taken_are_refused_everywhere() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let huge = vec![b' '; 50 << 20];
    for (method, path) in [
        ("PUT", format!("{TP}/config")),
        ("PUT", format!("{TP}/rename")),
        ("PUT", format!("{TP}/ordering")),
        ("PUT", "/api/v1/teams/main/pipelines/ordering".to_owned()),
        ("PUT", "/api/v1/teams/crew".to_owned()),
        ("PUT", "/api/v1/wall".to_owned()),
        ("PUT", "/api/v1/log-level".to_owned()),
    ] {
        let send = async |body: Vec<u8>| {
            let request =
                request(Some(&ann), method, &path).header("content-type", "application/json");
            server
                .try_ask(request.body(Body::from(body)).unwrap())
                .await
        };
        // The connection may be closed before all of it was sent.
        if let Some(answer) = send(huge.clone()).await {
            assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE, "{path}");
            assert!(answer.text.contains("larger than"), "{}", answer.text);
        }
        let garbled = send(b"\xff\xfe{".to_vec()).await.unwrap();
        assert_eq!(
            garbled.status,
            StatusCode::BAD_REQUEST,
            "{path}: {}",
            garbled.text
        );
        assert!(garbled.text.contains("UTF-8"), "{path}: {}", garbled.text);
        if !path.ends_with("log-level") {
            let cut = send(b"{\"name\": ".to_vec()).await.unwrap();
            assert_eq!(cut.status, StatusCode::BAD_REQUEST, "{path}: {}", cut.text);
        }
    }
    assert_eq!(
        server.get(&ann, "/api/v1/teams/crew").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(server.get(&ann, TP).await.status, StatusCode::OK);
}

#[tokio::test]
async fn hostile_a_panic_ends_one_request_with_words() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let build = server.trigger(&ann, "hello").await.json()["id"].clone();
    let path = format!("/api/v1/builds/{build}/preparation");
    server.is_faulty.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        let answer = server.get(&ann, &path).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            answer.text.contains("a fault in Airside"),
            "{}",
            answer.text
        );
        assert!(!answer.text.contains("secret word"), "{}", answer.text);
    }
    let counted = airside_tasks::panics();
    let requests = counted.iter().find(|(task, _)| *task == "API request");
    assert!(
        requests.is_some_and(|(_, count)| *count >= 3),
        "{counted:?}"
    );
    server.is_faulty.store(false, Ordering::Relaxed);
    assert_eq!(server.get(&ann, &path).await.status, StatusCode::OK);
}

#[tokio::test]
async fn names_cannot_lead_anywhere_else() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    for name in [
        "%2e%2e",
        "%2e",
        "..%2f..%2fx",
        "a%2Fb",
        "a%5Cb",
        "a%00b",
        "a%0Ab",
        "%20",
    ] {
        let path = format!("/api/v1/teams/main/pipelines/{name}/config");
        let request =
            request(Some(&ann), "PUT", &path).header("content-type", "application/x-yaml");
        let answer = server
            .ask(request.body(Body::from(PIPELINE)).unwrap())
            .await;
        // An odd name is warned about; one that could be a path is refused.
        let status = if name == "%20" {
            StatusCode::CREATED
        } else {
            StatusCode::BAD_REQUEST
        };
        assert_eq!(answer.status, status, "{name}: {}", answer.text);
    }
    let long = "a".repeat(300);
    let path = format!("/api/v1/teams/main/pipelines/{long}/config");
    let request = request(Some(&ann), "PUT", &path).header("content-type", "application/x-yaml");
    let answer = server
        .ask(request.body(Body::from(PIPELINE)).unwrap())
        .await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    let invalid = server.get(&ann, "/api/v1/teams/main/pipelines/%ff").await;
    assert!(invalid.status.is_client_error(), "{}", invalid.status);
}

async fn of_many_who_set_a_pipeline_at_once_one_wins(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let read = server.get(&ann, &format!("{TP}/config")).await;
    let version = read.header("x-concourse-config-version").to_owned();
    let tries = (0..8).map(|_| server.set_pipeline(&ann, &version, PIPELINE));
    let answers = futures::future::join_all(tries).await;
    let won = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::OK);
    assert_eq!(won.count(), 1);
    let lost = "comparison with existing config failed during save";
    assert_eq!(
        answers
            .iter()
            .filter(|answer| answer.text.contains(lost))
            .count(),
        7
    );
}

async fn a_database_that_is_away_is_said_to_be(database: TestDatabase) {
    let patience = DatabaseTimeout(Duration::from_secs(3));
    let server = Server::start_patiently(database, patience).await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let version = server.get(&ann, &format!("{TP}/config")).await;
    let version = version.header("x-concourse-config-version").to_owned();
    let away = Away::begin(&server.database).await;
    let answer = server.set_pipeline(&ann, &version, PIPELINE).await;
    assert_eq!(
        answer.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "{}",
        answer.text
    );
    assert!(answer.text.contains("try again"), "{}", answer.text);
    assert_eq!(answer.header("retry-after"), "5");
    away.end(&server.database).await;
    let mut answer = server.set_pipeline(&ann, &version, PIPELINE).await;
    while answer.status == StatusCode::SERVICE_UNAVAILABLE {
        answer = server.set_pipeline(&ann, &version, PIPELINE).await;
    }
    assert_eq!(
        answer.status,
        StatusCode::OK,
        "the change before was not half made"
    );
}

/// A server with the settings that every server has.
#[tokio::test]
async fn requests_wait_for_a_postgres_that_is_stopped_and_started() {
    let server = Server::start_on(TestDatabase::own_postgres()).await;
    let ann = server.login("ann").await;
    server.set_pipeline(&ann, "", PIPELINE).await;
    let version = server.get(&ann, &format!("{TP}/config")).await;
    let version = version.header("x-concourse-config-version").to_owned();
    let begun = tokio::time::Instant::now();
    server.database.stop_server().await;
    let (read, written, ()) = futures::join!(
        server.get(&ann, TP),
        server.set_pipeline(&ann, &version, PIPELINE),
        async {
            // No condition to wait for: that so long an outage is borne is what this tests.
            tokio::time::sleep_until(begun + Duration::from_secs(10)).await;
            server.database.start_server().await;
        }
    );
    assert_eq!(read.status, StatusCode::OK, "{}", read.text);
    assert_eq!(written.status, StatusCode::OK, "{}", written.text);
}

/// Another program holds the file's lock until it is told to end.
#[tokio::test]
async fn a_request_waits_for_a_file_that_another_process_has_locked() {
    let server = Server::start().await;
    let ann = server.login("ann").await;
    let DatabaseUrl::Sqlite(file) = &server.database.url else {
        panic!("not a file");
    };
    let lock = "import sqlite3, sys\n\
        held = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        held.execute('BEGIN IMMEDIATE')\n\
        print('locked', flush=True)\n\
        sys.stdin.read()";
    let mut other = tokio::process::Command::new("python3")
        .args(["-c", lock])
        .arg(file)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = tokio::io::BufReader::new(other.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).await.unwrap();
    assert_eq!(line, "locked\n");
    let mut write = std::pin::pin!(server.set_pipeline(&ann, "", PIPELINE));
    let early = tokio::time::timeout(Duration::from_secs(1), &mut write).await;
    assert!(early.is_err(), "written in spite of the lock");
    // Readers do not mind.
    let read = server.get(&ann, "/api/v1/pipelines").await;
    assert_eq!(read.status, StatusCode::OK);
    drop(other.stdin.take());
    let answer = write.await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    other.wait().await.unwrap();
}

/// A small file system of the test's own, gone with it.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let done = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "airside-test"])
            .arg(dir.path())
            .status();
        assert!(done.unwrap().success(), "mounting needs root");
        Self(dir)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still hold files open.
        let path = self.0.path();
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(path)
            .status();
    }
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_and_forgotten_once_there_is_room() {
    let disk = SmallDisk::mount();
    let dir = tempfile::tempdir_in(disk.0.path()).unwrap();
    let server = Server::start_on(TestDatabase::sqlite_in(dir)).await;
    let ann = server.login("ann").await;
    let answer = server.set_pipeline(&ann, "", PIPELINE).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    let before = server.get(&ann, &format!("{TP}/config")).await;
    let version = before.header("x-concourse-config-version").to_owned();

    let filler = disk.0.path().join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[b'x'; 512]).is_ok() {}
    let many: String = (0..300)
        .map(|n| format!("- {{name: j{n}, plan: [{{get: r}}]}}\n"))
        .collect();
    let longer = format!("{PIPELINE}{many}");
    let answer = server.set_pipeline(&ann, &version, &longer).await;
    assert_eq!(
        answer.status,
        StatusCode::INSUFFICIENT_STORAGE,
        "{}",
        answer.text
    );
    assert!(answer.text.contains("disk of the database is full"));
    let after = server.get(&ann, &format!("{TP}/config")).await;
    assert_eq!(after.text, before.text, "nothing is half written");
    assert_eq!(after.header("x-concourse-config-version"), version);

    drop(file);
    std::fs::remove_file(filler).unwrap();
    let answer = server.set_pipeline(&ann, &version, &longer).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let jobs = server.get(&ann, &format!("{TP}/jobs")).await.json();
    assert_eq!(jobs.as_array().unwrap().len(), 303);
}

#[tokio::test]
async fn an_upload_to_a_nearly_full_disk_hears_why_it_is_refused() {
    let disk = SmallDisk::mount();
    let dir = tempfile::tempdir_in(disk.0.path()).unwrap();
    let server = Server::start_on(TestDatabase::sqlite_in(dir)).await;
    let ann = server.login("ann").await;
    let filler = disk.0.path().join("filler");
    let free = airside_volumes::Disk::of(disk.0.path()).unwrap().free;
    // Less than a twentieth of two mebibytes stays, but enough for the database.
    std::fs::write(&filler, vec![b'x'; free as usize - 90_000]).unwrap();
    let upload = crate::support::request(Some(&ann), "POST", "/api/v1/teams/main/artifacts");
    let answer = server
        .send(upload.body(axum::body::Body::from("whatever")).unwrap())
        .await;
    assert_eq!(answer.status(), StatusCode::INSUFFICIENT_STORAGE);
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20)
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains("disk is nearly full: "), "{text}");
    assert!(text.contains(" KiB of 2.0 MiB are free"), "{text}");
    assert!(
        text.contains("to 95 % only (--disk-high-watermark)"),
        "{text}"
    );
}

/// Locks the file as another program would, or keeps all clients out of Postgres.
struct Away(Option<airside_store::testing::FileLock>);

impl Away {
    async fn begin(database: &TestDatabase) -> Self {
        if let DatabaseUrl::Sqlite(_) = database.url {
            return Self(Some(database.lock_file().await));
        }
        database.set_reachable(false).await;
        Self(None)
    }

    async fn end(self, database: &TestDatabase) {
        drop(self.0);
        database.set_reachable(true).await;
    }
}

async fn a_nul_is_refused_wherever_it_hides(database: TestDatabase) {
    let server = Server::start_on(database).await;
    let ann = server.login("ann").await;
    let config = PIPELINE.replace("name: hello", r#"name: "he\0llo""#);
    let answer = server.set_pipeline(&ann, "", &config).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text);
    for path in ["/api/v1/teams/a%00b", "/api/v1/teams/main/pipelines/a%00b"] {
        let answer = server.get(&ann, path).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
    }
    assert_eq!(server.get(&ann, "/api/v1/pipelines").await.text, "[]");
}
