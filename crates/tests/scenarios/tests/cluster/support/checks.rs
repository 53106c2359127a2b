//! Resources that are checked in pods, of two teams, and how many pods that took.

use std::collections::BTreeMap;

use airside_scenarios::Fly;
use serde_json::Value;

use super::{Namespace, WORKER, cluster, outage::wait_long};

/// One that everybody is in, and another.
pub(crate) const TEAMS: [&str; 2] = ["main", "other"];

/// Resources of both native types that need nothing, each checked by itself, all in pods.
pub(crate) fn many(count: usize) -> String {
    let mut resources = String::from("resources:\n");
    let mut gets = String::from("jobs:\n- name: j\n  plan:\n");
    for number in 0..count {
        let kind = match number % 5 {
            0 => "type: time, source: {interval: 24h}".to_owned(),
            _ => format!("type: mock, source: {{initial_version: v{number}}}"),
        };
        resources += &format!("- {{name: r{number}, {kind}, tags: [{WORKER}]}}\n");
        gets += &format!("  - {{get: r{number}, trigger: true}}\n");
    }
    // Nothing is to be built: only checks run.
    format!(
        "{resources}- {{name: never, type: mock, source: {{no_initial_version: true}}, tags: [{WORKER}]}}\n{gets}  - {{get: never, trigger: true}}\n"
    )
}

/// Makes the other team, and gives both the pipeline.
pub(crate) fn set(fly: &Fly, pipeline: &str) {
    let user = ["--local-user", "test", "--non-interactive"];
    fly.run(&[&["set-team", "-n", "other"][..], &user].concat())
        .succeeded();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pipeline.yml");
    std::fs::write(&file, pipeline).unwrap();
    for team in TEAMS {
        let own = ["--team", team, "-p", "p"];
        let set = ["set-pipeline", "-n", "-c", file.to_str().unwrap()];
        fly.run(&[&set[..], &own].concat()).succeeded();
        fly.run(&[&["unpause-pipeline"][..], &own].concat())
            .succeeded();
    }
}

/// Times of last checks, by team and name.
pub(crate) type LastChecked = BTreeMap<(String, String), Option<i64>>;

/// Returns the time at which each resource was last checked.
pub(crate) fn last_checked(fly: &Fly) -> LastChecked {
    let mut all = BTreeMap::new();
    for team in TEAMS {
        let path = format!("/api/v1/teams/{team}/pipelines/p/resources");
        let listed = fly.run(&["curl", &path]).succeeded();
        let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
        for resource in listed {
            let name = resource["name"].as_str().unwrap().to_owned();
            all.insert((team.to_owned(), name), resource["last_checked"].as_i64());
        }
    }
    all
}

/// Waits until every resource but the named ones was checked, after `since` if that says when it
/// was checked before.
#[track_caller]
pub(crate) fn wait_for_checks(fly: &Fly, but: &[&str], since: Option<&LastChecked>) {
    let unchecked = || {
        let now = last_checked(fly);
        let others = now
            .iter()
            .filter(|((_, name), _)| !but.contains(&name.as_str()));
        let is_unchecked = |(resource, at): &(&(String, String), &Option<i64>)| match since {
            None => at.is_none(),
            Some(since) => **at <= since[*resource],
        };
        others.filter(is_unchecked).count()
    };
    // As long as there are fewer and fewer, a busy machine may take its time; asking all the time
    // would make it busier.
    let mut left = usize::MAX;
    while left > 0 {
        let before = left;
        wait_long("more resources are checked", || {
            left = unchecked();
            left < before
        });
    }
}

/// Returns the number of pods that were ever created in a namespace, by the API server's audit.
pub(crate) fn pods_created(namespace: &Namespace) -> usize {
    let entries = cluster(&["audit"]);
    let mut names = std::collections::BTreeSet::new();
    for line in entries.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let (object, code) = (&entry["objectRef"], &entry["responseStatus"]["code"]);
        let uri = entry["requestURI"].as_str().unwrap_or_default();
        if entry["verb"] == "create"
            // Preflight asks what would become of a pod.
            && !uri.contains("dryRun=")
            && object["namespace"] == namespace.name.as_str()
            && object["resource"] == "pods"
            && object["subresource"].is_null()
            && code.as_i64().is_some_and(|code| code < 300)
        {
            let name = object["name"].as_str().unwrap_or_default();
            // Preflight looks at a node, once.
            if !name.starts_with("airside-probe-") {
                names.insert(name.to_owned());
            }
        }
    }
    names.len()
}

/// Ends the checks, and removes what was kept for them without waiting until it is idle.
pub(crate) fn end(fly: &Fly, namespace: &Namespace) {
    for team in TEAMS {
        fly.run(&["destroy-pipeline", "-n", "--team", team, "-p", "p"])
            .succeeded();
    }
    namespace.wait_until_no_pods();
}
