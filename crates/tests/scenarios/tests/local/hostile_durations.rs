//! Durations that no clock can hold: refused with words, and harmless where an older server has
//! stored them.

use std::path::Path;

use airside_scenarios::Server;
use airside_store::{SaveJob, SavePipeline, SaveResource, Sealer, Store};
use serde_json::json;

const HUGE: &str = "5000000000000000h";

/// One resource with a timeout, one with an interval, and a step with a timeout.
fn pipeline(time: &str) -> String {
    format!(
        "resources:
- {{name: r, type: mock, source: {{}}, check_timeout: {time}}}
- {{name: s, type: mock, source: {{}}, check_every: {time}}}
jobs:
- name: j
  plan:
  - {{get: r, trigger: true}}
  - {{get: s, trigger: true, timeout: {time}}}
"
    )
}

/// The pipeline that ended a server: `fly` sends it as it is.
fn one_resource(time: &str) -> String {
    format!(
        "resources:
- {{name: r, type: mock, source: {{}}, check_timeout: {time}}}
jobs:
- {{name: j, plan: [{{get: r, trigger: true}}]}}
"
    )
}

/// Puts the duration into the stored pipeline, as a server without the rule has done.
fn store_durations(data: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let key = std::fs::read(data.join("encryption-key")).unwrap();
        let sealer = Sealer::new(&key).unwrap();
        let store = Store::open(&data.join("airside.db"), sealer).await.unwrap();
        let team = store.team("main").await.unwrap().unwrap().id;
        let found = store.pipeline(team, "p").await;
        let mut config = found.unwrap().unwrap().config;
        config["resources"][0]["check_timeout"] = json!(HUGE);
        config["resources"][1]["check_every"] = json!(HUGE);
        config["jobs"][0]["plan"][1]["timeout"] = json!(HUGE);
        assert_eq!(config.to_string().matches(HUGE).count(), 3, "{config}");
        let save = SavePipeline {
            team,
            name: "p".to_owned(),
            instance_vars: Default::default(),
            jobs: vec![SaveJob::named("j")],
            resources: vec![
                SaveResource::named("r", "mock"),
                SaveResource::named("s", "mock"),
            ],
            config,
            expected_version: None,
        };
        store.save_pipeline(save).await.unwrap();
    });
}

#[test]
fn hostile_durations_are_refused_and_do_no_harm_once_stored() {
    let mut server = Server::start();
    let fly = server.fly();
    let refused = fly.set_pipeline("p", &one_resource(HUGE));
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("longer than ten years"), "{said}");
    // `fly` knows some of these itself: what other clients send is judged by the server.
    let token = fly.authorization();
    let headers = [
        ("Authorization", token.as_str()),
        ("Content-Type", "application/x-yaml"),
    ];
    let path = "/api/v1/teams/main/pipelines/p/config";
    let (status, said) = server.http("PUT", path, &headers, &pipeline(HUGE));
    assert_eq!(status, 400, "{said}");
    assert_eq!(said.matches("longer than ten years").count(), 3, "{said}");

    fly.pipeline("p", &pipeline("2000h"));
    assert!(server.stop().success());
    store_durations(&server.data());
    server.restart();
    let pid = server.pid();
    let asked = fly.run(&["check-resource", "-r", "p/r"]).ended_with(2);
    assert!(
        asked.stdout.contains("longer than ten years"),
        "{}",
        asked.stdout
    );
    fly.run(&["check-resource", "-r", "p/s"]).succeeded();
    // The resource is checked by itself all the same, with the timeout of the installation.
    let ran = fly.trigger_and_watch("p/j");
    assert!(
        ran.stdout.contains("longer than ten years"),
        "{}",
        ran.stdout
    );
    assert_eq!(server.pid(), pid);
    assert!(!server.log().contains("panicked"), "{}", server.log());
    assert!(server.stop().success());
}
