//! The page of all builds.

use std::{collections::BTreeMap, time::Duration};

use airside_model::Version;
use airside_ui::{BuildsPage, ListedBuild, NewVersion, PageStatus, PageTime, RowTime, SendButton};

use crate::{HOSTILE, snapshot};

const NOW: i64 = 1_795_121_089;

fn build(id: i64, name: &str, status: PageStatus) -> ListedBuild {
    ListedBuild {
        id,
        name: name.to_owned(),
        vars: None,
        href: format!("/builds/{id}"),
        team: "main".to_owned(),
        status,
        by: Some("ana".to_owned()),
        rerun_of: None,
        news: Vec::new(),
        reason: None,
        took: RowTime::Done(Duration::from_secs(65)),
        when: Some(PageTime::new(NOW - 60, NOW)),
        action: Some(SendButton::small(
            "PUT",
            "/api/v1/x".to_owned(),
            "Abort",
            "i-x",
        )),
    }
}

fn page() -> BuildsPage {
    BuildsPage {
        statuses: vec![
            (
                PageStatus::Started,
                "/airside/builds?status=started".to_owned(),
                false,
            ),
            (PageStatus::Pending, "/airside/builds".to_owned(), true),
        ],
        teams: vec!["main".to_owned(), "mobile".to_owned()],
        team: "mobile".to_owned(),
        waiting: vec![ListedBuild {
            reason: Some("repo: no version has passed lint".to_owned()),
            took: RowTime::between(Some(NOW - 250), None, NOW),
            ..build(3, "web/unit #127", PageStatus::Pending)
        }],
        running: vec![ListedBuild {
            vars: Some("env: prod".to_owned()),
            ..build(2, "deploy/prod #32", PageStatus::Started)
        }],
        finished: vec![ListedBuild {
            by: None,
            rerun_of: Some("60".to_owned()),
            news: vec![NewVersion {
                resource: "repo".to_owned(),
                icon: "i-branch",
                version: Version(BTreeMap::from([("ref".to_owned(), "a1b2c3d".to_owned())])),
            }],
            ..build(1, "web/unit #126", PageStatus::Failed)
        }],
        older: Some("/airside/builds?to=1".to_owned()),
        ..BuildsPage::default()
    }
}

#[test]
fn builds_wait_run_and_have_finished() {
    assert_eq!(page().page().topics, ["builds"]);
    snapshot("builds", &page().page());
}

#[test]
fn no_builds_are_told_apart_from_none_that_match() {
    let none = BuildsPage::default();
    assert!(none.page().body.contains("No builds yet."));
    let filtered = BuildsPage {
        is_filtered: true,
        ..BuildsPage::default()
    };
    snapshot("builds_none", &filtered.page());
}

#[test]
fn hostile_names_stay_text_on_builds() {
    let mut page = page();
    page.team = HOSTILE.to_owned();
    page.teams.push(HOSTILE.to_owned());
    page.pipeline = HOSTILE.to_owned();
    page.waiting[0].reason = Some(HOSTILE.to_owned());
    page.waiting[0].name = HOSTILE.to_owned();
    page.running[0].vars = Some(HOSTILE.to_owned());
    page.running[0].by = Some(HOSTILE.to_owned());
    page.running[0].team = HOSTILE.to_owned();
    let body = page.page().body;
    assert!(
        !body.contains("<script") && body.contains("&#60;script"),
        "{body}"
    );
}
