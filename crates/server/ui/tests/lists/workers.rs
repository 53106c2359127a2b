//! The page of workers.

use airside_ui::{
    PageStatus, PageTime, SendButton, WorkerPlace, WorkerRow, WorkerStep, WorkersPage,
};

use crate::{HOSTILE, snapshot};

const NOW: i64 = 1_795_121_089;

fn worker(name: &str) -> WorkerRow {
    WorkerRow {
        name: name.to_owned(),
        kind: WorkerPlace::Cluster,
        state: "running",
        status: PageStatus::Succeeded,
        team: None,
        platform: "linux".to_owned(),
        tags: Vec::new(),
        steps: 1,
        containers: 31,
        since: PageTime::new(NOW - 7200, NOW),
        lacks: Vec::new(),
        actions: Vec::new(),
    }
}

fn page() -> WorkersPage {
    WorkersPage {
        workers: vec![
            worker("ci-pods"),
            WorkerRow {
                state: "lacks something",
                status: PageStatus::Errored,
                team: Some("ml".to_owned()),
                tags: vec!["gpu".to_owned()],
                lacks: vec!["may not create pods in ci-gpu".to_owned()],
                actions: vec![SendButton::small(
                    "PUT",
                    "/api/v1/workers/gpu/land".to_owned(),
                    "Land",
                    "i-arrow-down",
                )],
                ..worker("ci-pods-gpu")
            },
            WorkerRow {
                kind: WorkerPlace::ThisMachine,
                ..worker("this-machine")
            },
        ],
        steps: vec![WorkerStep {
            key: "h1".to_owned(),
            build: "web/integration #212".to_owned(),
            href: "/builds/1".to_owned(),
            step: "task integration".to_owned(),
            worker: "ci-pods".to_owned(),
            team: "main".to_owned(),
            is_starting: false,
        }],
        more_steps: 3,
    }
}

#[test]
fn workers_say_what_they_lack() {
    assert_eq!(page().page().topics, ["workers"]);
    snapshot("workers", &page().page());
}

#[test]
fn no_workers_say_why_nothing_runs() {
    snapshot("workers_none", &WorkersPage::default().page());
}

#[test]
fn hostile_names_stay_text_on_workers() {
    let mut page = page();
    page.workers[0] = WorkerRow {
        name: HOSTILE.to_owned(),
        team: Some(HOSTILE.to_owned()),
        platform: HOSTILE.to_owned(),
        tags: vec![HOSTILE.to_owned()],
        lacks: vec![HOSTILE.to_owned()],
        ..worker("w")
    };
    page.steps[0].build = HOSTILE.to_owned();
    page.steps[0].step = HOSTILE.to_owned();
    let body = page.page().body;
    assert!(
        !body.contains("<script") && body.contains("&#60;script"),
        "{body}"
    );
}
