//! The choice among the ways a check runs, by its type and its worker.

use airside_check_process::Checkers;
use airside_checks::{CheckWay, CheckWays, WorkerCheckers};
use airside_model::{WorkerName, plan::CheckPlan};

use crate::{
    on_large_stacks,
    server::{Server, Site},
};

fn name(way: &CheckWay) -> &'static str {
    match way {
        CheckWay::Process(_) => "process",
        CheckWay::Guest(_) => "guest",
        CheckWay::Container => "container",
    }
}

/// The ways of a server whose own machine is this worker.
fn ways(server: &Server, own: &str) -> CheckWays {
    let own = WorkerCheckers {
        worker: WorkerName::new(own),
        checkers: Checkers::new(airside_check_process::Options::new(Vec::new())),
    };
    CheckWays::new(server.orchestrator.clone(), Some(own))
}

#[test]
fn due_checks_run_where_their_worker_is_and_other_types_as_builds() {
    on_large_stacks(async {
        let site = Site::new();
        let server = site.start().await;
        for (own, is_native, expected) in [
            ("scripted", true, "process"),
            ("other", true, "guest"),
            ("scripted", false, "container"),
            ("other", false, "container"),
        ] {
            let way = ways(&server, own).for_due("main", &[], is_native);
            assert_eq!(way.as_ref().map(name), Some(expected), "{own} {is_native}");
            let needs_build = way.unwrap().runner().is_none();
            assert_eq!(needs_build, expected == "container");
        }
        // No worker has this tag: the build says so.
        let tagged = ways(&server, "scripted").for_due("main", &["gpu".to_owned()], true);
        assert_eq!(tagged.as_ref().map(name), Some("container"));
    });
}

#[test]
fn versions_of_images_are_looked_up_from_this_machine_and_other_checks_on_their_worker() {
    on_large_stacks(async {
        let site = Site::new();
        let server = site.start().await;
        let check = |type_: &str, resource: &str| CheckPlan {
            type_: type_.to_owned(),
            resource: resource.to_owned(),
            ..CheckPlan::default()
        };
        for (own, plan, expected) in [
            ("other", check("registry-image", ""), "process"),
            ("other", check("registry-image", "r"), "guest"),
            ("scripted", check("git", "r"), "process"),
            ("other", check("git", "r"), "guest"),
            ("scripted", check("custom", "r"), "container"),
        ] {
            let worker = async { Ok::<_, ()>(Some(WorkerName::new("scripted"))) };
            let way = ways(&server, own).for_step("main", &plan, worker).await;
            let shown = format!("{own} {} {}", plan.type_, plan.resource);
            assert_eq!(name(&way.unwrap()), expected, "{shown}");
        }
    });
}
