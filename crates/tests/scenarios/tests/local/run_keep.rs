//! `airside run --keep`: a shell in a step that failed.

use std::{
    fs::File,
    io::{Read as _, Write as _},
};

use airside_scenarios::{
    Run, Running,
    plans::{task, with},
};
use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use serde_json::json;

/// A person at a terminal.
struct Person {
    screen: File,
    seen: String,
}

impl Person {
    fn start(run: &Run, args: &[&str]) -> (Self, Running) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        let running = run.spawn_at(terminal, args);
        let screen = File::from(master);
        let seen = String::new();
        (Self { screen, seen }, running)
    }

    fn types(&mut self, keys: &str) {
        self.screen.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until a text was printed, and forgets all before its end.
    #[track_caller]
    fn sees(&mut self, text: &str) {
        let mut piece = [0; 4096];
        while !self.seen.contains(text) {
            let read = self.screen.read(&mut piece);
            let read = read.unwrap_or_else(|error| panic!("{error} after {}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }

    /// Reads to the end: the terminal ends with its last writer.
    fn sees_the_end(&mut self) {
        let mut piece = [0; 4096];
        while let Ok(read) = self.screen.read(&mut piece) {
            self.seen.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    }
}

fn failing(name: &str) -> serde_json::Value {
    let mut step = task(name, "echo made by the step > here; exit 3");
    step["params"] = json!({"WORD": name});
    step
}

#[test]
fn a_shell_opens_in_the_step_that_failed() {
    let jobs = json!([{"name": "j", "plan": [failing("bad")]}]);
    let run = Run::new(&json!({"jobs": jobs}).to_string());
    let (mut person, running) = Person::start(&run, &["--keep"]);
    person.sees("j/bad failed: this is a shell in its container");
    // Typed text shows too, so that only its result tells.
    person.types("cat here; echo \"shell-$((40 + 2)) $WORD\"\n");
    person.sees("made by the step");
    person.sees("shell-42 bad");

    person.types("echo ready-$((1 + 0)); sleep 1000\n");
    person.sees("ready-1");
    person.types("\x03");
    person.types("\necho after-$((1 + 1))\n");
    person.sees("after-2");

    let size = Winsize {
        ws_row: 33,
        ws_col: 101,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&person.screen, size).unwrap();
    person.types("until [ \"$(stty size)\" = '33 101' ]; do :; done; echo sized-$((1 + 1))\n");
    person.sees("sized-2");

    person.types("exit\n");
    person.sees_the_end();
    running.wait().ended_with(1);
    run.nothing_is_left();
}

#[test]
fn of_several_steps_that_failed_the_person_chooses() {
    // One after the other, so that their order is known.
    let then = with(failing("one"), json!({"on_failure": failing("two")}));
    let jobs = json!([{"name": "j", "plan": [then]}]);
    let run = Run::new(&json!({"jobs": jobs}).to_string());
    let (mut person, running) = Person::start(&run, &["--keep"]);
    person.sees("steps that failed:");
    for (number, name) in [("1", "one"), ("2", "two")] {
        person.sees("or nothing to clean up: ");
        person.types("7\n");
        person.sees("or nothing to clean up: ");
        person.types(&format!("{number}\n"));
        person.sees("this is a shell in its container");
        person.types("echo \"in-$((1 + 1)) $WORD\"\n");
        person.sees(&format!("in-2 {name}"));
        person.types("exit\n");
    }
    person.sees("or nothing to clean up: ");
    person.types("\n");
    person.sees_the_end();
    running.wait().ended_with(1);
    run.nothing_is_left();
}

#[test]
fn a_run_that_succeeds_opens_no_shell() {
    let jobs = json!([{"name": "j", "plan": [task("good", "true")]}]);
    let run = Run::new(&json!({"jobs": jobs}).to_string());
    let (mut person, running) = Person::start(&run, &["--keep"]);
    person.sees_the_end();
    assert!(!person.seen.contains("shell"), "{}", person.seen);
    running.wait().succeeded();
    run.nothing_is_left();
}

#[test]
fn without_a_terminal_nothing_runs() {
    let jobs = json!([{"name": "j", "plan": [task("t", "echo it ran")]}]);
    let run = Run::new(&json!({"jobs": jobs}).to_string());
    let output = run.run(&["--keep"]).ended_with(2);
    assert!(
        output.stderr.contains("needs a terminal"),
        "{}",
        output.stderr
    );
    assert!(!output.stdout.contains("it ran"), "{}", output.stdout);
}
