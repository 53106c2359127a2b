//! Kubernetes targets that come, go and change while the server runs. No cluster is needed to see
//! that: these targets' API servers never answer.

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use airside_scenarios::{Fly, Server, ServerOptions, wait_until};
use serde_json::Value;
use tempfile::TempDir;

/// A server, and the file that lists its targets.
struct Scene {
    server: Server,
    fly: Fly,
    file: PathBuf,
    folder: TempDir,
}

impl Scene {
    fn start(targets: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("targets.yml");
        let account = folder.path().join("account");
        fs::create_dir(&account).unwrap();
        fs::write(account.join("token"), "none").unwrap();
        fs::write(account.join("ca.crt"), CERTIFICATE).unwrap();
        fs::write(&file, listed(&folder, targets)).unwrap();
        let server = ServerOptions::new()
            .args(["--targets", file.to_str().unwrap()])
            .start();
        Self {
            fly: server.fly(),
            server,
            file,
            folder,
        }
    }

    fn write(&self, targets: &[&str]) {
        fs::write(&self.file, listed(&self.folder, targets)).unwrap();
    }

    fn workers(&self) -> BTreeMap<String, Value> {
        let authorization = self.fly.authorization();
        let headers = [("Authorization", authorization.as_str())];
        let (status, listed) = self.server.http("GET", "/api/v1/workers", &headers, "");
        assert_eq!(status, 200, "{listed}");
        let workers: Vec<Value> = serde_json::from_str(&listed).unwrap();
        let named = workers.into_iter();
        named
            .map(|worker| (worker["name"].as_str().unwrap().to_owned(), worker))
            .collect()
    }

    #[track_caller]
    fn wait_for_workers(&self, names: &[&str]) {
        wait_until(&format!("the workers are {names:?}"), || {
            self.workers().keys().eq(names)
        });
    }
}

fn target(name: &str, more: &str) -> String {
    format!(
        "- {{name: {name}, tags: [{name}], namespace: ci, hub_host: 127.0.0.1, api_server: 'https://127.0.0.1:1', \
         service_account: ACCOUNT, stalled_after_seconds: 1{more}}}\n"
    )
}

fn listed(folder: &TempDir, targets: &[&str]) -> String {
    let account = folder.path().join("account");
    format!("targets:\n{}", targets.concat()).replace("ACCOUNT", account.to_str().unwrap())
}

/// Certificate without an owner, for an account that is good enough to dial with.
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBeDCCAR+gAwIBAgIUDGqxP3ZCYLxszP6OpaElxbpReeEwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTExNTIyMTY0MloYDzIxMjYxMDIyMjIx
NjQyWjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAQjV5TrMQKszPOQ3AtaDnC8gd0ONi+CvAemla4bLyG9XfPJ8CljcHRtFJuWls7+
BHuJ9GujSajjTTvW1hlN80Bxo1MwUTAdBgNVHQ4EFgQUxDsrK+at0LMhwGpdhNug
0NYWkuEwHwYDVR0jBBgwFoAUxDsrK+at0LMhwGpdhNug0NYWkuEwDwYDVR0TAQH/
BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiA7kKSNbreoj/I6IbYgVpJMjqJDg4ZI
XaVhD1AmHWPvdAIgHG8nqHGNaTVi67FnWmMChyyBAvR74/81s5XTfam4jZU=
-----END CERTIFICATE-----
";

#[test]
fn targets_come_go_and_come_back_with_the_file() {
    let (a, b) = (target("a", ""), target("b", ""));
    let scene = Scene::start(&[&a]);
    scene.wait_for_workers(&["a", "local"]);
    scene.write(&[&a, &b]);
    scene.wait_for_workers(&["a", "b", "local"]);
    scene.write(&[&b]);
    scene.wait_for_workers(&["b", "local"]);
    scene.write(&[&b, &a]);
    scene.wait_for_workers(&["a", "b", "local"]);

    let changed = a.replace("tags: [a]", "tags: [a, big], team: main");
    scene.write(&[&changed, &b]);
    wait_until("the tags have changed", || {
        let worker = &scene.workers()["a"];
        worker["tags"] == serde_json::json!(["a", "big"]) && worker["team"] == "main"
    });
    // One that moves leaves where it was first.
    let gone = || {
        scene
            .server
            .log()
            .matches("worker removed: its target")
            .count()
    };
    let before = gone();
    scene.write(&[&a.replace("namespace: ci", "namespace: other"), &b]);
    wait_until("it has moved", || {
        gone() > before && scene.workers().contains_key("a")
    });
}

#[test]
fn a_mistake_changes_nothing_and_is_told_and_a_signal_reads_what_cannot_be_watched() {
    let (a, b) = (target("a", ""), target("b", ""));
    let scene = Scene::start(&[&a]);
    let mistakes = || scene.server.log().matches("targets file refused").count();
    for (times, wrong) in [
        (1, "- {name: a}\n".to_owned()),
        (2, "- {name: [".to_owned()),
        (3, b.replace("ACCOUNT", "/no/such/account")),
    ] {
        scene.write(&[&a, &wrong]);
        wait_until("the mistake is told", || mistakes() == times);
        assert!(scene.workers().keys().eq(["a", "local"]));
    }
    let elsewhere = scene.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let real = elsewhere.join("real.yml");
    fs::write(&real, listed(&scene.folder, &[&a])).unwrap();
    let link = scene.folder.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    fs::rename(&link, &scene.file).unwrap();
    fs::write(&real, listed(&scene.folder, &[&a, &b])).unwrap();
    let pid = scene.server.pid().to_string();
    let asked = Command::new("kill").args(["-HUP", &pid]).status().unwrap();
    assert!(asked.success());
    scene.wait_for_workers(&["a", "b", "local"]);
}

#[test]
fn a_target_that_does_not_answer_is_stalled_and_its_steps_wait_with_words() {
    let a = target("a", "");
    let scene = Scene::start(&[&a]);
    wait_until("it is stalled", || {
        scene.workers()["a"]["state"] == "stalled"
    });
    let words = "its API server has not answered for 1 s";
    assert_eq!(
        scene.workers()["a"]["addr"],
        words,
        "what fly workers -d shows"
    );
    assert_eq!(scene.server.log().matches("worker stalled").count(), 1);

    let pipeline = "jobs:\n- name: job\n  plan:\n  - task: t\n    tags: [a]\n    config:\n      platform: linux\n      \
                    image_resource: {type: host, source: {}}\n      run: {path: 'true'}\n";
    scene.fly.pipeline("p", pipeline);
    let build = scene.fly.trigger("p/job");
    let waiting = format!("worker a is stalled: {words}");
    scene.fly.wait_for_text(build.id, &waiting);
    // No worker could ever run it once the target is gone.
    scene.write(&["  []\n"]);
    scene.fly.wait_for_text(build.id, "no workers satisfying");
    scene.wait_for_workers(&["local"]);
}

#[test]
fn a_stalled_worker_can_be_pruned() {
    let scene = Scene::start(&[&target("a", "")]);
    wait_until("it is stalled", || {
        scene.workers()["a"]["state"] == "stalled"
    });
    let authorization = scene.fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let (status, said) = scene
        .server
        .http("PUT", "/api/v1/workers/a/prune", &headers, "");
    assert_eq!(status, 200, "{said}");
    scene.wait_for_workers(&["local"]);
}

/// A rule may give a team's pods an account of the cluster, so its name is no other team's to take.
#[test]
fn hostile_renames_take_over_no_pod_rule() {
    let rule = ", pod_rules: [{match: {team: ml}, patch: {spec: {serviceAccountName: deployer}}}]";
    let scene = Scene::start(&[&target("a", rule)]);
    scene.wait_for_workers(&["a", "local"]);
    let authorization = scene.fly.authorization();
    let ask = |path: &str, body: &str| {
        let headers = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
        ];
        let path = format!("/api/v1/teams/crew{path}");
        scene.server.http("PUT", &path, &headers, body)
    };
    let members = r#"{"auth": {"owner": {"users": ["local:test"], "groups": []}}}"#;
    let (status, said) = ask("", members);
    assert_eq!(status, 201, "{said}");
    let (status, said) = ask("/rename", r#"{"name": "ml"}"#);
    assert_eq!(status, 409, "{said}");
    assert!(said.contains("worker `a`"), "{said}");
    let (status, said) = ask("/rename", r#"{"name": "other"}"#);
    assert_eq!(status, 200, "{said}");
}
