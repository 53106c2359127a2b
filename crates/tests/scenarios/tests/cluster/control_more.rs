//! Pipelines as objects of a cluster: columns, rights, deletions, null values, and many builds
//! beside a server that is killed. Needs a cluster: see `make test-cluster-all`.

use std::{fs, time::Instant};

use airside_scenarios::wait_until;
use serde_json::{Value, json};

use crate::control::{Controlled, config, listed, object};

#[test]
fn kubectl_shows_and_explains_what_there_is() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let _server = controlled.server();
    controlled.pipeline("app", &json!({"config": config("true"), "paused": false}));
    controlled.wait_for("pipe/app", "Ready");
    let build = controlled.trigger("app", "job");
    controlled.wait_for(&build, "Complete");
    wait_until("the job's object is there", || {
        controlled.field("pjob/app-job", "{.status.last.phase}") == "succeeded"
    });
    for (kinds, columns) in [
        (
            "pipe",
            &["NAME", "READY", "SET-BY", "PAUSED", "JOBS", "AGE"][..],
        ),
        (
            "pbuild",
            &["NAME", "PIPELINE", "JOB", "BUILD", "PHASE", "AGE"],
        ),
    ] {
        let shown = controlled.kubectl(&["get", kinds]);
        let header: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(header, columns);
    }
    let all = controlled.kubectl(&["get", "airside", "-o", "name"]);
    for kind in ["pipeline.", "pipelinejob.", "pipelinebuild."] {
        assert!(all.contains(kind), "{all}");
    }
    let explained = controlled.kubectl(&["explain", "pipeline.spec.deletionPolicy"]);
    assert!(explained.contains("Archive"), "{explained}");
}

/// Fifty applies, one after the other, each of which is set before the next.
#[test]
fn fifty_applies_are_all_set() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    for number in 0..50 {
        let script = format!("echo apply-{number}-end");
        controlled.pipeline("app", &json!({"config": config(&script), "paused": false}));
        wait_until("it is set", || {
            let shown = fly.run(&["get-pipeline", "-p", "app"]);
            shown.stdout.contains(&script)
        });
    }
    controlled.wait_for("pipe/app", "Ready");
}

/// The four identities of the documentation, and every verb.
#[test]
fn roles_allow_what_the_documentation_says() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let namespace = &controlled.namespace.name;
    let roles = ["airside-ci-view", "airside-ci-operate", "airside-ci-edit"];
    controlled.kubectl(&["create", "serviceaccount", "stranger"]);
    for role in roles {
        controlled.kubectl(&["create", "serviceaccount", role]);
        let (role, account) = (
            format!("--clusterrole={role}"),
            format!("--serviceaccount={namespace}:{role}"),
        );
        controlled.kubectl(&[
            "create",
            "rolebinding",
            &account[17..].replace(':', "-"),
            &role,
            &account,
        ]);
    }
    // From the rank of the role on which may; 9: none of them.
    for (verb, resource, rank) in [
        ("get", "pipelines", 1),
        ("list", "pipelinejobs", 1),
        ("watch", "pipelinebuilds", 1),
        ("create", "pipelinebuilds", 2),
        ("patch", "pipelinebuilds", 2),
        ("patch", "pipelinejobs", 2),
        ("create", "pipelines", 3),
        ("patch", "pipelines", 3),
        ("update", "pipelines", 3),
        ("delete", "pipelines", 3),
        ("create", "pipelinejobs", 9),
        ("delete", "pipelinebuilds", 9),
        ("patch", "pipelines/status", 9),
        ("patch", "pipelinebuilds/status", 9),
        ("get", "secrets", 9),
        ("list", "pods", 9),
    ] {
        let accounts = ["stranger"].into_iter().chain(roles);
        for (held, account) in accounts.enumerate() {
            for (place, is_theirs) in [(namespace.as_str(), true), ("default", false)] {
                let may = may(&controlled, account, verb, resource, place);
                let expected = is_theirs && held >= rank;
                assert_eq!(may, expected, "{account}: {verb} {resource} in {place}");
            }
        }
    }
}

fn may(controlled: &Controlled, account: &str, verb: &str, resource: &str, place: &str) -> bool {
    let user = format!(
        "system:serviceaccount:{}:{account}",
        controlled.namespace.name
    );
    let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let resource = match resource {
        "secrets" | "pods" => resource.to_owned(),
        ours => format!("{ours}.ci.airside.dev"),
    };
    let sub = format!("--subresource={sub}");
    let asked = [
        "kubectl", "auth", "can-i", verb, &resource, "--as", &user, "-n", place, &sub,
    ];
    let asked = if sub.ends_with('=') {
        &asked[..9]
    } else {
        &asked[..]
    };
    // It exits with 1 for a no.
    controlled
        .namespace
        .cluster
        .try_ask(asked)
        .is_ok_and(|said| said.trim() == "yes")
}

#[test]
fn a_deleted_object_archives_and_an_applied_one_brings_back() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    let spec = json!({"config": config("true"), "paused": false});
    controlled.pipeline("app", &spec);
    controlled.wait_for("pipe/app", "Ready");
    controlled.kubectl(&["delete", "pipe", "app"]);
    let begun = Instant::now();
    // After a minute.
    wait_until("it is archived", || {
        listed(&fly, "app").unwrap()["archived"] == true
    });
    assert!(begun.elapsed().as_secs() >= 50, "{:?}", begun.elapsed());
    controlled.pipeline("app", &spec);
    controlled.wait_for("pipe/app", "Ready");
    assert_eq!(listed(&fly, "app").unwrap()["archived"], false);
}

/// There are no finalizers: a server that is stopped holds up no namespace.
#[test]
fn a_namespace_ends_without_the_server() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let mut server = controlled.server();
    for number in 0..5 {
        let name = format!("app-{number}");
        controlled.pipeline(&name, &json!({"config": config("true"), "paused": false}));
        controlled.wait_for(&format!("pipe/{name}"), "Ready");
    }
    server.stop();
    let name = controlled.namespace.name.clone();
    let delete = ["kubectl", "delete", "namespace", &name, "--timeout=30s"];
    let deleted = controlled.namespace.cluster.try_ask(&delete);
    assert!(deleted.is_ok(), "{deleted:?}");
}

/// Null values and keys that YAML 1.1 reads in another way, in the two forms.
#[test]
fn text_keeps_what_a_file_says_and_config_keeps_it_with_server_side_apply() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    let file = "jobs:\n- name: job\n  plan:\n  - task: t\n    file: x/y.yml\n    params: {A: , \"on\": word}\n  \
                - get: x\nresources: [{name: x, type: mock}]\n";
    fly.pipeline("by-fly", file);
    let shown = |name: &str| {
        let shown = fly
            .run(&["get-pipeline", "-p", name, "--json"])
            .succeeded()
            .stdout;
        serde_json::from_str::<Value>(&shown).unwrap()
    };
    let expected = shown("by-fly");
    assert!(
        expected.to_string().contains("\"on\":\"word\""),
        "{expected}"
    );
    for name in ["text", "config"] {
        let value = match name {
            "text" => json!(file),
            _ => expected.clone(),
        };
        for _ in 0..2 {
            controlled.pipeline(name, &json!({ name: value }));
            controlled.wait_for(&format!("pipe/{name}"), "Ready");
            assert_eq!(shown(name), expected, "{name}");
        }
    }
}

/// A person applies with kubectl's own client-side apply: what is there twice stays one pipeline.
#[test]
fn a_client_side_apply_sets_a_pipeline_twice() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    let file = tempfile::NamedTempFile::new().unwrap();
    for script in ["echo first", "echo second"] {
        let spec = json!({"config": config(script), "paused": false});
        fs::write(
            file.path(),
            object("Pipeline", &json!({"name": "app"}), &spec),
        )
        .unwrap();
        controlled.kubectl(&["apply", "-f", file.path().to_str().unwrap()]);
        wait_until("it is set", || {
            fly.run(&["get-pipeline", "-p", "app"])
                .stdout
                .contains(script)
        });
    }
}

/// Builds that objects ask for, while the server is killed again and again.
#[test]
fn created_builds_are_made_once_while_the_server_is_killed() {
    let Some(controlled) = Controlled::offered("    builds_kept: 1000\n") else {
        return;
    };
    let builds: usize = std::env::var("AIRSIDE_OBJECT_BUILDS").map_or(60, |number| {
        number.parse().expect("AIRSIDE_OBJECT_BUILDS is a number")
    });
    let mut server = controlled.server();
    controlled.pipeline("app", &json!({"config": config("true"), "paused": false}));
    controlled.wait_for("pipe/app", "Ready");
    for number in 0..builds {
        controlled.trigger("app", "job");
        if number % 10 == 9 {
            server.kill_9();
            server.restart();
        }
    }
    let fly = server.fly();
    wait_until("all builds are there and have ended", || {
        let ended = |build: &airside_scenarios::Build| {
            !["pending", "started"].contains(&build.status.as_str())
        };
        let all = fly.builds();
        all.len() >= builds && all.iter().all(ended)
    });
    assert_eq!(fly.builds().len(), builds, "none was made twice");
}
