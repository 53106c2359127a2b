//! Nothing stays of servers and runs that were killed and cannot come back.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use airside_scenarios::{Environment, Run, ServerOptions, plans, wait_for, wait_until};
use serde_json::{Value, json};

/// A job that says that it began and then stays.
fn staying() -> String {
    let task = plans::task("stay", "echo it has begun; sleep 3600");
    plans::pipeline(json!([]), json!([task]))
}

fn short() -> String {
    plans::pipeline(json!([]), json!([plans::task("say", "echo hello")]))
}

/// The installation whose containers are below this folder, once there is one.
fn installation(root: &Path) -> String {
    wait_for("a container", || {
        let containers = fs::read_dir(root.join("containers")).ok()?.flatten();
        let record = containers.map(|entry| entry.path().join("record.json"));
        let text = record.filter_map(|path| fs::read(path).ok()).next()?;
        let record: Value = serde_json::from_slice(&text).ok()?;
        Some(record["installation"].as_str()?.to_owned())
    })
}

/// Everything that the machine has of an installation outside of its data folder.
fn left(installation: &str) -> Vec<String> {
    let mut left = Vec::new();
    let list = Path::new("/run/airside/installations").join(installation);
    left.extend(list.exists().then(|| list.display().to_string()));
    let tables = Command::new("nft")
        .args(["list", "tables"])
        .output()
        .unwrap();
    let tables = String::from_utf8_lossy(&tables.stdout).into_owned();
    let table = installation.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    left.extend(
        tables
            .lines()
            .filter(|line| line.contains(&table))
            .map(str::to_owned),
    );
    let root = PathBuf::from("/sys/fs/cgroup");
    let hierarchies = fs::read_dir(&root)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    for hierarchy in hierarchies.chain([root]) {
        let group = hierarchy.join("airside").join(installation);
        left.extend(group.exists().then(|| group.display().to_string()));
    }
    left
}

fn clean(args: &[&str]) -> String {
    let mut command = Command::new(Environment::get().airside);
    let output = command.arg("clean").args(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    said
}

/// The lines about one installation: others may have left something, too.
fn about(said: &str, installation: &str) -> Vec<String> {
    let mut lines = said.lines().skip_while(|line| !line.contains(installation));
    let head = lines.next().into_iter();
    let lines = head.chain(lines.take_while(|line| line.starts_with(' ')));
    lines.map(str::to_owned).collect()
}

/// A run under way that is then killed, with its folder and its installation.
fn killed_run() -> (Run, PathBuf, String) {
    let run = Run::new(&staying()).own_network();
    let running = run.spawn(&[]);
    running.wait_for_text("it has begun");
    let tmp = run.path().join("tmp");
    let folder = fs::read_dir(&tmp)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let mut folder = folder.filter(|path| path.join("runtime").exists());
    let folder = folder.next().unwrap();
    let installation = installation(&folder.join("runtime"));
    // Drop kills it, as `kill -9` does.
    drop(running);
    assert!(folder.exists());
    assert!(!left(&installation).is_empty());
    (run, folder, installation)
}

/// Each of these tests removes what the others left, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn the_next_start_removes_what_a_killed_run_left() {
    let _turn = turn();
    let (run, folder, installation) = killed_run();
    let said = clean(&["--dry-run"]);
    let lines = about(&said, &installation);
    assert!(
        lines[0].contains("an `airside run` that was killed"),
        "{said}"
    );
    for thing in ["container ", "control groups", "folder "] {
        let wanted = format!("would remove {thing}");
        assert!(lines.iter().any(|line| line.contains(&wanted)), "{said}");
    }
    assert!(folder.exists(), "it only looked");
    // Another installation, with a folder for temporary things of its own.
    Run::new(&short()).own_network().run(&[]).ended_with(0);
    assert_eq!(left(&installation), [""; 0]);
    assert!(!folder.exists());
    run.nothing_is_left();
}

#[test]
fn clean_removes_what_a_killed_run_left() {
    let _turn = turn();
    let (run, folder, installation) = killed_run();
    let said = clean(&[]);
    let lines = about(&said, &installation);
    assert!(
        lines.iter().any(|line| line.contains("removed container ")),
        "{said}"
    );
    assert_eq!(left(&installation), [""; 0], "{said}");
    assert!(!folder.exists());
    run.nothing_is_left();
    assert_eq!(about(&clean(&[]), &installation), [""; 0]);
}

#[test]
fn a_stopped_server_keeps_its_steps_until_its_data_folder_is_gone() {
    let _turn = turn();
    let mut server = ServerOptions::new().own_network().start();
    let fly = server.fly();
    fly.pipeline("p", &staying());
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "it has begun");
    let installation = installation(&server.data().join("runtime"));
    server.kill_9();
    let said = clean(&[]);
    let lines = about(&said, &installation);
    assert!(
        lines.iter().any(|line| line.contains("kept; --stopped")),
        "{said}"
    );
    assert!(!left(&installation).is_empty());
    // The user moves the folder away.
    let away = server.home().join("away");
    fs::rename(server.data(), &away).unwrap();
    let said = clean(&[]);
    let lines = about(&said, &installation);
    assert!(lines[0].contains("its data folder was removed"), "{said}");
    wait_until("nothing is left", || left(&installation).is_empty());
    fs::rename(&away, server.data()).unwrap();
}
