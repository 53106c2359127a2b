//! The page of a resource.

use std::{collections::BTreeMap, time::Duration};

use airside_model::{MetadataField, Version};
use airside_ui::{
    CheckNote, Crumb, OpenedVersion, PageStatus, PageTime, PinNote, ResourcePage, RowTime,
    SendButton, VersionBuild, VersionJob, VersionRow,
};

use crate::{HOSTILE, button, snapshot};

const NOW: i64 = 1_795_121_089;

fn version(key: &str, value: &str) -> Version {
    Version(BTreeMap::from([(key.to_owned(), value.to_owned())]))
}

fn field(name: &str, value: &str) -> MetadataField {
    MetadataField {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

fn went(job: &str, status: PageStatus) -> VersionJob {
    VersionJob {
        job: job.to_owned(),
        status,
        href: format!("/teams/main/pipelines/web/jobs/{job}/builds/1"),
    }
}

fn toggle(text: &str) -> Option<SendButton> {
    let button = SendButton::small("PUT", "/api/v1/x".to_owned(), text, "");
    Some(button.class("box").state("aria-pressed", "true"))
}

fn resource() -> ResourcePage {
    let build = |name: &str, status, when: Option<i64>| VersionBuild {
        name: name.to_owned(),
        href: "/teams/main/pipelines/web/jobs/unit/builds/126".to_owned(),
        status,
        when: when.map(|age| PageTime::new(NOW - age, NOW)),
    };
    ResourcePage {
        crumbs: vec![
            Crumb::new("main", "/"),
            Crumb::new("web", "/teams/main/pipelines/web"),
            Crumb::new("repo", "/teams/main/pipelines/web/resources/repo"),
        ],
        id: 3,
        name: "repo".to_owned(),
        type_: "git".to_owned(),
        icon: "i-branch",
        check: CheckNote {
            status: Some(PageStatus::Succeeded),
            when: Some(PageTime::new(NOW - 12, NOW)),
            took: RowTime::Done(Duration::from_secs(1)),
            ..CheckNote::default()
        },
        jobs: vec!["lint".to_owned(), "unit".to_owned()],
        actions: vec![button("Check now")],
        pin: Some(PinNote {
            version: version("ref", "a1b2c3d"),
            in_config: false,
            comment: "until TestLogin is fixed".to_owned(),
            actions: vec![
                button("Comment").ask("pin_comment", "Why?".to_owned(), "old".to_owned()),
                button("Unpin"),
            ],
        }),
        rows: vec![
            VersionRow {
                id: 12,
                version: version("ref", "a1b2c3d"),
                enabled: true,
                is_pinned: true,
                metadata: vec![
                    field("author", "ana"),
                    field("message", "Keep the session cookie\n\non the root path"),
                    field("url", "https://example.com/a1b2c3d"),
                    field("bad", "javascript:alert(1)"),
                ],
                went: vec![
                    went("lint", PageStatus::Succeeded),
                    went("unit", PageStatus::Failed),
                ],
                enable: toggle("Enabled"),
                pin: toggle("Unpin"),
                toggle: "/teams/main/pipelines/web/resources/repo#v12".to_owned(),
                opened: Some(OpenedVersion {
                    inputs_to: vec![
                        build("lint #341", PageStatus::Succeeded, Some(180)),
                        build("unit #127", PageStatus::Pending, None),
                    ],
                    outputs_of: Vec::new(),
                    downstream: "/teams/main/pipelines/web/resources/repo/causality/12/downstream"
                        .to_owned(),
                    upstream: "/teams/main/pipelines/web/resources/repo/causality/12/upstream"
                        .to_owned(),
                }),
            },
            VersionRow {
                id: 11,
                version: version("ref", "9f04e1c"),
                metadata: vec![field("size", "3"), field("kind", "big")],
                went: (0..10)
                    .map(|n| went(&format!("j{n}"), PageStatus::Succeeded))
                    .collect(),
                toggle: "/teams/main/pipelines/web/resources/repo?open=11,12#v11".to_owned(),
                ..VersionRow::default()
            },
        ],
        newer: None,
        older: Some("/teams/main/pipelines/web/resources/repo?to=10".to_owned()),
        facts: vec![("Type", "git".to_owned()), ("Tags", "none".to_owned())],
        ..ResourcePage::default()
    }
}

#[test]
fn a_resource_shows_its_check_and_versions() {
    let page = resource().page();
    assert_eq!(page.topics, ["resource:3"]);
    snapshot("resource", &page);
}

#[test]
fn an_opened_version_is_a_part_of_its_own() {
    let part = airside_ui::fragments(&resource().page().body, "v11,v12");
    assert!(
        part.starts_with("<div class=\"version is-pinned is-open\" id=\"v12\""),
        "{part}"
    );
    assert!(
        part.contains("Used as input by") && part.ends_with("</div>"),
        "{part}"
    );
}

#[test]
fn a_failing_check_shows_its_output_and_a_configured_pin_is_read_only() {
    let mut page = resource();
    page.check = CheckNote {
        status: Some(PageStatus::Errored),
        when: Some(PageTime::new(NOW - 60, NOW)),
        took: RowTime::Done(Duration::from_secs(2)),
        href: Some("/builds/9".to_owned()),
        lines: vec![
            ("fetching".to_owned(), false),
            ("401 <b>unauthorized</b>".to_owned(), true),
        ],
    };
    page.pin = Some(PinNote {
        version: version("ref", "a1b2c3d"),
        in_config: true,
        ..PinNote::default()
    });
    page.rows.clear();
    page.older = None;
    page.filter = "ref:none".to_owned();
    page.kept = vec![("vars.env".to_owned(), "\"prod\"".to_owned())];
    snapshot("resource_failing", &page.page());
}

#[test]
fn a_resource_that_was_never_checked_says_so() {
    let page = ResourcePage {
        crumbs: resource().crumbs,
        name: "repo".to_owned(),
        type_: "git".to_owned(),
        icon: "i-branch",
        ..ResourcePage::default()
    };
    snapshot("resource_new", &page.page());
}

#[test]
fn hostile_names_stay_text_on_a_resource() {
    let mut page = resource();
    page.name = HOSTILE.to_owned();
    page.type_ = HOSTILE.to_owned();
    page.filter = HOSTILE.to_owned();
    page.jobs = vec![HOSTILE.to_owned()];
    page.rows[0].version = version(HOSTILE, HOSTILE);
    page.rows[0].metadata = vec![
        field(HOSTILE, HOSTILE),
        field("url", "https://x.y/\"><script>"),
    ];
    page.rows[0].went = vec![went(HOSTILE, PageStatus::Failed)];
    page.check.lines = vec![(HOSTILE.to_owned(), true)];
    if let Some(pin) = &mut page.pin {
        pin.comment = HOSTILE.to_owned();
        pin.actions =
            vec![button("Comment").ask("pin_comment", HOSTILE.to_owned(), HOSTILE.to_owned())];
    }
    let body = page.page().body;
    assert!(
        !body.contains("<script") && body.contains("&#60;script"),
        "{body}"
    );
}
