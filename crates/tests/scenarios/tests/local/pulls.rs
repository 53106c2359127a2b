//! Pulls of images as people see them: lines in the build's log, a bar on a terminal, and a time of
//! their own.

use std::{fs, io::Read as _};

use airside_scenarios::{
    Agent, Environment, Fly, Run, Server,
    counting_registry::{CountingRegistry, Fault, Pushed},
    pipelines::job,
};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

/// A registry with an image of one layer, which is held in the middle.
struct Held {
    registry: CountingRegistry,
    layer: String,
}

impl Held {
    fn start() -> Self {
        let registry = CountingRegistry::default();
        let layer = fs::read(Environment::get().rootfs).unwrap();
        let Pushed { layers, .. } = registry.push("team/app", "1", &[layer]);
        let layer = format!("/v2/team/app/blobs/{}", layers[0]);
        registry.hold(&layer);
        Self { registry, layer }
    }

    fn name(&self) -> String {
        let url = self.registry.url();
        format!("{}/team/app", url.trim_start_matches("http://"))
    }

    fn release(&self) {
        self.registry.release(&self.layer);
    }

    fn pipeline(&self, more: &str) -> String {
        job(&[format!(
            "  - task: work\n{more}    config:\n      platform: linux\n      \
             image_resource: {{type: registry-image, source: {{repository: '{}', tag: '1'}}}}\n      \
             run: {{path: echo, args: [done working]}}\n",
            self.name()
        )])
    }
}

/// The events of a build that has ended.
fn events(server: &Server, fly: &Fly, id: i64) -> Vec<Value> {
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let path = format!("/api/v1/builds/{id}/events");
    let (_, text) = server.http("GET", &path, &headers, "");
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn place_of(events: &[Value], what: impl Fn(&Value) -> bool) -> usize {
    let place = events.iter().position(what);
    place.unwrap_or_else(|| panic!("no such event in {events:#?}"))
}

#[test]
fn a_pull_is_told_while_it_lasts_and_ends_the_get_of_the_image() {
    let held = Held::start();
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &held.pipeline(""));
    let build = fly.trigger("p/job");
    let app = format!("{}:1", held.name());
    fly.wait_for_text(build.id, &format!("pulling {app}: 1 layer, "));
    held.release();
    let output = fly.watch(build.id).succeeded();
    assert!(
        output.stdout.contains(&format!("pulled {app}: 1 layer, ")),
        "{output:?}"
    );

    let events = events(&server, &fly, build.id);
    let of_image = |event: &Value| {
        let id = event["data"]["origin"]["id"].as_str();
        id.is_some_and(|id| id.ends_with("/image-get"))
    };
    let begun = place_of(&events, |event| {
        event["event"] == "start-get" && of_image(event)
    });
    let told = place_of(&events, |event| {
        let text = event["data"]["payload"].as_str().unwrap_or_default();
        of_image(event) && text.starts_with("pulled ")
    });
    let got = place_of(&events, |event| {
        event["event"] == "finish-get" && of_image(event)
    });
    let started = place_of(&events, |event| event["event"] == "start-task");
    assert!(begun < told && told < got && got < started, "{events:#?}");
    assert_eq!(events[got]["data"]["exit_status"], 0);

    // An image that is here is nothing to tell.
    let again = fly.trigger_and_watch("p/job").succeeded();
    assert!(!again.stdout.contains("pull"), "{again:?}");
}

#[test]
fn a_pull_that_fails_ends_the_get_of_the_image() {
    let held = Held::start();
    held.release();
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &held.pipeline(""));
    held.registry.fail(Some(Fault::WrongBytes));
    let build = fly.trigger("p/job");
    let output = fly.watch(build.id).ended_with(2);
    assert!(output.stdout.contains("damaged"), "{output:?}");
    let events = events(&server, &fly, build.id);
    let got = place_of(&events, |event| event["event"] == "finish-get");
    assert_eq!(events[got]["data"]["exit_status"], 1, "{events:#?}");
}

#[test]
fn an_agent_tells_of_its_pulls() {
    let held = Held::start();
    let server = Server::start();
    let fly = server.fly();
    let _agent = Agent::start(&server, &fly, "far", &["--tag", "far"]);
    fly.pipeline("p", &held.pipeline("    tags: [far]\n"));
    let build = fly.trigger("p/job");
    let app = format!("{}:1", held.name());
    fly.wait_for_text(build.id, &format!("pulling {app}: 1 layer, "));
    held.release();
    let output = fly.watch(build.id).succeeded();
    assert!(
        output.stdout.contains(&format!("pulled {app}: 1 layer, ")),
        "{output:?}"
    );
}

/// The seconds in a line like `✓ task succeeded in 0.1s`.
fn seconds(output: &str, what: &str) -> f64 {
    let found = output.lines().find_map(|line| line.split_once(what));
    let (_, time) = found.unwrap_or_else(|| panic!("no {what:?} in:\n{output}"));
    time.trim_end_matches('s').parse().unwrap()
}

#[test]
fn a_run_tells_of_a_pull_and_does_not_count_it_into_the_task() {
    let held = Held::start();
    let run = Run::new(&held.pipeline(""));
    let running = run.spawn(&[]);
    running.wait_for_text(&format!("| pulling {}:1: 1 layer, ", held.name()));
    held.release();
    let output = running.wait().succeeded();
    run.nothing_is_left();
    let text = &output.stdout;
    let place = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what:?} in:\n{text}"))
    };
    assert!(place("| pulled ") < place("✓ get succeeded in "), "{text}");
    // The pull was held for a second at least.
    let (get, task) = (
        seconds(text, "✓ get succeeded in "),
        seconds(text, "✓ task succeeded in "),
    );
    assert!(get >= 1.0 && task < get, "{text}");
}

#[test]
fn a_terminal_shows_a_bar_while_an_image_is_pulled() {
    let held = Held::start();
    let run = Run::new(&held.pipeline(""));
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = rustix::termios::Winsize {
        ws_row: 24,
        ws_col: 200,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = fs::File::options()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    let running = run.spawn_on(terminal.into(), &[]);
    let mut screen = fs::File::from(master);
    let (mut seen, mut piece) = (String::new(), [0; 4096]);
    while !(seen.contains("[...") && seen.contains("0 of 1 layers")) {
        let read = screen.read(&mut piece).unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    held.release();
    while let Ok(read) = screen.read(&mut piece) {
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    running.wait().succeeded();
    let end = seen.rsplit("\x1b[J").next().unwrap();
    assert!(end.contains("JOB ") && !end.contains("[..."), "{seen:?}");
}
