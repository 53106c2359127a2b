//! Steps that print more, or other things, than usual. `AIRSIDE_OUTPUT_MIB` is the size of the
//! largest output: `make test-all` takes the gigabyte.

use std::fs;

use airside_scenarios::{
    Server,
    pipelines::{job, task},
    wait_until,
};

/// Memory that the server may need while all of it passes, in KiB.
const MOST_MEMORY: u64 = 150 << 10;

fn mebibytes() -> u64 {
    let given = std::env::var("AIRSIDE_OUTPUT_MIB").ok();
    given.map_or(16, |text| text.parse().unwrap())
}

/// A line of the letter that is counted. The script does not name it, since fly shows the script.
const LINE: &str = "line=$(head -c 127 /dev/zero | tr '\\0' '\\176')";

/// Runs the task and gives what fly prints of it.
fn run(script: &str) -> (Server, String) {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &job(&[task("flood", "", script)]));
    let watching = fly.spawn(&["trigger-job", "-j", "p/job", "-w"]);
    let output = watching.wait_while_it_prints().succeeded();
    (server, output.stdout)
}

#[track_caller]
fn assert_modest(server: &Server) {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    assert!(peak < MOST_MEMORY, "the server needed {peak} KiB");
}

fn count(text: &str, letter: char) -> u64 {
    text.matches(letter).count() as u64
}

#[test]
fn lines_without_end_in_number() {
    let lines = mebibytes() << 13;
    let (server, printed) = run(&format!("{LINE}; yes $line | head -n {lines}"));
    assert_eq!(count(&printed, '~'), 127 * lines);
    assert_modest(&server);
}

#[test]
fn one_line_without_end() {
    let bytes = (mebibytes() << 20) / 5;
    let (server, printed) = run(&format!(
        "head -c {bytes} /dev/zero | tr '\\0' '\\176'; echo; echo after it"
    ));
    assert_eq!(count(&printed, '~'), bytes);
    assert!(printed.contains("after it"));
    assert_modest(&server);
}

/// Bytes that are not text are shown as well as possible, and do no harm.
#[test]
fn no_text_at_all() {
    let script = "stty raw; for i in $(seq 0 255); do printf \"\\\\x$(printf %x $i)\"; done; head -c 300000 /dev/urandom; echo; echo after it";
    let (server, printed) = run(script);
    assert!(printed.contains("after it"));
    assert!(
        printed.contains("ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abc"),
        "{}",
        &printed[..2000]
    );
    assert!(printed.contains('\u{fffd}'));
    assert_modest(&server);
}

/// A step whose output cannot be taken yet waits instead of losing any.
#[test]
fn while_nobody_takes_it() {
    let mut server = Server::start();
    let fly = server.fly();
    let script = format!("{LINE}; yes $line | head -n 50000; echo after it");
    fly.pipeline("p", &job(&[task("flood", "", &script)]));
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "~~~");
    server.kill_9();
    server.restart();
    let watching = fly.spawn(&["watch", "-b", &build.id.to_string()]);
    let printed = watching.wait_while_it_prints().succeeded().stdout;
    assert_eq!(count(&printed, '~'), 127 * 50_000);
    assert!(printed.contains("after it"));
    wait_until("the build has ended", || {
        fly.status(build.id) == "succeeded"
    });
}
