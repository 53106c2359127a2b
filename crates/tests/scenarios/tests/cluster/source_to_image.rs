//! The example pipeline from source to a running image: a commit is built into an image in a pod
//! with a user namespace of its own, pushed to a real registry, and run from there. Needs a cluster
//! and an image with buildah in it (`AIRSIDE_BUILDAH`, a root file system): see `make
//! test-cluster-all`.

use std::{
    fs,
    net::{IpAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::support::{Namespace, cluster};
use airside_scenarios::wait_until;
use tempfile::TempDir;

const EXAMPLE: &str = include_str!("../../../../../examples/source-to-image.yml");

/// Settings of the target for the task that builds: it may mount, inside its own user namespace.
const TARGET: &str = r"  host_image: airside.local/buildah:latest
  privileged: userns
  pod_rules:
  - match: {team: main, step: build}
    patch:
      spec:
        containers:
        - name: step
          securityContext:
            capabilities: {add: [SYS_ADMIN]}
            appArmorProfile: {type: Unconfined}
";

const CONTAINERFILE: &str = r#"FROM scratch
COPY busybox /bin/busybox
RUN ["/bin/busybox", "sh", "-c", "/bin/busybox --install -s /bin; echo made by $(id -un 2>/dev/null || id -u) >/made-by"]
ENV PATH=/bin
"#;

/// A program that serves at an address which nodes and pods reach, until it is dropped.
struct Service {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Service {
    fn start(host: IpAddr, folder: TempDir, command: impl Fn(&Path, u16) -> Command) -> Self {
        let port = {
            let free = TcpListener::bind((host, 0)).unwrap();
            free.local_addr().unwrap().port()
        };
        let process = command(folder.path(), port)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let address = format!("{host}:{port}");
        wait_until("the service answers", || {
            TcpStream::connect(&address).is_ok()
        });
        Self {
            process,
            address,
            _folder: folder,
        }
    }

    fn registry(host: IpAddr) -> Self {
        Self::start(host, tempfile::tempdir().unwrap(), |folder, port| {
            let config = format!(
                "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}/data}}\n\
                 http: {{addr: \"{host}:{port}\"}}\n",
                folder.display()
            );
            let file = folder.join("config.yml");
            fs::write(&file, config).unwrap();
            let mut registry = Command::new("/usr/bin/docker-registry");
            registry.arg("serve").arg(file);
            registry
        })
    }

    /// A repository with what an image is made of.
    fn repository(host: IpAddr) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let code = folder.path().join("code");
        fs::create_dir(&code).unwrap();
        fs::write(code.join("Containerfile"), CONTAINERFILE).unwrap();
        fs::copy("/bin/busybox", code.join("busybox")).unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["add", "."],
            &[
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@example.com",
                "commit",
                "-qm",
                "first",
            ],
        ] {
            let ended = Command::new("git").args(args).current_dir(&code).status();
            assert!(ended.unwrap().success(), "git {args:?}");
        }
        Self::start(host, folder, |folder, port| {
            let mut daemon = Command::new("git");
            daemon
                .args(["daemon", "--export-all", &format!("--listen={host}")])
                .arg(format!("--port={port}"))
                .arg(format!("--base-path={}", folder.display()))
                .arg(folder);
            daemon
        })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // git's daemon is a child of the git program, which passes this on.
        let pid = self.process.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let _ = self.process.wait();
    }
}

#[test]
fn a_commit_becomes_an_image_that_runs() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let Ok(rootfs) = std::env::var("AIRSIDE_BUILDAH") else {
        eprintln!("skipped: needs an image with buildah, see `make buildah-image`");
        return;
    };
    cluster(&["load", "airside.local/buildah:latest", &rootfs]);
    let (registry, code) = (
        Service::registry(namespace.host),
        Service::repository(namespace.host),
    );
    cluster(&["plain-registry", &registry.address]);
    let image = format!("{}/team/code, insecure: true", registry.address);
    let pipeline = EXAMPLE
        .replace("((repository))", &format!("git://{}/code", code.address))
        .replace("((image))", &image)
        .replace("((builder))", "airside.local/buildah");

    let server = namespace.server_alone(TARGET, &[]);
    let fly = server.fly();
    fly.pipeline("p", &pipeline);
    fly.trigger_and_watch("p/build").succeeded();
    let ran = fly.trigger_and_watch("p/run").succeeded();
    assert!(ran.stdout.contains("made by 0"), "{ran:?}");

    // The pods of checks would stay for the next one.
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    namespace.wait_until_no_pods();
}
