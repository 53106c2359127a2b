//! Hooks run in their order, by how their step ended.

use airside_model::BuildStatus;
use airside_protocol::Exit;

use crate::{
    on_large_stacks,
    plans::{hooked, plan, task, with_all_hooks},
    server::Site,
};

const HOOKS: [&str; 5] = ["on_success", "on_failure", "on_error", "on_abort", "ensure"];

fn site() -> Site {
    let site = Site::new();
    for hook in HOOKS {
        site.machine.exit(hook, Exit::Code(0));
    }
    site
}

#[test]
fn hooks_run_by_how_the_step_ended_and_ensure_comes_last() {
    on_large_stacks(async {
        for (exit, hook, expected) in [
            (Exit::Code(0), "on_success", BuildStatus::Succeeded),
            (Exit::Code(1), "on_failure", BuildStatus::Failed),
            (
                Exit::Broken("no disk".to_owned()),
                "on_error",
                BuildStatus::Errored,
            ),
            (
                Exit::NotFound("no such file".to_owned()),
                "on_error",
                BuildStatus::Errored,
            ),
        ] {
            let site = site();
            let server = site.start().await;
            site.machine.exit("step", exit.clone());
            let build = server.run(&plan(with_all_hooks(task("step")))).await;
            let (status, log) = server.ended(build).await;
            assert_eq!(status, expected, "{exit:?} {log}");
            assert_eq!(site.machine.began(), ["step", hook, "ensure"], "{exit:?}");
        }
    });
}

#[test]
fn an_abort_stops_the_step_and_runs_its_hooks() {
    on_large_stacks(async {
        let site = site();
        let server = site.start().await;
        let build = server.run(&plan(with_all_hooks(task("step")))).await;
        site.machine.wait("claimed step").await;
        server.engine.abort(build).await.unwrap();
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Aborted, "{log}");
        assert_eq!(site.machine.stopped(), ["step"]);
        assert_eq!(site.machine.began(), ["step", "on_abort", "ensure"]);
    });
}

#[test]
fn an_abort_before_the_step_began_runs_nothing_but_the_hooks() {
    on_large_stacks(async {
        let site = site();
        let server = site.start().await;
        site.machine.allow_claim("step", false);
        let build = server.run(&plan(hooked("ensure", task("step")))).await;
        site.machine.wait("placed step").await;
        server.engine.abort(build).await.unwrap();
        let (status, log) = server.ended(build).await;
        assert_eq!(status, BuildStatus::Aborted, "{log}");
        assert_eq!(site.machine.began(), ["ensure"]);
    });
}

#[test]
fn a_hook_that_fails_changes_the_end_as_its_kind_says() {
    on_large_stacks(async {
        for (hook, exit, expected) in [
            ("on_success", Exit::Code(0), BuildStatus::Failed),
            ("ensure", Exit::Code(0), BuildStatus::Failed),
            ("on_failure", Exit::Code(1), BuildStatus::Failed),
        ] {
            let site = Site::new();
            let server = site.start().await;
            site.machine.exit("step", exit);
            site.machine.exit(hook, Exit::Code(1));
            let build = server.run(&plan(hooked(hook, task("step")))).await;
            let (status, log) = server.ended(build).await;
            assert_eq!(status, expected, "{hook} {log}");
            assert_eq!(site.machine.began(), ["step", hook]);
        }
    });
}
