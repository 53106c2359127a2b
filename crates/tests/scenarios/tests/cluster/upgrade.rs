//! A server that is replaced by a newer one while builds run, in pods whose shims speak an earlier
//! protocol. Needs a cluster, and such shims (`AIRSIDE_OLD_SHIMS`, a folder): see `make old-shims`.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Namespace, WORKER, one_task, printed, task};
use airside_scenarios::{Counter, Server, ServerOptions};

/// Shims as nodes know them: one of the last release, and one from before any that is welcome.
const EARLIER: &str = "old-shim-2";
const TOO_OLD: &str = "old-shim-0";

/// A namespace, and a server whose target can be changed.
struct House {
    server: Server,
    namespace: Namespace,
    targets: PathBuf,
}

impl House {
    fn with(shim: &str) -> Option<Self> {
        let namespace = Namespace::offered()?;
        let Ok(shims) = std::env::var("AIRSIDE_OLD_SHIMS") else {
            eprintln!("skipped: needs shims of earlier protocols, see `make old-shims`");
            return None;
        };
        let targets = namespace.kubeconfig().with_file_name("targets.yml");
        let image = load(&namespace, &Path::new(&shims).join(shim));
        write(&namespace, &targets, &format!("  shim_image: {image}\n"));
        let server = ServerOptions::new()
            .hub_ip(Ipv4Addr::UNSPECIFIED.into())
            .args(["--targets", targets.to_str().unwrap()])
            .args(["--keep-failed", "0"])
            .start();
        Some(Self {
            server,
            namespace,
            targets,
        })
    }
}

fn write(namespace: &Namespace, targets: &Path, settings: &str) {
    let target = namespace.target(WORKER, settings);
    fs::write(targets, format!("targets:\n{target}")).unwrap();
}

/// Puts a shim on every node, as an image of its own.
fn load(namespace: &Namespace, shim: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("airside-shim");
    fs::copy(shim, &program).expect("the shim is there");
    let rootfs = folder.path().join("rootfs.tar");
    let packed = Command::new("tar")
        .args(["--owner=0", "--group=0", "-C"])
        .arg(folder.path())
        .arg("-cf")
        .arg(&rootfs)
        .arg("airside-shim")
        .status();
    assert!(packed.unwrap().success());
    let name = shim.file_name().unwrap().to_str().unwrap();
    let image = format!("airside.local/{name}:dev");
    (namespace.cluster).ask(&["load", &image, rootfs.to_str().unwrap()]);
    image
}

#[test]
fn builds_outlive_a_server_whose_shims_speak_an_earlier_protocol() {
    let Some(mut house) = House::with(EARLIER) else {
        return;
    };
    let counter = Counter::start_at(house.namespace.host);
    let fly = house.server.fly();
    let first = format!(
        "seq 1 500; {}; seq 501 999; seq 1 9999 >made/numbers",
        counter.bump("first")
    );
    let second = format!("{}; sha256sum made/numbers", counter.bump("second"));
    let plan = format!(
        "jobs:\n- name: build\n  plan:\n{}{}",
        task("first", &first, "      outputs: [{name: made}]\n"),
        task("second", &second, "      inputs: [{name: made}]\n"),
    );
    fly.pipeline("p", &plan);
    let undisturbed = printed(&fly.watch(fly.trigger("p/build").id).succeeded());

    counter.hold("first");
    let builds = [fly.trigger("p/build"), fly.trigger("p/build")];
    counter.wait("first", 3);
    let shims = "jsonpath={.items[*].spec.volumes[*].image.reference}";
    let of = |kind: &str| {
        let selector = format!("airside.dev/kind={kind}");
        let pods = ["get", "pods", "-l", &selector, "-o", shims];
        house.namespace.kubectl(&pods)
    };
    assert_eq!(of("task").matches(EARLIER).count(), 2, "{}", of("task"));

    // The newer server brings its own shim; steps that run keep theirs.
    house.server.stop();
    write(&house.namespace, &house.targets, "");
    house.server.restart();
    counter.hold("second");
    counter.release("first");
    counter.wait("second", 3);
    let pods = of("task");
    assert!(pods.contains("airside.local/shim:dev"), "{pods}");
    counter.release("second");
    for build in builds {
        let output = fly.watch(build.id).succeeded();
        assert_eq!(printed(&output), undisturbed);
    }
    assert_eq!((counter.count("first"), counter.count("second")), (3, 3));
    house.namespace.wait_until_no_pods();
}

#[test]
fn a_shim_that_is_too_old_is_refused_with_what_to_do() {
    let Some(house) = House::with(TOO_OLD) else {
        return;
    };
    let fly = house.server.fly();
    fly.pipeline("p", &one_task("echo never"));
    let output = fly.trigger_and_watch("p/build").ended_with(2);
    let words =
        "the shim speaks protocol 0, this hub 1 to 3: use the shim that came with this airside";
    assert!(output.stdout.contains(words), "{output:?}");
    assert!(!output.stdout.contains("placed again"), "{output:?}");
    house.namespace.wait_until_no_pods();
}
