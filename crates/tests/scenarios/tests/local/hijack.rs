//! `fly intercept`: into a step that runs, and into what is left of one that failed.

use std::{fs, io::Write};

use airside_scenarios::{
    Environment, Fly, Server, ServerOptions,
    pipelines::{job, task},
    wait_until,
};

/// A task that says that it runs, and ends once its container holds /tmp/go.
const WAITING: &str = "echo running\nuntil [ -e /tmp/go ]; do sleep 0.05; done\necho went";

fn intercept<'a>(job: &'a str, command: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["intercept", "-j", job, "-s", "work", "--"];
    args.extend(command);
    args
}

fn handles(fly: &Fly) -> Vec<String> {
    let listed = fly.run(&["containers"]).succeeded();
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    listed.stdout.lines().filter_map(first).collect()
}

fn containers(server: &Server) -> usize {
    let containers = server.data().join("runtime/containers");
    fs::read_dir(containers).map_or(0, Iterator::count)
}

#[test]
fn into_a_running_step() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let work = task("work", "params: {PARAM: of the task}", WAITING);
    fly.pipeline("p", &job(&[work]));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "\nrunning");

    let script = "echo $PARAM; pwd; echo err >&2; exit 5";
    let said = fly
        .run(&intercept("p/job", &["sh", "-c", script]))
        .ended_with(5);
    let lines: Vec<_> = said.stdout.lines().collect();
    assert_eq!(lines[0], "of the task");
    assert!(lines[1].starts_with("/tmp/build/"), "{lines:?}");
    assert_eq!(said.stderr, "err\n");

    // The default shell, fed with commands and then closed.
    let (shell, mut keys) = fly.spawn_reading(&["intercept", "-b", "1", "-s", "work"]);
    keys.write_all(b"echo ${BASH_VERSION:+bash}; cat /proc/1/comm\n")
        .unwrap();
    drop(keys);
    assert_eq!(shell.wait().succeeded().stdout, "bash\nshim\n");

    let missing = fly
        .run(&intercept("p/job", &["no-such-program"]))
        .ended_with(255);
    assert!(missing.stderr.contains("no-such-program"), "{missing:?}");

    let all = handles(&fly);
    assert_eq!(all.len(), 1);
    let by_handle = ["intercept", "--handle", &all[0], "touch", "/tmp/go"];
    fly.run(&by_handle).succeeded();
    let output = fly.watch(build.id).succeeded();
    assert!(output.stdout.contains("went"), "{output:?}");
}

/// The step's end neither waits for who is inside nor throws them out.
#[test]
fn a_session_outlives_its_step() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("work", "", WAITING)]));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "\nrunning");
    let (mut shell, mut keys) = fly.spawn_reading(&intercept("p/job", &["bash"]));
    keys.write_all(b"echo inside\n").unwrap();
    shell.wait_for_text("inside");
    keys.write_all(b"touch /tmp/go\n").unwrap();
    fly.watch(build.id).succeeded();
    assert_eq!(handles(&fly).len(), 1, "somebody is inside");
    keys.write_all(b"echo still here\nexit 9\n").unwrap();
    let said = shell.wait().ended_with(9);
    assert!(said.stdout.contains("still here"), "{said:?}");
}

#[test]
fn into_what_is_left_of_a_failed_build() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let mut server = Server::start();
    let fly = server.fly();
    let first = task(
        "first",
        "outputs: [{name: made}]",
        "echo content > made/file",
    );
    let second = |end: &str| {
        let script = format!("echo trace > /tmp/left; {end}");
        task("work", "inputs: [{name: made}]", &script)
    };
    fly.pipeline("p", &job(&[first.clone(), second("exit 1")]));
    fly.trigger_and_watch("p/job").ended_with(1);

    let look = intercept("p/job", &["sh", "-c", "cat /tmp/left made/file"]);
    let seen = "trace\ncontent\n";
    assert_eq!(fly.run(&look).succeeded().stdout, seen);
    // Steps that went well are there, too.
    let early = ["intercept", "-j", "p/job", "-b", "1", "-s", "first", "ls"];
    assert_eq!(fly.run(&early).succeeded().stdout, "made\n");

    server.kill_9();
    server.restart();
    assert_eq!(fly.run(&look).succeeded().stdout, seen, "after a crash");
    server.stop();
    server.restart();
    assert_eq!(fly.run(&look).succeeded().stdout, seen, "after a restart");

    // The next containers were not intercepted, so they are removed when the time has come.
    fly.trigger_and_watch("p/job").ended_with(1);
    fly.pipeline("p", &job(&[first, second("exit 0")]));
    fly.trigger_and_watch("p/job").succeeded();
    let of_build = |name| ["intercept", "-j", "p/job", "-b", name, "-s", "work", "true"];
    for superseded in ["2", "3"] {
        // To look inside would keep them.
        wait_until("its containers go", || {
            let listed = fly.run(&["containers", "--json"]).succeeded().stdout;
            let listed: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap();
            listed.iter().all(|each| each["build_name"] != superseded)
        });
        assert_ne!(fly.run(&of_build(superseded)).code, Some(0));
    }
    fly.run(&of_build("1")).succeeded();
}

#[test]
fn aborted_and_errored_builds_can_be_looked_at_until_their_time_is_over() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("work", "", WAITING)]));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "\nrunning");
    fly.run(&["abort-build", "-b", "1"]).succeeded();
    fly.watch(build.id).ended_with(3);
    fly.run(&intercept("p/job", &["true"])).succeeded();

    let server = ServerOptions::new().args(["--keep-failed", "0"]).start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("work", "", "exit 1")]));
    fly.trigger_and_watch("p/job").ended_with(1);
    wait_until("nothing is kept", || containers(&server) == 0);
    let nothing = fly.run(&intercept("p/job", &["true"]));
    assert_ne!(nothing.code, Some(0));
}

/// A server that goes takes the sessions along, and the processes in them; the step goes on.
#[test]
fn a_session_ends_with_its_server_and_the_next_one_lets_in_again() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let mut server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("work", "", WAITING)]));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "\nrunning");
    let (mut shell, mut keys) = fly.spawn_reading(&intercept("p/job", &["bash"]));
    keys.write_all(b"echo $$ > /tmp/shell; echo inside\n")
        .unwrap();
    shell.wait_for_text("inside");
    server.kill_9();
    shell.wait();
    server.restart();
    let gone = "kill -0 $(cat /tmp/shell) 2>/dev/null && exit 1 || touch /tmp/go";
    wait_until("the process of the lost session ends", || {
        let look = fly.run(&intercept("p/job", &["bash", "-c", gone]));
        look.code == Some(0)
    });
    fly.watch(build.id).succeeded();
}

#[test]
fn nobody_idles_for_ever() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = ServerOptions::new()
        .args(["--intercept-idle-timeout", "1s"])
        .start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("work", "", "exit 1")]));
    fly.trigger_and_watch("p/job").ended_with(1);
    let (shell, _keys) = fly.spawn_reading(&intercept("p/job", &["cat"]));
    let said = shell.wait().ended_with(255);
    assert!(
        said.stderr.contains("idle timeout (1s) reached"),
        "{said:?}"
    );
}

#[test]
fn another_team_finds_nothing() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("work", "", "exit 1")]));
    fly.trigger_and_watch("p/job").ended_with(1);
    let handle = handles(&fly).remove(0);
    fly.run(&[
        "set-team",
        "-n",
        "other",
        "--local-user",
        "test",
        "--non-interactive",
    ])
    .succeeded();
    let other = ["--team", "other"];
    let listed = fly.run(&[&["containers"][..], &other].concat()).succeeded();
    assert_eq!(listed.stdout, "");
    let args = ["intercept", "--team", "other", "--handle", &handle, "true"];
    let refused = fly.run(&args);
    assert_ne!(refused.code, Some(0));
    assert!(
        refused.stderr.contains("no containers matched"),
        "{refused:?}"
    );
}
