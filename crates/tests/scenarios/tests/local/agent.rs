//! Other machines as workers: agents, here beside the server, that connect by themselves.

use airside_scenarios::{
    Agent, Counter, Environment, Fly, Server, ServerOptions,
    pipelines::{job, task},
    wait_until,
};
use serde_json::{Value, json};

const AWAY: &str = "no suitable workers found, waiting for worker...";

/// A step for workers with this tag.
fn tagged(step: &str, tag: &str) -> String {
    let (head, rest) = step.split_once('\n').expect("a step has lines");
    format!("{head}\n    tags: [{tag}]\n{rest}")
}

/// Asks the server as fly would; the stand-in for fly knows nothing of workers.
fn api(server: &Server, fly: &Fly, method: &str, path: &str, body: &str) -> Value {
    let authorization = fly.authorization();
    let headers = [
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/x-yaml"),
    ];
    let (status, answer) = server.http(method, path, &headers, body);
    assert!((200..300).contains(&status), "{method} {path}: {answer}");
    serde_json::from_str(&answer).unwrap_or_default()
}

fn worker(server: &Server, fly: &Fly, name: &str) -> Option<Value> {
    let listed = api(server, fly, "GET", "/api/v1/workers", "");
    let found = listed.as_array()?.iter().find(|it| it["name"] == name);
    found.cloned()
}

fn wait_for_state(server: &Server, fly: &Fly, name: &str, state: &str) {
    wait_until(&format!("worker {name} is {state}"), || {
        worker(server, fly, name).is_some_and(|it| it["state"] == state)
    });
}

/// A server, and an agent `far` for steps with the tag `far`.
fn scene(options: ServerOptions) -> (Server, Fly, Agent, Counter) {
    let server = options.start();
    let fly = server.fly();
    let agent = Agent::start(&server, &fly, "far", &["--tag", "far"]);
    wait_for_state(&server, &fly, "far", "running");
    (server, fly, agent, Counter::start())
}

#[test]
fn a_build_runs_on_an_agent_and_artifacts_go_both_ways() {
    let (server, fly, agent, counter) = scene(ServerOptions::new());
    let script = "mkdir made/deep; echo from here >made/deep/word; ln -s deep/word made/link";
    let here = task("here", "outputs: [{name: made}]", script);
    let script = format!(
        "cat made/link; echo and far >>made/deep/word; cp -r made/. more/; {}",
        counter.bump("far")
    );
    let far = "inputs: [{name: made}]\noutputs: [{name: more}]";
    let far = tagged(&task("far", far, &script), "far");
    let script = "cat more/deep/word; readlink more/link; cat made/deep/word";
    let back = task("back", "inputs: [{name: more}, {name: made}]", script);
    fly.pipeline("p", &job(&[here, far, back]));
    let watched = fly.trigger_and_watch("p/job").succeeded();
    let lines = watched.lines();
    let chosen: Vec<_> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("selected worker: "))
        .collect();
    assert_eq!(chosen, ["local", "far", "local"], "{lines:#?}");
    let said: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("from") || line.starts_with("and") || *line == "deep/word")
        .collect();
    let expected = [
        "from here",
        "from here",
        "and far",
        "deep/word",
        "from here",
    ];
    assert_eq!(said, expected, "{lines:#?}");
    assert_eq!(counter.count("far"), 1);

    // Its token is in no process, log or file that others read.
    let token = std::fs::read_to_string(agent.token_file()).unwrap();
    let secret = token.trim().rsplit(':').next().unwrap();
    let command = std::fs::read_to_string(format!("/proc/{}/cmdline", agent.pid())).unwrap();
    let places = [agent.log(), server.log(), command];
    assert!(places.iter().all(|text| !text.contains(secret)));
    let database = std::fs::read(server.data().join("airside.db")).unwrap();
    let found = database
        .windows(secret.len())
        .any(|part| part == secret.as_bytes());
    assert!(!found, "it is stored as a hash");
}

#[test]
fn a_teams_agent_serves_that_team_alone() {
    let server = Server::start();
    let (fly, counter) = (server.fly(), Counter::start());
    let auth = json!({"auth": {"owner": {"users": ["local:test"], "groups": []}}}).to_string();
    api(&server, &fly, "PUT", "/api/v1/teams/crew", &auth);
    let _agent = Agent::start(&server, &fly, "crews", &["--team", "crew", "--tag", "far"]);
    wait_for_state(&server, &fly, "crews", "running");
    assert_eq!(worker(&server, &fly, "crews").unwrap()["team"], "crew");
    let pipeline = job(&[tagged(&task("t", "", &counter.bump("t")), "far")]);

    fly.pipeline("p", &pipeline);
    let watched = fly.trigger_and_watch("p/job").ended_with(2);
    assert!(
        watched.stdout.contains("no workers satisfying"),
        "{watched:?}"
    );
    assert_eq!(counter.count("t"), 0);

    let path = "/api/v1/teams/crew/pipelines/p";
    api(&server, &fly, "PUT", &format!("{path}/config"), &pipeline);
    api(&server, &fly, "PUT", &format!("{path}/unpause"), "");
    let build = api(
        &server,
        &fly,
        "POST",
        &format!("{path}/jobs/job/builds"),
        "",
    );
    let id = build["id"].as_i64().expect("a build has an id");
    fly.watch(id).succeeded();
    assert_eq!(counter.count("t"), 1);
}

#[test]
fn an_agent_killed_in_a_build_finds_its_step_again() {
    let (server, fly, mut agent, counter) = scene(ServerOptions::new());
    let script = format!(
        "echo before; {}; for i in $(seq 2000); do echo line $i; done; echo made >made/it; {}",
        counter.bump("one"),
        counter.bump("two")
    );
    let first = tagged(&task("t", "outputs: [{name: made}]", &script), "far");
    let second = tagged(&task("u", "inputs: [{name: made}]", "cat made/it"), "far");
    fly.pipeline("p", &job(&[first, second]));
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    agent.kill_9();
    wait_for_state(&server, &fly, "far", "stalled");
    // It goes on without its agent, to its end.
    counter.release("one");
    counter.wait("two", 1);
    agent.restart();
    let watched = fly.watch(build.id).succeeded();
    let lines = watched.lines();
    let said: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("line "))
        .collect();
    let all: Vec<_> = (1..=2000).map(|number| format!("line {number}")).collect();
    assert_eq!(said, all.iter().collect::<Vec<_>>(), "whole, and in order");
    assert_eq!(lines.iter().filter(|line| *line == "before").count(), 1);
    assert_eq!(lines.iter().filter(|line| *line == "made").count(), 1);
    assert_eq!([counter.count("one"), counter.count("two")], [1, 1]);
    let mut places = lines.iter().filter(|line| line.starts_with("selected"));
    assert!(places.all(|line| line == "selected worker: far"));
}

#[test]
fn a_server_killed_in_a_build_finds_its_agent_again() {
    let (mut server, fly, _agent, counter) = scene(ServerOptions::new());
    fly.pipeline(
        "p",
        &job(&[tagged(&task("t", "", &counter.bump("one")), "far")]),
    );
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    server.kill_9();
    server.restart();
    wait_for_state(&server, &fly, "far", "running");
    counter.release("one");
    fly.watch(build.id).succeeded();
    assert_eq!(counter.count("one"), 1);
}

#[test]
fn steps_of_an_agent_that_is_gone_wait_or_are_lost() {
    let options = ServerOptions::new().args(["--agent-lost-after", "1s"]);
    let (server, fly, mut agent, counter) = scene(options);
    let pipeline = job(&[tagged(&task("t", "", &counter.bump("one")), "far")]);
    fly.pipeline("p", &pipeline);
    counter.hold("one");
    let running = fly.trigger("p/job");
    counter.wait("one", 1);
    agent.kill_9();

    // It had started, and the server cannot know how it is doing.
    let watched = fly.watch(running.id).ended_with(2);
    for words in ["was lost on worker far", "its agent is not connected"] {
        assert!(watched.stdout.contains(words), "{watched:?}");
    }
    wait_for_state(&server, &fly, "far", "stalled");
    if Environment::get().has_real_fly() {
        let listed = fly.run(&["workers", "-d"]).succeeded().stdout;
        for words in ["far", "stalled", "its agent is not connected"] {
            assert!(listed.contains(words), "{listed}");
        }
    }

    // What was not put there waits for it.
    let waiting = fly.trigger("p/job");
    fly.wait_for_text(waiting.id, AWAY);
    let words = "waiting: worker far is stalled: its agent is not connected";
    fly.wait_for_text(waiting.id, words);
    counter.release("one");
    agent.restart();
    fly.watch(waiting.id).succeeded();
    assert_eq!(counter.count("one"), 2, "each build's step ran once");
    wait_until("what was lost is removed", || {
        let there = std::fs::read_dir(agent.state().join("runtime/containers"));
        there.is_ok_and(|found| found.count() <= 1)
    });
}

#[test]
fn a_step_that_a_lost_agent_never_began_goes_to_another() {
    let options = ServerOptions::new().args(["--agent-lost-after", "1s"]);
    let (server, fly, mut agent, counter) = scene(options);
    fly.pipeline(
        "p",
        &job(&[tagged(&task("t", "", &counter.bump("one")), "far")]),
    );
    // It is connected as far as the server knows, is asked for the step, and never answers.
    let frozen = agent.pid().to_string();
    let stopped = std::process::Command::new("kill")
        .args(["-STOP", &frozen])
        .status();
    assert!(stopped.unwrap().success());
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "selected worker:");
    agent.kill_9();
    fly.wait_for_text(build.id, "waiting: far: its agent is not connected");

    // No other worker is there for it, so it waits; then one comes.
    let other = Agent::start(&server, &fly, "other", &["--tag", "far"]);
    let watched = fly.watch(build.id).succeeded();
    let words = "the step was not begun and is placed again: far: its agent is not connected";
    assert!(watched.stdout.contains(words), "{watched:?}");
    assert_eq!(counter.count("one"), 1);
    // What the first may still make of it when it is back has no right to live.
    agent.restart();
    wait_for_state(&server, &fly, "far", "running");
    wait_until("nothing of it is left", || {
        let there = std::fs::read_dir(agent.state().join("runtime/containers"));
        there.map_or(true, |found| found.count() == 0)
    });
    assert_eq!(counter.count("one"), 1);
    drop(other);
}

#[test]
fn an_agent_lands_retires_and_comes_back() {
    let (server, fly, mut agent, counter) = scene(ServerOptions::new());
    let plan = ["one", "two"].map(|name| tagged(&task(name, "", &counter.bump(name)), "far"));
    fly.pipeline("p", &job(&plan));
    counter.hold("one");
    let build = fly.trigger("p/job");
    counter.wait("one", 1);
    api(&server, &fly, "PUT", "/api/v1/workers/far/land", "");
    assert_eq!(worker(&server, &fly, "far").unwrap()["state"], "landing");
    counter.release("one");
    wait_for_state(&server, &fly, "far", "landed");
    fly.wait_for_text(build.id, "waiting: worker far is land");
    assert_eq!(counter.count("two"), 0, "nothing new was put there");

    // Started again, it is back, as a worker of Concourse would be.
    assert!(agent.stop().success());
    agent.restart();
    fly.watch(build.id).succeeded();
    assert_eq!(worker(&server, &fly, "far").unwrap()["state"], "running");

    fly.airside_worker(&["retire", "far"]).succeeded();
    wait_until("it is gone", || worker(&server, &fly, "far").is_none());
    fly.airside_worker(&["return", "far"]).succeeded();
    wait_for_state(&server, &fly, "far", "running");

    agent.kill_9();
    wait_for_state(&server, &fly, "far", "stalled");
    api(&server, &fly, "PUT", "/api/v1/workers/far/prune", "");
    assert_eq!(worker(&server, &fly, "far"), None);
    agent.restart();
    wait_for_state(&server, &fly, "far", "running");
    assert_eq!([counter.count("one"), counter.count("two")], [1, 1]);
}

#[test]
fn an_agent_without_a_good_token_is_told_why() {
    let server = Server::start();
    let fly = server.fly();
    let mut stranger = Agent::new(&server, &fly, "far", &["--tag", "far"]).args(&["--tag", "near"]);
    stranger.restart();
    assert_eq!(stranger.ends().code(), Some(1));
    let words = "the token for `far` is not for tag `near`";
    assert!(stranger.log().contains(words), "{}", stranger.log());
    assert_eq!(worker(&server, &fly, "far"), None);
    drop(stranger);

    let mut agent = Agent::start(&server, &fly, "far", &["--tag", "far"]);
    wait_for_state(&server, &fly, "far", "running");
    let listed = fly.airside_worker(&["tokens"]).succeeded();
    assert_eq!(listed.stdout, "far\tall teams\tfar\n");
    fly.airside_worker(&["revoke", "far"]).succeeded();
    assert_eq!(agent.ends().code(), Some(1));
    let words = "the token for `far` is not valid, or no longer";
    assert!(agent.log().contains(words), "{}", agent.log());
    wait_for_state(&server, &fly, "far", "stalled");
    let again = fly.airside_worker(&["revoke", "far"]);
    assert_eq!(again.code, Some(1), "{again:?}");

    std::fs::write(agent.token_file(), "nonsense").unwrap();
    agent.restart();
    assert_eq!(agent.ends().code(), Some(1));
    let words = "there is no token in";
    assert!(agent.log().contains(words), "{}", agent.log());
}

#[test]
fn two_machines_are_not_one_worker() {
    let (server, fly, mut agent, _counter) = scene(ServerOptions::new());
    let mut twin = agent.twin();
    wait_until("the twin is told", || {
        agent.log().contains("another agent is connected as `far`")
    });
    assert_eq!(worker(&server, &fly, "far").unwrap()["state"], "running");
    // It waits for its turn: the other may be a process that was killed just now.
    let connected = |log: String| log.matches("joined").count();
    let before = connected(agent.log());
    agent.kill_9();
    wait_until("the twin has its turn", || connected(agent.log()) > before);
    wait_for_state(&server, &fly, "far", "running");
    twin.kill_9();
    wait_for_state(&server, &fly, "far", "stalled");
}

#[test]
fn names_teams_and_tags_of_tokens_are_checked() {
    let server = Server::start();
    let fly = server.fly();
    for (args, words) in [
        (&["--name", "../x"][..], "cannot be called"),
        (&["--name", "local"][..], "already that is not an agent"),
        (&["--name", "a", "--team", "nobody"][..], "no team 'nobody'"),
        (&["--name", "a", "--tag", ""][..], "a tag may not be empty"),
    ] {
        let refused = fly.airside_worker(&[&["token"][..], args].concat());
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(words), "{refused:?}");
        assert_eq!(refused.stdout, "");
    }
    assert_eq!(fly.airside_worker(&["tokens"]).succeeded().stdout, "");
}
