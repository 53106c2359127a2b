use serde_json::json;

use super::*;
use crate::pod::tests::{spec, target};

fn wanted() -> Pod {
    pod_from(&spec(), &target(""), None).unwrap()
}

fn check(change: impl FnOnce(&mut Pod), expected: Result<(), Unadoptable>) {
    let mut found = wanted();
    change(&mut found);
    assert_eq!(adoptable(&wanted(), &found), expected);
}

#[test]
fn only_our_own_living_pod_of_the_same_spec_is_adopted() {
    let label = |key: &'static str, value: &'static str| {
        move |pod: &mut Pod| {
            pod.metadata
                .labels
                .get_or_insert_default()
                .insert(key.to_owned(), value.to_owned());
        }
    };
    let status = |status: serde_json::Value| {
        move |pod: &mut Pod| pod.status = serde_json::from_value(status).unwrap()
    };
    check(|_| (), Ok(()));
    check(label("added.by/admission", "x"), Ok(()));
    check(status(json!({"phase": "Pending"})), Ok(()));
    check(status(json!({"phase": "Running"})), Ok(()));
    check(
        label("airside.dev/installation", "other"),
        Err(Unadoptable::Foreign),
    );
    check(
        label("airside.dev/worker", "other"),
        Err(Unadoptable::Foreign),
    );
    check(|pod| pod.metadata.labels = None, Err(Unadoptable::Foreign));
    check(
        |pod| pod.metadata.annotations = None,
        Err(Unadoptable::Different),
    );
    check(status(json!({"phase": "Failed"})), Err(Unadoptable::Ended));
    check(
        status(json!({"phase": "Succeeded"})),
        Err(Unadoptable::Ended),
    );
    let deleted = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    check(
        |pod| pod.metadata.deletion_timestamp = deleted,
        Err(Unadoptable::Leaving),
    );
}

#[tokio::test]
async fn what_cannot_connect_says_why() {
    let installation = || InstallationId::new("inst-1");
    let odd = KubeRuntime::connect(target(""), InstallationId::new("a b")).await;
    assert!(matches!(odd, Err(ConnectError::Installation(_))));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let target = Target {
        kubeconfig: Some(file),
        ..target("")
    };
    let Err(missing) = KubeRuntime::connect(target, installation()).await else {
        panic!("connected without a kubeconfig");
    };
    let words = airside_model::chain(&missing);
    assert!(words.starts_with("target cluster: "), "{words}");
    assert!(words.contains("kubeconfig"), "{words}");
}

/// A runtime whose API server is not there: the port was free a moment ago.
async fn without_server() -> KubeRuntime {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    KubeRuntime::with_client(
        target("tags: [big]\n  team: main"),
        spec().installation,
        client,
    )
}

#[tokio::test]
async fn an_absent_api_server_is_unavailable_not_refused() {
    let runtime = without_server().await;
    let results = [
        runtime.place(&spec()).await.map(drop),
        runtime.destroy(&spec().handle).await,
        runtime.list().await.map(drop),
    ];
    for result in results {
        assert!(
            matches!(result, Err(Error::Unavailable { .. })),
            "{result:?}"
        );
    }
    let proof = runtime
        .verify_proof(&spec().handle, None, "no.token.at-all")
        .await;
    assert!(proof.is_err_and(|error| !error.is_transient()));
}

/// A server that denies every pod, and says about itself what it is told to.
async fn denying(readiness: &'static str) -> KubeRuntime {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 64 * 1024];
            let read = stream.read(&mut request).await.unwrap_or(0);
            let ready = request[..read].starts_with(b"GET /readyz");
            let denial = r#"{"kind":"Status","status":"Failure","message":"no right","code":403}"#;
            let (status, body) = if ready {
                (readiness, "[-]poststarthook failed")
            } else {
                ("403 Forbidden", denial)
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {length}\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    KubeRuntime::with_client(target(""), spec().installation, client)
}

#[tokio::test]
async fn a_denial_counts_only_from_a_server_that_is_ready() {
    for readiness in ["500 Internal Server Error", "403 Forbidden"] {
        let starting = denying(readiness).await.place(&spec()).await;
        assert!(
            matches!(starting, Err(Error::Unavailable { .. })),
            "{readiness}: {starting:?}"
        );
        assert!(starting.unwrap_err().to_string().contains("no right"));
    }
    for readiness in ["200 OK", "404 Not Found"] {
        let ready = denying(readiness).await.place(&spec()).await;
        assert!(
            matches!(ready, Err(Error::Refused { .. })),
            "{readiness}: {ready:?}"
        );
    }
}

#[tokio::test]
async fn what_the_house_must_know() {
    let runtime = without_server().await;
    assert_eq!(runtime.worker(), &WorkerName::new("cluster"));
    assert_eq!(
        (runtime.team(), runtime.platform()),
        (Some("main"), "linux")
    );
    assert_eq!(runtime.tags(), ["big"]);
    let Capabilities {
        mounts_volumes,
        lost_after,
        fence_after,
        ..
    } = runtime.capabilities();
    assert_eq!(
        (mounts_volumes, lost_after, fence_after),
        (false, Duration::from_secs(30), None)
    );
    assert!(runtime.requires_proof());
    let sealed = runtime
        .seal(&spec().handle, "/out", &VolumeId::new("v"))
        .await;
    assert!(matches!(sealed, Err(Error::Refused { .. })), "{sealed:?}");
    let other = PlacementSpec {
        installation: InstallationId::new("other"),
        ..spec()
    };
    let placed = runtime.place(&other).await;
    assert!(matches!(placed, Err(Error::Refused { .. })), "{placed:?}");
}
