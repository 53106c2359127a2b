//! The page of a pipeline: its graph, its outline, and names that try to be more than names.

use airside_ui::{
    Crumb, GroupTab, PageStatus, PauseNote, PipelineInput, PipelineJob, PipelinePage,
    PipelineResource, RowTime, Shell,
};

fn job(id: i64, name: &str, inputs: &[(&str, &[&str], bool)], outputs: &[&str]) -> PipelineJob {
    PipelineJob {
        id,
        name: name.to_owned(),
        href: format!("/teams/main/pipelines/web/jobs/{id}/builds/1"),
        job_href: format!("/teams/main/pipelines/web/jobs/{id}"),
        status: PageStatus::Succeeded,
        running: None,
        build: Some("1".to_owned()),
        took: RowTime::Done(std::time::Duration::from_secs(61)),
        inputs: inputs
            .iter()
            .map(|(resource, passed, trigger)| PipelineInput {
                resource: (*resource).to_owned(),
                passed: passed.iter().map(|it| (*it).to_owned()).collect(),
                trigger: *trigger,
            })
            .collect(),
        outputs: outputs.iter().map(|it| (*it).to_owned()).collect(),
    }
}

fn resource(name: &str) -> PipelineResource {
    PipelineResource {
        name: name.to_owned(),
        href: "/teams/main/pipelines/web/resources/r".to_owned(),
        icon: "i-branch",
        is_pinned: false,
        is_failing: false,
    }
}

fn page() -> PipelinePage {
    PipelinePage {
        crumbs: vec![
            Crumb::new("main", "/"),
            Crumb::new("web", "/teams/main/pipelines/web"),
        ],
        id: 3,
        team: "main".to_owned(),
        name: "web".to_owned(),
        views: ("?".to_owned(), "?view=outline".to_owned()),
        jobs: vec![
            job(1, "unit", &[("repo", &[], true)], &[]),
            PipelineJob {
                status: PageStatus::Failed,
                ..job(2, "lint", &[("repo", &[], false)], &[])
            },
            PipelineJob {
                running: Some(PageStatus::Started),
                ..job(3, "image", &[("repo", &["unit", "lint"], true)], &["image"])
            },
        ],
        resources: vec![
            PipelineResource {
                is_pinned: true,
                ..resource("repo")
            },
            PipelineResource {
                is_failing: true,
                ..resource("image")
            },
        ],
        ..PipelinePage::default()
    }
}

#[test]
fn a_pipeline_is_a_graph_and_an_outline() {
    insta::assert_snapshot!(page().page().body);
}

#[test]
fn groups_and_pauses_are_in_the_head() {
    let group = |name: &str, is_shown| GroupTab {
        name: name.to_owned(),
        href: format!("?group={name}"),
        toggle: "?".to_owned(),
        is_shown,
    };
    let page = PipelinePage {
        pause: Some(PauseNote {
            by: Some("ana".to_owned()),
            since: None,
        }),
        groups: vec![group("All", false), group("build", true)],
        ..page()
    };
    let body = page.page().body;
    assert!(body.contains("paused by ana"), "{body}");
    let shown = "<a href=\"?group=build\" data-toggle=\"?\" aria-current=\"true\">build</a>";
    assert!(body.contains(shown), "{body}");
}

#[test]
fn hostile_names_stay_text_in_the_graph() {
    let name = "\"><script>alert(1)</script>";
    let page = PipelinePage {
        name: name.to_owned(),
        jobs: vec![job(1, name, &[(name, &[], true)], &[name])],
        resources: vec![resource(name)],
        ..page()
    };
    let whole = page.page().render(&Shell::default());
    assert!(!whole.contains("<script>alert"), "{whole}");
}

#[test]
fn a_pipeline_without_jobs_says_so() {
    let page = PipelinePage {
        jobs: Vec::new(),
        ..page()
    };
    assert!(page.page().body.contains("No jobs"));
}
