//! Leftovers of builds, pipelines and servers are removed in the end.

use std::{fs, path::Path};

use airside_scenarios::{Environment, Server, ServerOptions, pipelines, wait_until};

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

fn builds() -> usize {
    let given = std::env::var("AIRSIDE_GARBAGE_BUILDS");
    given.map_or(12, |number| number.parse().expect("a number"))
}

/// A pipeline whose builds leave outputs, a cache, and something fetched.
fn pipeline() -> String {
    let task = pipelines::task(
        "t",
        "outputs: [{name: out}]\ncaches: [{path: kept}]\ninputs: [{name: r}]",
        "echo said; echo x >out/file; date >kept/file",
    );
    format!(
        "resources:\n- {{name: r, type: mock, source: {{force_version: v1, create_files: {{f: x}}}}}}\n\
         jobs:\n- name: job\n  build_log_retention: {{builds: 3}}\n  plan:\n  - get: r\n{task}"
    )
}

#[test]
fn logs_go_as_the_job_says_and_a_destroyed_pipeline_leaves_nothing() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &pipeline());
    let logs = server.data().join("logs");
    let volumes = server.data().join("volumes/live");
    for _ in 0..builds() {
        fly.trigger_and_watch("p/job").succeeded();
    }
    let first = fly.builds().into_iter().map(|build| build.id).min();
    let first = first.expect("there are builds");
    wait_until("old logs are gone", || {
        let left = fs::read_dir(&logs).expect("it is there").flatten();
        !left
            .into_iter()
            .any(|entry| entry.file_name() == *first.to_string())
    });
    let watched = fly.watch(first).succeeded();
    let said = watched.lines().join("\n");
    assert!(said.contains("this build's log was removed"), "{said}");
    let builds = fly.builds();
    let newest = builds
        .iter()
        .filter(|build| build.job_name == "job")
        .take(3);
    for build in newest {
        let said = fly.watch(build.id).succeeded().lines().join("\n");
        assert!(said.contains("said"), "{said}");
    }
    assert!(count(&volumes) > 0, "a cache is kept");

    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    wait_until("all logs are gone", || count(&logs) == 0);
    let containers = server.data().join("runtime/containers");
    wait_until("all containers are gone", || count(&containers) == 0);
    // What was fetched stays for those who have just found it.
    wait_until("outputs and caches of tasks are gone", || {
        count(&volumes) <= 1
    });
    wait_until("all volumes are gone", || count(&volumes) == 0);
    assert!(fly.builds().is_empty());
    let log = server.log();
    assert!(log.contains("collected"), "{log}");
}

/// The files that say which installation is where, of servers on this data folder.
fn presence(data: &Path) -> Option<String> {
    let root = data.join("runtime");
    let entries = fs::read_dir("/run/airside/installations").into_iter();
    let mut entries = entries.flatten().flatten();
    let root_of = |entry: &fs::DirEntry| -> Option<serde_json::Value> {
        let text = fs::read(entry.path()).ok()?;
        serde_json::from_slice(&text).ok()
    };
    let found = entries.find(|entry| {
        root_of(entry).is_some_and(|here| here["root"].as_str().map(Path::new) == Some(&root))
    });
    found.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn tables() -> String {
    let listed = std::process::Command::new("nft")
        .args(["list", "tables"])
        .output();
    String::from_utf8_lossy(&listed.expect("nft runs").stdout).into_owned()
}

fn groups(installation: &str) -> Vec<std::path::PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let hierarchies = fs::read_dir(root).expect("control groups").flatten();
    let hierarchies = hierarchies
        .map(|entry| entry.path())
        .chain([root.to_owned()]);
    hierarchies
        .map(|hierarchy| hierarchy.join("airside").join(installation))
        .filter(|group| group.is_dir())
        .collect()
}

fn checkers_of(pid: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes").flatten() {
        let text = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let status = String::from_utf8_lossy(&text("status")).into_owned();
        let line = String::from_utf8_lossy(&text("cmdline")).into_owned();
        if status.contains(&format!("PPid:\t{pid}\n")) {
            let folder = line
                .split('\0')
                .find(|part| part.contains("airside-checkers-"));
            found.extend(folder.map(str::to_owned));
        }
    }
    found
}

fn run_something(server: &Server) {
    let fly = server.fly();
    fly.pipeline("p", &pipeline());
    fly.trigger_and_watch("p/job").succeeded();
}

#[test]
fn a_server_that_stops_leaves_nothing_on_the_machine() {
    let mut server = ServerOptions::new().own_network().start();
    let installation = presence(&server.data()).expect("it says that it is there");
    run_something(&server);
    assert!(tables().contains(&format!("airside_{installation}")));
    let checkers = checkers_of(server.pid());
    assert!(!checkers.is_empty(), "a native type was checked");
    assert!(server.stop().success());
    assert!(!tables().contains(&format!("airside_{installation}")));
    assert_eq!(groups(&installation), Vec::<std::path::PathBuf>::new());
    assert_eq!(presence(&server.data()), None);
    for folder in checkers {
        assert!(!Path::new(&folder).exists(), "{folder}");
        let parent = Path::new(&folder).parent().expect("a folder in one");
        assert!(!parent.exists(), "{}", parent.display());
    }
}

#[test]
fn what_a_killed_server_left_goes_when_another_one_starts() {
    let mut killed = ServerOptions::new().own_network().start();
    let installation = presence(&killed.data()).expect("it says that it is there");
    run_something(&killed);
    let containers = killed.data().join("runtime/containers");
    wait_until("its containers are gone", || count(&containers) == 0);
    let checkers = checkers_of(killed.pid());
    assert!(!checkers.is_empty(), "a native type was checked");
    assert!(tables().contains(&format!("airside_{installation}")));
    killed.kill_9();
    // Check processes end when they have no more requests.
    for folder in &checkers {
        wait_until("its checkers end", || {
            let all = fs::read_dir("/proc").expect("processes").flatten();
            !all.into_iter().any(|entry| {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains(folder.as_str())
            })
        });
    }
    let other = ServerOptions::new().own_network().start();
    assert!(
        !tables().contains(&format!("airside_{installation}")),
        "{}",
        tables()
    );
    assert_eq!(groups(&installation), Vec::<std::path::PathBuf>::new());
    // Its checkers' folders go with the first check of the other.
    run_something(&other);
    for folder in checkers {
        assert!(!Path::new(&folder).exists(), "{folder}");
    }
}

/// A small disk of its own, for one server.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(mebibytes: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let size = format!("size={mebibytes}m,mode=755");
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "airside-disk"]);
        let mounted = mount.arg(folder.path()).status().expect("mount runs");
        assert!(mounted.success(), "mounting needs root");
        Self(folder)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let mut umount = std::process::Command::new("umount");
        let _ = umount.arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_step_that_fills_the_disk_fails_and_takes_nothing_else_down() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let disk = SmallDisk::mount(96);
    let server = ServerOptions::new().on_disk(disk.0.path()).start();
    let fly = server.fly();
    let greedy = pipelines::job(&[pipelines::task(
        "greedy",
        "",
        "dd if=/dev/zero of=big bs=1M",
    )]);
    let modest = pipelines::job(&[pipelines::task("modest", "", "echo still here")]);
    fly.pipeline("greedy", &greedy);
    fly.pipeline("modest", &modest);
    fly.trigger_and_watch("modest/job").succeeded();
    let ended = fly.trigger_and_watch("greedy/job");
    let said = ended.lines().join("\n");
    assert!(said.contains("No space left on device"), "{said}");
    assert_ne!(ended.code, Some(0), "{said}");
    // The container of a failed build is kept, unless its room is needed.
    wait_until("its room is needed", || {
        server
            .log()
            .contains("kept container given up: the disk is full")
    });
    let containers = server.data().join("runtime/containers");
    wait_until("its container is gone", || count(&containers) == 0);
    let said = fly
        .trigger_and_watch("modest/job")
        .succeeded()
        .lines()
        .join("\n");
    assert!(said.contains("still here"), "{said}");
}

#[test]
fn a_disk_that_stays_full_is_told_and_gets_room_without_the_database() {
    let disk = SmallDisk::mount(96);
    let server = ServerOptions::new().on_disk(disk.0.path()).start();
    let fly = server.fly();
    // It takes whatever room is made, and never ends by itself.
    let script = "while :; do dd if=/dev/zero of=big bs=64k oflag=append conv=notrunc 2>/dev/null; sleep 0.1; done";
    let greedy = pipelines::task(
        "greedy",
        "outputs: [{name: out}]",
        &format!("cd out; {script}"),
    );
    fly.pipeline("greedy", &pipelines::job(&[greedy]));
    fly.pipeline(
        "modest",
        &pipelines::job(&[pipelines::task("modest", "", "echo still here")]),
    );
    let build = fly.trigger("greedy/job");
    let mut told = Vec::new();
    wait_until("the step that takes most of the disk ends", || {
        let (status, health) = server.http("GET", "/api/v1/health", &[], "");
        if !health.contains("\"status\":\"ok\",\"timestamp") {
            told.push((status, health));
        }
        server.log().contains("step ended that takes most")
    });
    assert!(!told.is_empty(), "health said ok all the time");
    let words = "the server's disk was full, and this step took most of it";
    wait_until("its build ends", || fly.status(build.id) == "errored");
    let said = fly.watch(build.id).stdout;
    assert!(said.contains(words), "{said}");
    wait_until("health is ok again", || {
        let (status, health) = server.http("GET", "/api/v1/health", &[], "");
        status == 200 && health.contains("\"status\":\"ok\",\"timestamp")
    });
    fly.trigger_and_watch("modest/job").succeeded();
}

#[test]
fn a_build_is_aborted_while_the_disk_is_full() {
    let disk = SmallDisk::mount(96);
    let server = ServerOptions::new().on_disk(disk.0.path()).start();
    let fly = server.fly();
    fly.pipeline(
        "p",
        &pipelines::job(&[pipelines::task("t", "", "echo begun; sleep 1000")]),
    );
    let build = fly.trigger("p/job");
    fly.wait_for_text(build.id, "begun");
    // Files of others: removing the server's would not help.
    let fill = disk.0.path().join("fill");
    let full = || {
        let mut fill = fs::File::options()
            .create(true)
            .append(true)
            .open(&fill)
            .expect("a file");
        while std::io::Write::write_all(&mut fill, &[0; 4096]).is_ok() {}
    };
    full();
    wait_until("health says that nothing can be written", || {
        full();
        server.http("GET", "/api/v1/health", &[], "").0 == 507
    });
    fly.run(&["abort-build", "-b", &build.id.to_string()])
        .succeeded();
    fs::remove_file(&fill).expect("it is there");
    wait_until("the build is aborted", || fly.status(build.id) == "aborted");
}
