//! The page of a job.

use std::{collections::BTreeMap, time::Duration};

use airside_model::Version;
use airside_ui::{
    CacheRow, Crumb, JobBuildRow, JobLast, JobNext, JobNumbers, JobPage, NewVersion, NextInputRow,
    PageStatus, PageTime, PauseNote, RowTime,
};

use crate::{HOSTILE, button, snapshot};

const NOW: i64 = 1_795_121_089;

fn version(key: &str, value: &str) -> Version {
    Version(BTreeMap::from([(key.to_owned(), value.to_owned())]))
}

fn row(name: &str, status: PageStatus, took: RowTime) -> JobBuildRow {
    JobBuildRow {
        name: name.to_owned(),
        href: format!("/teams/main/pipelines/web/jobs/unit/builds/{name}"),
        status,
        news: Vec::new(),
        by: None,
        rerun_of: None,
        started: Some(PageTime::new(NOW - 700, NOW)),
        waits: RowTime::None,
        took,
        comment: String::new(),
    }
}

fn minutes(minutes: u64) -> RowTime {
    RowTime::Done(Duration::from_secs(minutes * 60))
}

fn job() -> JobPage {
    let news = |resource: &str, version| NewVersion {
        resource: resource.to_owned(),
        icon: "i-branch",
        version,
    };
    JobPage {
        crumbs: vec![
            Crumb::new("main", "/"),
            Crumb::new("web", "/teams/main/pipelines/web"),
            Crumb::new("unit", "/teams/main/pipelines/web/jobs/unit"),
        ],
        id: 7,
        name: "unit".to_owned(),
        groups: vec!["build".to_owned(), "test".to_owned()],
        last: Some(JobLast {
            status: PageStatus::Failed,
            since: "126".to_owned(),
            when: Some(PageTime::new(NOW - 720, NOW)),
        }),
        next: Some(JobNext {
            status: PageStatus::Pending,
            name: "127".to_owned(),
            href: "/teams/main/pipelines/web/jobs/unit/builds/127".to_owned(),
        }),
        actions: vec![
            button("Pause"),
            button("Trigger").class("btn btn-primary").goto("latest"),
        ],
        numbers: JobNumbers {
            count: 50,
            median: Some(Duration::from_secs(160)),
            high: Some(Duration::from_secs(192)),
            median_wait: Some(Duration::from_secs(3)),
            succeeded: 44,
        },
        rows: vec![
            JobBuildRow {
                started: None,
                waits: RowTime::between(Some(NOW - 250), None, NOW),
                by: Some("ana".to_owned()),
                ..row("127", PageStatus::Pending, RowTime::None)
            },
            JobBuildRow {
                news: vec![
                    news(
                        "repo",
                        version("ref", "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334"),
                    ),
                    news("tag", version("number", "1.22")),
                    news("other", version("n", "3")),
                ],
                comment: "Flaky? See #118".to_owned(),
                ..row("126", PageStatus::Failed, minutes(3))
            },
            JobBuildRow {
                rerun_of: Some("125".to_owned()),
                ..row("125.1", PageStatus::Succeeded, minutes(2))
            },
        ],
        newer: None,
        older: Some("/teams/main/pipelines/web/jobs/unit?to=12".to_owned()),
        compare: "/teams/main/pipelines/web/jobs/unit/builds".to_owned(),
        inputs: Some(vec![
            NextInputRow {
                name: "repo".to_owned(),
                href: "/teams/main/pipelines/web/resources/repo".to_owned(),
                icon: "i-branch",
                chosen: Ok(version("ref", "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334")),
                passed: vec!["lint".to_owned()],
            },
            NextInputRow {
                name: "node-image".to_owned(),
                href: "/teams/main/pipelines/web/resources/node-image".to_owned(),
                icon: "i-image",
                chosen: Err("no version has passed publish".to_owned()),
                passed: vec!["publish".to_owned()],
            },
        ]),
        waiting: Some(("127".to_owned(), "/builds/9".to_owned())),
        outputs: vec![(
            "status".to_owned(),
            "/teams/main/pipelines/web/resources/status".to_owned(),
        )],
        caches: vec![CacheRow {
            step: "test".to_owned(),
            path: "go/pkg".to_owned(),
            clear: Some(button("Clear")),
        }],
        ..JobPage::default()
    }
}

#[test]
fn a_job_shows_its_builds_and_what_is_next() {
    let page = job().page();
    assert_eq!(page.title, "unit · web");
    assert_eq!(page.topics, ["job:7"]);
    snapshot("job", &page);
}

#[test]
fn a_job_without_builds_says_so() {
    let page = JobPage {
        crumbs: job().crumbs,
        id: 7,
        name: "unit".to_owned(),
        pause: Some(PauseNote {
            by: Some("ana".to_owned()),
            since: Some(PageTime::new(NOW - 7200, NOW)),
        }),
        blocked: Some("The pipeline is paused, so no build of this job starts.".to_owned()),
        inputs: Some(Vec::new()),
        ..JobPage::default()
    };
    snapshot("job_empty", &page.page());
}

#[test]
fn hostile_names_stay_text_on_a_job() {
    let mut page = job();
    page.name = HOSTILE.to_owned();
    page.groups = vec![HOSTILE.to_owned()];
    page.rows[1].comment = HOSTILE.to_owned();
    page.rows[1].by = Some(HOSTILE.to_owned());
    page.rows[1].news[0].resource = HOSTILE.to_owned();
    page.rows[1].news[0].version = version(HOSTILE, HOSTILE);
    page.caches[0].path = HOSTILE.to_owned();
    page.actions = vec![
        button("Pause")
            .refused(HOSTILE.to_owned())
            .confirm(HOSTILE.to_owned()),
    ];
    page.blocked = Some(HOSTILE.to_owned());
    let body = page.page().body;
    assert!(
        !body.contains("<script") && body.contains("&#60;script"),
        "{body}"
    );
}
