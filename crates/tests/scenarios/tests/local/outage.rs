//! The database is away for longer than any request waits, and comes back under the same server.

use airside_scenarios::{
    Counter, OwnPostgres, ServerOptions,
    pipelines::{job, task},
    wait_until,
};

/// Text of the server's log each time a build gives up waiting and is to be taken up again.
const TAKEN_UP: &str = "build stands still";

#[test]
fn builds_go_on_when_the_database_is_back() {
    let (postgres, counter) = (OwnPostgres::start(), Counter::start());
    let server = postgres.server(ServerOptions::new());
    let fly = server.fly();
    let names = ["first", "second", "third"];
    let steps = names.map(|name| {
        task(
            name,
            "",
            &format!("{}\necho said {name}", counter.bump(name)),
        )
    });
    fly.pipeline("p", &job(&steps));
    fly.trigger_and_watch("p/job").succeeded();
    let expected = fly.watch(1).succeeded().stdout;

    counter.hold("second");
    let build = fly.trigger("p/job");
    counter.wait("second", 2);
    postgres.stop();
    // The step ends while its outcome cannot be written down.
    counter.release("second");
    wait_until("the build gave up waiting", || {
        server.log().contains(TAKEN_UP)
    });
    postgres.resume();
    let output = fly.watch(build.id).succeeded();
    assert_eq!(output.stdout, expected);
    for name in names {
        assert_eq!(counter.count(name), 2, "{name}");
    }
}

/// The step outlasts the outage: its driver gives up, and the next one finds it still running.
#[test]
fn a_step_that_runs_all_the_while_is_followed_again() {
    let (postgres, counter) = (OwnPostgres::start(), Counter::start());
    let server = postgres.server(ServerOptions::new());
    let fly = server.fly();
    let side = |name: &str| task(name, "", &counter.bump(name));
    let plan = airside_scenarios::pipelines::in_parallel("", &[side("short"), side("long")]);
    fly.pipeline("p", &job(&[plan, side("after")]));
    counter.hold("short");
    counter.hold("long");
    let build = fly.trigger("p/job");
    counter.wait("short", 1);
    counter.wait("long", 1);
    postgres.stop();
    // Its outcome cannot be written, which stops the driver of both.
    counter.release("short");
    wait_until("the build gave up waiting", || {
        server.log().contains(TAKEN_UP)
    });
    postgres.resume();
    counter.release("long");
    fly.watch(build.id).succeeded();
    let counts = ["short", "long", "after"].map(|name| counter.count(name));
    assert_eq!(counts, [1, 1, 1]);
}
