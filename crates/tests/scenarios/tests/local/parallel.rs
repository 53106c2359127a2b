//! Steps side by side.

use airside_scenarios::{
    Counter, Server,
    pipelines::{in_parallel, job, task},
};

#[test]
fn no_more_than_the_limit_run_at_once() {
    let server = Server::start();
    let fly = server.fly();
    let counter = Counter::start();
    let script = format!("{}\n{}", counter.bump("in"), counter.bump("out"));
    let steps: Vec<String> = (1..=5)
        .map(|i| task(&format!("t{i}"), "", &script))
        .collect();
    fly.pipeline("p", &job(&[in_parallel("limit: 2", &steps)]));
    counter.hold("in");
    let build = fly.trigger("p/job");
    counter.wait("in", 2);
    counter.release("in");
    fly.watch(build.id).succeeded();

    let arrivals = counter.arrivals();
    assert_eq!(arrivals.len(), 10, "{arrivals:?}");
    let running = arrivals.iter().scan(0, |inside, name| {
        *inside += if name == "in" { 1 } else { -1 };
        Some(*inside)
    });
    assert_eq!(running.max(), Some(2), "{arrivals:?}");
}

#[test]
fn fail_fast_stops_the_siblings_and_what_has_not_begun() {
    let server = Server::start();
    let fly = server.fly();
    let counter = Counter::start();
    let steps = [
        task("fails", "", &format!("{}\nexit 1", counter.bump("fails"))),
        task("long", "", &counter.bump("long")),
        task("never", "", &counter.bump("never")),
    ];
    let plan = [
        in_parallel("limit: 2\nfail_fast: true", &steps),
        task("after", "", &counter.bump("after")),
    ];
    fly.pipeline("p", &job(&plan));
    counter.hold("long");
    counter.hold("fails");
    let build = fly.trigger("p/job");
    counter.wait("long", 1);
    counter.wait("fails", 1);
    counter.release("fails");
    let output = fly.watch(build.id);
    assert_eq!(output.lines().last().unwrap(), "failed");
    assert_eq!(fly.status(build.id), "failed");
    assert!(output.stdout.contains("interrupted"), "{output:?}");
    assert_eq!((counter.count("never"), counter.count("after")), (0, 0));
}

#[test]
fn without_fail_fast_all_come_to_their_end() {
    let server = Server::start();
    let fly = server.fly();
    let counter = Counter::start();
    let steps = [
        task("fails", "", "exit 1"),
        task("one", "", &counter.bump("one")),
        task("two", "", &counter.bump("two")),
    ];
    let plan = [
        in_parallel("limit: 1", &steps),
        task("after", "", &counter.bump("after")),
    ];
    fly.pipeline("p", &job(&plan));
    let output = fly.trigger_and_watch("p/job").ended_with(1);
    assert_eq!(output.lines().last().unwrap(), "failed");
    assert_eq!(counter.arrivals(), ["one", "two"]);
}
