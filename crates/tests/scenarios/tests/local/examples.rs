//! The pipelines that the README and `examples/` show do what is said of them, as they are printed:
//! against a git repository and a registry on loopback, and a mirror that has stand-ins for the
//! images of Docker Hub.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
};

use airside_scenarios::{Environment, Run, start_tool, wait_until};

const README: &str = include_str!("../../../../../README.md");
const FROM_ACTIONS: &str = include_str!("../../../../../docs/from-github-actions.md");
const RELEASE: &str = include_str!("../../../../../examples/release.yml");
const RELEASE_FILES: &str = include_str!("../../../../../examples/release-files.yml");
const HELLO: &str = include_str!("../../../../../examples/hello.yml");
const COMMIT: &str = include_str!("../../../../../examples/commit.yml");
const FAIL_FAST: &str = include_str!("../../../../../examples/fail-fast.yml");

/// The block of a page that begins with these words.
fn printed(page: &'static str, words: &str) -> &'static str {
    let blocks = page.split("```yaml\n").skip(1);
    let mut blocks = blocks.map(|block| block.split("```").next().unwrap());
    blocks.find(|block| block.starts_with(words)).unwrap()
}

fn run(command: &mut Command) -> String {
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{command:?}: {ended:?}");
    String::from_utf8(ended.stdout).unwrap()
}

fn git(folder: &Path, args: &[&str]) -> String {
    let who = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    let mut git = Command::new("git");
    run(git.arg("-C").arg(folder).args(who).args(args))
}

fn tool(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../dev")
        .join(name)
}

/// A program that serves, until it is dropped.
struct Service {
    process: Child,
    port: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        // git's daemon is a child of the git program, which passes this on.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.process.wait();
    }
}

/// Serves the repositories of a folder; every client may push.
fn serve_git(folder: &Path) -> Service {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let process = Command::new("git")
        .args(["daemon", "--export-all", "--enable=receive-pack"])
        .args(["--listen=127.0.0.1", &format!("--port={port}")])
        .arg(format!("--base-path={}", folder.display()))
        .arg(folder)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let service = Service {
        process,
        port: port.to_string(),
    };
    wait_until("git's daemon answers", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    service
}

/// A registry that takes pushes.
fn serve_registry(folder: &Path) -> Service {
    let config = format!(
        "version: 0.1\nlog: {{level: info}}\nstorage:\n  filesystem: {{rootdirectory: {}/data}}\n\
         http: {{addr: \"127.0.0.1:0\"}}\n",
        folder.display()
    );
    let file = folder.join("registry.yml");
    fs::write(&file, config).unwrap();
    let mut process = Command::new("/usr/bin/docker-registry")
        .arg("serve")
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let port = listening_port(process.stderr.take().unwrap());
    Service { process, port }
}

/// The port that its log names. The rest of the log is read and forgotten.
fn listening_port(log: ChildStderr) -> String {
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let port = lines.by_ref().find_map(|line| {
        let (_, place) = line.split_once("msg=\"listening on 127.0.0.1:")?;
        Some(place.split('"').next()?.to_owned())
    });
    std::thread::spawn(move || lines.for_each(drop));
    port.unwrap()
}

/// A repository `code` with these files on `main`, and the branch `version`, which is empty.
fn repository(folder: &Path, files: &[(&str, &[u8])]) -> PathBuf {
    let (bare, copy) = (folder.join("code.git"), folder.join("code"));
    run(Command::new("git")
        .args(["init", "-q", "--bare", "-b", "main"])
        .arg(&bare));
    run(Command::new("git")
        .args(["clone", "-q"])
        .arg(&bare)
        .arg(&copy));
    git(&copy, &["checkout", "-q", "-b", "version"]);
    git(&copy, &["commit", "-q", "--allow-empty", "-m", "none yet"]);
    git(&copy, &["checkout", "-q", "--orphan", "main"]);
    for (name, content) in files {
        let path = copy.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    git(&copy, &["add", "."]);
    git(&copy, &["commit", "-q", "-m", "first"]);
    git(&copy, &["push", "-q", "origin", "main", "version"]);
    bare
}

/// An image as `docker load` takes it.
fn archive(folder: &Path) -> Vec<u8> {
    let file = folder.join("archive.tar");
    run(Command::new(tool("image"))
        .args(["archive", "made/image:dev"])
        .arg(Environment::get().rootfs)
        .arg(&file));
    fs::read(file).unwrap()
}

/// The layout of an image with these programs in `/usr/local/bin` and these files in `/`.
fn layout(folder: &Path, programs: &[(&str, &str)], files: &[(&str, &[u8])]) -> String {
    let (tree, rootfs) = (folder.join("tree"), folder.join("rootfs.tar"));
    let bin = tree.join("usr/local/bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, script) in programs {
        let path = bin.join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for (name, content) in files {
        fs::write(tree.join(name), content).unwrap();
    }
    fs::copy(Environment::get().rootfs, &rootfs).unwrap();
    run(Command::new("tar")
        .args(["--append", "--owner=0", "--group=0", "-f"])
        .arg(&rootfs)
        .arg("-C")
        .arg(&tree)
        .arg("."));
    let layout = folder.join("layout");
    run(Command::new(tool("image"))
        .arg("layout")
        .arg(rootfs)
        .arg(&layout));
    layout.display().to_string()
}

/// Stands for Docker Hub, with what `examples/release.yml` wants of it.
fn serve_mirror(folder: &Path) -> Service {
    let image = |name: &str, programs: &[(&str, &str)], files: &[(&str, &[u8])]| {
        let folder = folder.join(name.replace('/', "-"));
        format!("{name}={}", layout(&folder, programs, files))
    };
    let go = "#!/bin/sh\nset -e\ntest -f main.go\nmkdir -p \"$GOPATH/pkg\" \"$GOCACHE\"\n\
              case $GOPATH in */go) ;; *) exit 1;; esac\necho go \"$@\" in the cache, of $(cat main.go)\n";
    let build = "#!/bin/sh\nset -e\ntest -f main.go\ncp /archive.tar image/image.tar\necho built $(cat VERSION)\n";
    let archive = archive(folder);
    let images = [
        image("library/golang", &[("go", go)], &[]),
        image("library/busybox", &[], &[]),
        image(
            "concourse/oci-build-task",
            &[("build", build)],
            &[("archive.tar", &archive)],
        ),
    ];
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let (process, port) = start_tool("registry", &images);
    Service { process, port }
}

/// Returns true if the registry has an image by this tag.
fn pushed(registry: &Service, name: &str, tag: &str) -> bool {
    let url = format!(
        "http://127.0.0.1:{}/v2/{name}/manifests/{tag}",
        registry.port
    );
    let accept = "Accept: application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";
    let mut curl = Command::new("curl");
    let asked = curl.args(["-sf", "-o", "/dev/null", "-H", accept, &url]);
    asked.status().unwrap().success()
}

#[test]
fn the_first_pipeline_of_the_readme_runs() {
    let output = Run::new(printed(README, "# hello.yml"))
        .run(&[])
        .succeeded();
    assert!(output.stdout.contains("hello from airside"), "{output:?}");
}

#[test]
fn the_workflow_that_was_moved_runs_over_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("test.sh"), "echo all is well, $MODE\n").unwrap();
    let run = Run::new(printed(FROM_ACTIONS, "# ci.yml"));
    let code = format!("code={}", folder.path().display());
    let output = run.run(&["--input", &code]).succeeded();
    for words in ["all is well, fast", "all is well, full", "| test.sh"] {
        assert!(output.stdout.contains(words), "no {words:?} in {output:?}");
    }
}

#[test]
fn the_command_that_opens_the_readme_prints_what_it_says() {
    let output = Run::new(HELLO).run(&[]).succeeded();
    let shown = README.split("$ airside run examples/hello.yml\n").nth(1);
    let shown = shown.unwrap().split("\n```").next().unwrap();
    // Times differ, and with them the widths of columns.
    let words = |line: &str| -> Vec<String> {
        let is_time =
            |word: &&str| word.ends_with('s') && word.starts_with(|c: char| c.is_numeric());
        let words = line.split_whitespace().filter(|word| !is_time(word));
        words.map(str::to_owned).collect()
    };
    let printed: Vec<_> = output.stdout.lines().map(words).collect();
    for line in shown.lines().map(words) {
        assert!(printed.contains(&line), "no {line:?} in {output:?}");
    }
}

#[test]
fn a_commit_is_tested_and_gets_the_next_version() {
    let folder = tempfile::tempdir().unwrap();
    let bare = repository(folder.path(), &[("test.sh", b"echo all is well\n")]);
    let daemon = serve_git(folder.path());
    let code = format!("repository=git://127.0.0.1:{}/code.git", daemon.port);
    let output = Run::new(COMMIT).run(&["-v", &code]).succeeded();
    assert!(
        output.stdout.contains("an image of version 1.1.0"),
        "{output:?}"
    );
    assert_eq!(git(&bare, &["show", "version:number"]).trim(), "1.1.0");
}

#[test]
fn fail_fast_ends_as_it_says() {
    let output = Run::new(FAIL_FAST).run(&[]).ended_with(1);
    assert!(output.stdout.contains("line 3: too long"), "{output:?}");
    assert!(!output.stdout.contains("never"), "{output:?}");
}

#[test]
fn the_release_of_files_makes_a_release() {
    let folder = tempfile::tempdir().unwrap();
    let task = |more: &str| {
        format!(
            "platform: linux\nimage_resource: {{type: host}}\ninputs: [{{name: code}}]\n{more}\n"
        )
    };
    let check = task("run: {path: cat, args: [code/main.go]}");
    let build = task(
        "outputs: [{name: image}]\nrun: {path: cp, args: [code/archive.tar, image/image.tar]}",
    );
    let archive = archive(folder.path());
    let bare = repository(
        folder.path(),
        &[
            ("main.go", b"package main\n"),
            ("archive.tar", &archive),
            ("ci/unit.yml", check.as_bytes()),
            ("ci/lint.yml", check.as_bytes()),
            ("ci/build-image.yml", build.as_bytes()),
        ],
    );
    let (daemon, registry) = (serve_git(folder.path()), serve_registry(folder.path()));
    let code = format!("repository=git://127.0.0.1:{}/code.git", daemon.port);
    let image = format!("image=127.0.0.1:{}/team/code", registry.port);
    let run = Run::new(RELEASE_FILES);
    let args = ["-v", &code, "-v", &image, "--allow-privileged"];
    run.run(&args).succeeded();
    assert!(pushed(&registry, "team/code", "0.1.1"));
    assert_eq!(git(&bare, &["show", "version:number"]).trim(), "0.1.1");
}

#[test]
fn the_release_example_makes_a_release() {
    let folder = tempfile::tempdir().unwrap();
    let bare = repository(folder.path(), &[("main.go", b"package main\n")]);
    let (daemon, registry) = (serve_git(folder.path()), serve_registry(folder.path()));
    let mirror = serve_mirror(folder.path());
    let code = format!("repository=git://127.0.0.1:{}/code.git", daemon.port);
    let image = format!("image=127.0.0.1:{}/team/code", registry.port);
    let hub = format!("docker.io=127.0.0.1:{}", mirror.port);
    let variables = ["-v", &code, "-v", &image, "-v", "username=ci"];
    let more = [
        "-v",
        "password=none",
        "--registry-mirror",
        &hub,
        "--allow-privileged",
    ];
    let output = Run::new(RELEASE).run(&[variables.as_slice(), more.as_slice()].concat());
    let output = output.succeeded();
    for words in [
        "go test ./... in the cache, of package main",
        "go vet ./... in the cache, of package main",
        "built 0.1.1",
    ] {
        assert!(output.stdout.contains(words), "no {words:?} in {output:?}");
    }
    assert!(pushed(&registry, "team/code", "0.1.1"));
    assert_eq!(git(&bare, &["show", "version:number"]).trim(), "0.1.1");
}
