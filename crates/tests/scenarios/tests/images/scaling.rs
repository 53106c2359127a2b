//! Several mirrors that share a bucket, as many as their load asks for: a HorizontalPodAutoscaler
//! of a real cluster, to which the test itself supplies the metrics. Needs a cluster: see `make
//! test-cluster`.

use crate::support::metrics::{MIRRORS, Metrics};
use crate::support::mirror::{MirrorHouse, ask, host, noise};
use crate::support::operator::NAMESPACE;
use airside_scenarios::wait_until;
use airside_secret_managers::testing::Moto;
use serde_json::json;

/// A pod asks for 50, and twice that is what one is to use.
const IDLE: u32 = 1;
const BUSY: u32 = 1000;

/// The addresses of mirrors that are ready and stay.
fn mirrors(house: &MirrorHouse) -> Vec<String> {
    let listed = house.inside(&["get", "pods", "-l", MIRRORS, "-o", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let is_ready = |pod: &&serde_json::Value| {
        let conditions = pod["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        pod["metadata"]["deletionTimestamp"].is_null()
            && conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
    };
    let ready = listed["items"].as_array().unwrap().iter().filter(is_ready);
    let addresses = ready.map(|pod| pod["status"]["podIP"].as_str().unwrap().to_owned());
    addresses.collect()
}

#[test]
fn mirrors_come_and_go_with_their_load_and_all_have_what_one_fetched() {
    let Some(mut house) = MirrorHouse::offered() else {
        return;
    };
    let Some(moto) = Moto::start_at(host(&house.stage)) else {
        return;
    };
    moto.make_bucket("images");
    let metrics = Metrics::serve(&house.stage, IDLE);
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bucket", "namespace": NAMESPACE},
        "stringData": {"AWS_ACCESS_KEY_ID": moto.keys.id, "AWS_SECRET_ACCESS_KEY": moto.keys.secret},
    });
    house.stage.apply_text(&secret.to_string());
    let mirrored = format!(
        "--mirror-registry={}={}",
        house.host(),
        house.registry.url()
    );
    let endpoint = format!("--mirror-s3-endpoint={}", moto.url);
    house.install(&[
        "--replicas=0",
        &mirrored,
        "--mirror-storage=s3://images/mirror",
        "--mirror-s3-secret=bucket",
        &endpoint,
        "--mirror-max-replicas=4",
    ]);
    wait_until("two mirrors are there, as few as there may be", || {
        mirrors(&house).len() == 2
    });

    let bytes = noise(1_000_000);
    let image = house
        .registry
        .push("org/app", "1", std::slice::from_ref(&bytes));
    let blob = format!("/v2/org/app/blobs/{}?ns={}", image.layers[0], house.host());
    let has_it = |mirror: &String| {
        let (status, body) = ask(mirror, 5000, &blob, "");
        (status, body == bytes) == (200, true)
    };
    assert!(has_it(&mirrors(&house)[0]));

    metrics.say(BUSY);
    wait_until("there are as many as there may be", || {
        mirrors(&house).len() == 4
    });
    let all = mirrors(&house);
    assert!(all.iter().all(has_it), "every mirror has it");
    assert_eq!(house.registry.count("GET /v2/org/app/blobs/"), 1);

    // By themselves they would wait five minutes before they go, one at a time.
    let hurry = json!({"spec": {"behavior": {"scaleDown": {
        "stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 4, "periodSeconds": 1}],
    }}}});
    house.inside(&[
        "patch",
        "hpa",
        "airside-images-mirror",
        "--type=merge",
        "-p",
        &hurry.to_string(),
    ]);
    metrics.say(IDLE);
    wait_until("two are left", || mirrors(&house).len() == 2);
    assert!(mirrors(&house).iter().all(has_it));
    assert_eq!(house.registry.count("GET /v2/org/app/blobs/"), 1);
    house.end();
}
