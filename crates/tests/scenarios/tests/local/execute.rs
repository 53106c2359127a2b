//! `fly execute`: uploads, one-off builds, downloads.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use airside_scenarios::{Environment, Fly, Server, ServerOptions, wait_until};

/// A folder with a task and an input, beside the server's own.
fn folder(server: &Server, task: &str) -> PathBuf {
    let folder = server.home().join("work");
    fs::create_dir_all(folder.join("in")).expect("the server's home is ours");
    fs::write(folder.join("in/file"), "from the input\n").expect("it was just made");
    fs::write(folder.join("task.yml"), task).expect("it was just made");
    folder
}

fn task(more: &str, script: &str) -> String {
    format!(
        "platform: linux\nimage_resource: {{type: host, source: {{}}}}\n{more}\n\
         run:\n  path: bash\n  args: [-ec, {script:?}, bash]\n"
    )
}

const IN_AND_OUT: &str = "inputs: [{name: in}]\noutputs: [{name: out}]\nparams: {PARAM: default}";

fn execute(fly: &Fly, folder: &Path, more: &[&str]) -> airside_scenarios::Output {
    let args = [&["execute", "-c", "task.yml"][..], more].concat();
    fly.within(folder).run(&args)
}

#[test]
fn inputs_params_and_arguments_go_in_and_outputs_come_out() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let script = "cat in/file; echo $PARAM, $1; mkdir out/deep; ln -s file out/deep/link; \
                  cp in/file out/deep/file; chmod 700 out/deep";
    let folder = folder(&server, &task(IN_AND_OUT, script));
    let said = execute(
        &fly,
        &folder,
        &["-i", "in=in", "-o", "out=result", "--", "arg"],
    );
    let said = said.succeeded();
    assert!(said.stdout.contains("executing build 1 at "), "{said:?}");
    assert!(said.stdout.contains("from the input"), "{said:?}");
    assert!(said.stdout.contains("default, arg"), "{said:?}");
    let file = folder.join("result/deep/file");
    assert_eq!(fs::read_to_string(file).unwrap(), "from the input\n");
    let link = fs::read_link(folder.join("result/deep/link")).unwrap();
    assert_eq!(link, Path::new("file"));

    // A one-off build is a build: it has its id as name, no job, and can be watched again.
    let build = fly.builds().remove(0);
    assert_eq!((build.name.as_str(), build.job_name.as_str()), ("1", ""));
    assert_eq!(build.status, "succeeded");
    assert!(fly.watch(1).succeeded().stdout.contains("default, arg"));
    let listed = fly.run(&["volumes"]).succeeded().stdout;
    assert!(listed.contains("artifact"), "{listed}");
}

#[test]
fn it_ends_as_the_task_does() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let folder = folder(&server, &task("", "exit 7"));
    execute(&fly, &folder, &[]).ended_with(7);
    fs::write(
        folder.join("task.yml"),
        task("inputs: [{name: in}]", "true"),
    )
    .unwrap();
    let missing = execute(&fly, &folder, &[]).ended_with(1);
    assert!(
        missing.stderr.contains("missing required input"),
        "{missing:?}"
    );
    let tagged = execute(&fly, &folder, &["-i", "in=in", "--tag", "nowhere"]).ended_with(2);
    assert!(tagged.stdout.contains("tags 'nowhere'"), "{tagged:?}");
}

#[test]
fn an_interrupt_aborts_the_build() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let script =
        "trap 'echo task got sigterm; exit 1' TERM; echo waiting; while :; do sleep 0.05; done";
    let folder = folder(&server, &task("", script));
    let mut running = fly.within(&folder).spawn(&["execute", "-c", "task.yml"]);
    running.wait_for_text("\nwaiting");
    running.interrupt();
    let said = running.wait().ended_with(3);
    assert!(said.stdout.contains("task got sigterm"), "{said:?}");
    assert!(said.stdout.contains("interrupted"), "{said:?}");
    assert_eq!(fly.status(1), "aborted");
}

#[test]
fn in_the_background() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let folder = folder(&server, &task("", "echo done"));
    let said = execute(&fly, &folder, &["--background"]).succeeded();
    assert!(said.stdout.contains("executing build 1"), "{said:?}");
    assert!(fly.watch(1).succeeded().stdout.contains("done"));
}

/// Files that a git repository ignores stay behind unless asked for.
#[test]
fn ignored_files_are_uploaded_only_if_asked_for() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let folder = folder(&server, &task(IN_AND_OUT, "ls in"));
    let input = folder.join("in");
    for args in [&["init", "-q"][..], &["config", "user.name", "x"]] {
        let made = Command::new("git").args(args).current_dir(&input).status();
        assert!(made.unwrap().success());
    }
    fs::write(input.join(".gitignore"), "*.left-out\n").unwrap();
    fs::write(input.join("a.left-out"), "").unwrap();
    let plain = execute(&fly, &folder, &["-i", "in=in"]).succeeded();
    assert!(!plain.stdout.contains("a.left-out"), "{plain:?}");
    let all = execute(&fly, &folder, &["-i", "in=in", "--include-ignored"]).succeeded();
    assert!(all.stdout.contains("a.left-out"), "{all:?}");
}

#[test]
fn inputs_of_a_job() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let pipeline = "resources: [{name: r, type: mock, source: {force_version: v7}}]\n\
                    jobs: [{name: j, plan: [{get: in, resource: r}]}]";
    fly.pipeline("p", pipeline);
    let folder = folder(&server, &task("inputs: [{name: in}]", "cat in/version"));
    fly.trigger_and_watch("p/j").succeeded();
    let said = execute(&fly, &folder, &["-j", "p/j"]).succeeded();
    assert!(said.stdout.contains("v7"), "{said:?}");
}

#[test]
fn what_is_no_upload_or_plan_is_refused() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = Server::start();
    let fly = server.fly();
    let token = fly.authorization();
    let headers = [("Authorization", token.as_str())];
    let post = |path: &str, body: &str| server.http("POST", path, &headers, body);
    for body in ["", "not gzip"] {
        let (status, words) = post("/api/v1/teams/main/artifacts", body);
        assert_eq!(status, 400, "{words}");
        assert!(words.contains("cannot be taken"), "{words}");
    }
    for body in ["", "{}", r#"{"id":"1","check":{"name":"r","type":"mock"}}"#] {
        let (status, words) = post("/api/v1/teams/main/builds", body);
        assert_eq!(status, 400, "{words}");
    }
    // Nothing of another team, and nothing that is not there.
    let plan = r#"{"id":"1","artifact_input":{"artifact_id":99,"name":"in"}}"#;
    let (status, words) = post("/api/v1/teams/main/builds", plan);
    assert_eq!(status, 201, "{words}");
    let said = fly.watch(1).ended_with(2);
    assert!(said.stdout.contains("input `in` is not there"), "{said:?}");
    let volumes = server.data().join("volumes/live");
    assert_eq!(fs::read_dir(volumes).unwrap().count(), 0);
}

/// Containers of a one-off are removed; its downloads stay.
#[test]
fn containers_of_one_offs_stay_for_a_while_and_downloads_for_longer() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let server = ServerOptions::new().args(["--keep-one-off", "0"]).start();
    let fly = server.fly();
    let folder = folder(&server, &task(IN_AND_OUT, "echo made > out/file; exit 1"));
    execute(&fly, &folder, &["-i", "in=in", "-o", "out=result"]).ended_with(1);
    let made = fs::read_to_string(folder.join("result/file")).unwrap();
    assert_eq!(
        made, "made\n",
        "outputs of a task that failed come out, too"
    );
    wait_until("the container goes", || {
        let containers = server.data().join("runtime/containers");
        fs::read_dir(containers).is_ok_and(|mut left| left.next().is_none())
    });
}
