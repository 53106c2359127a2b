//! The server goes away in the middle of something and comes back: the build ends as if nothing had
//! happened, each step ran once, and the printed log is the same to the byte.

use airside_scenarios::{
    Build, Counter, Fifo, Fly, OwnPostgres, Server, ServerOptions, assert_same_text,
    pipelines::{job, task},
};

const SOURCE: &str = "\
- {name: src, type: mock, source: {force_version: v1, create_files: {gate: x, text: \"hello\\n\", n: __anew__}}}
";
const TARGET: &str = "\
- {name: out, type: mock, source: {initial_version: v0, create_files: {n: __anew__}, log: about to push}}
";

struct Scene {
    server: Server,
    fly: Fly,
    counter: Counter,
    pipeline: String,
}

impl Scene {
    /// A server with a pipeline of one job, whose steps count under `begin`, `middle` and `end`.
    fn new() -> Self {
        let server = Server::start();
        let (fly, counter) = (server.fly(), Counter::start());
        let [begin, middle, end] = ["begin", "middle", "end"].map(|name| counter.bump(name));
        let numbers = "for i in $(seq 300); do echo \"line $i äöü\"; done";
        let outputs = "outputs: [{name: made}]\ninputs: [{name: src}]";
        let plan = [
            "  - get: src\n".to_owned(),
            task(
                "one",
                outputs,
                &format!("cat src/text\necho v2 > made/version\n{begin}"),
            ),
            task(
                "two",
                "",
                &format!("{numbers}\n{middle}\n{numbers}\necho -n no newline\n{end}"),
            ),
            "  - put: out\n    params: {file: made/version}\n".to_owned(),
        ];
        let pipeline = format!("resources:\n{SOURCE}{TARGET}{}", job(&plan));
        fly.pipeline_anew("p", &pipeline);
        Self {
            server,
            fly,
            counter,
            pipeline,
        }
    }

    /// Returns the output of an undisturbed build.
    fn undisturbed(&self) -> String {
        let build = self.fly.trigger("p/job");
        let output = self.fly.watch(build.id).succeeded();
        self.assert_each_ran(1);
        // The next one has everything to fetch again.
        self.fly.pipeline_anew("p", &self.pipeline);
        output.stdout
    }

    #[track_caller]
    fn assert_each_ran(&self, times: usize) {
        let counts = ["begin", "middle", "end"].map(|name| self.counter.count(name));
        assert_eq!(counts, [times; 3]);
    }

    #[track_caller]
    fn assert_same(&self, build: &Build, expected: &str) {
        let output = self.fly.watch(build.id).succeeded();
        assert_same_text(&output.stdout, expected);
        assert_eq!(self.fly.status(build.id), "succeeded");
        self.assert_each_ran(2);
        // Read again from the closed log.
        assert_same_text(&self.fly.watch(build.id).succeeded().stdout, expected);
    }
}

#[test]
fn killed_while_a_task_runs() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    scene.counter.hold("middle");
    let build = scene.fly.trigger("p/job");
    scene.counter.wait("middle", 2);
    scene.server.kill_9();
    scene.server.restart();
    scene.counter.release("middle");
    scene.assert_same(&build, &expected);
}

#[test]
fn killed_while_a_task_runs_that_ends_meanwhile() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    scene.counter.hold("middle");
    let build = scene.fly.trigger("p/job");
    scene.counter.wait("middle", 2);
    scene.server.kill_9();
    scene.counter.release("middle");
    scene.counter.wait("end", 2);
    scene.server.restart();
    scene.assert_same(&build, &expected);
}

#[test]
fn stopped_while_a_task_runs() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    scene.counter.hold("middle");
    let build = scene.fly.trigger("p/job");
    scene.counter.wait("middle", 2);
    assert!(scene.server.stop().success());
    scene.server.restart();
    assert_eq!(scene.fly.status(build.id), "started");
    scene.counter.release("middle");
    scene.assert_same(&build, &expected);
}

#[test]
fn killed_between_two_steps() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    let build = scene.fly.trigger("p/job");
    // The last thing that the first task does.
    scene.counter.wait("begin", 2);
    scene.server.kill_9();
    scene.server.restart();
    scene.assert_same(&build, &expected);
}

#[test]
fn killed_again_and_again() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    scene.counter.hold("middle");
    let build = scene.fly.trigger("p/job");
    for _ in 0..3 {
        scene.server.kill_9();
        scene.server.restart();
    }
    scene.counter.wait("middle", 2);
    scene.server.kill_9();
    scene.server.restart();
    scene.counter.release("middle");
    scene.assert_same(&build, &expected);
}

#[test]
fn killed_right_after_the_end() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    let build = scene.fly.trigger("p/job");
    scene.fly.wait_for_text(build.id, "\nsucceeded");
    scene.server.kill_9();
    scene.server.restart();
    scene.assert_same(&build, &expected);
}

#[test]
fn killed_while_a_build_is_pending() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    scene.fly.run(&["pause-pipeline", "-p", "p"]).succeeded();
    let build = scene.fly.trigger("p/job");
    scene.server.kill_9();
    scene.server.restart();
    assert_eq!(scene.fly.status(build.id), "pending");
    scene.fly.run(&["unpause-pipeline", "-p", "p"]).succeeded();
    scene.assert_same(&build, &expected);
}

#[test]
fn killed_while_a_get_runs() {
    let mut scene = Scene::new();
    let expected = scene.undisturbed();
    // Not waited for: the get must not be over before the gate is in its way.
    let triggering = scene.fly.spawn(&["trigger-job", "-j", "p/job"]);
    let gate = Fifo::in_next_output(&scene.server.data(), "gate");
    triggering.wait().succeeded();
    let build = scene.fly.builds().remove(0);
    scene.fly.wait_for_text(build.id, "fetching version: v1");
    scene.server.kill_9();
    scene.server.restart();
    assert_eq!(gate.drain(), "x");
    scene.assert_same(&build, &expected);
}

#[test]
fn killed_while_a_put_runs() {
    let mut server = Server::start();
    let fly = server.fly();
    let plan = [
        task("make", "outputs: [{name: made}]", "mkfifo made/pipe"),
        "  - put: out\n    params: {file: made/pipe}\n".to_owned(),
    ];
    let pipeline = format!("resources:\n{TARGET}{}", job(&plan));
    let mut printed = Vec::new();
    for disturbed in [false, true] {
        fly.pipeline_anew("p", &pipeline);
        let build = fly.trigger("p/job");
        fly.wait_for_text(build.id, "about to push");
        let pipe = Fifo::seen_by_step(&server.data(), "/tmp/build/put/made/pipe");
        if disturbed {
            server.kill_9();
            server.restart();
        }
        pipe.feed("v7");
        printed.push(fly.watch(build.id).succeeded().stdout);
    }
    assert!(printed[0].contains("pushing version: v7"), "{}", printed[0]);
    assert_same_text(&printed[1], &printed[0]);
}

#[test]
fn an_abort_is_not_forgotten() {
    let mut scene = Scene::new();
    scene.counter.hold("middle");
    let build = scene.fly.trigger("p/job");
    scene.counter.wait("middle", 1);
    scene
        .fly
        .run(&["abort-build", "-b", &build.id.to_string()])
        .succeeded();
    scene.server.kill_9();
    scene.server.restart();
    let output = scene.fly.watch(build.id).ended_with(3);
    assert_eq!(output.lines().last().unwrap(), "aborted");
    assert_eq!(scene.counter.count("end"), 0);
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let server = Server::start();
    let second = server.command().output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let words = String::from_utf8_lossy(&second.stderr);
    assert!(
        words.contains("another airside uses the data folder"),
        "{words}"
    );
    server.fly().run(&["builds"]).succeeded();
}

/// Another folder, but the same database: the first server goes on, and the second says why it does
/// not.
#[test]
fn a_second_server_on_the_same_database_is_refused() {
    let postgres = OwnPostgres::start();
    let server = postgres.server(ServerOptions::new());
    let fly = server.fly();
    let elsewhere = server.home().join("elsewhere");
    let second = server
        .command()
        .arg("--data")
        .arg(&elsewhere)
        .arg("--encryption-key-file")
        .arg(server.data().join("encryption-key"))
        .args(["--listen", "127.0.0.1:0", "--hub-listen", "127.0.0.1:0"])
        .output()
        .expect("airside starts");
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(
        said.contains("another airside uses this database"),
        "{said}"
    );
    fly.pipeline("p", &job(&[task("work", "", "echo still here")]));
    fly.trigger_and_watch("p/job").succeeded();
}
