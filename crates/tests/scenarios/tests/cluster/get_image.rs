//! A get of an image in which tasks run as pods: it fetches the description of the image, and nodes
//! pull the rest. Steps that need its files have them. Needs a cluster: see `make test-cluster`.

use std::{path::Path, process::Command};

use crate::support::{Namespace, cluster};
use airside_scenarios::{Fly, Registry, Server, type_rootfs};
use tempfile::TempDir;

/// The line of a get that leaves the layers to others, and what one that fetches them says of each.
const DESCRIBED: &str = "fetching no layers";
/// The line that ends the pull of all layers.
const PULLED: &str = "\npulled ";

/// A registry that wants a login and that nodes reach, with one image whose entrypoint is a script
/// of its own.
struct House {
    server: Server,
    fly: Fly,
    namespace: Namespace,
    repository: String,
    _registry: Registry,
    _folder: TempDir,
}

impl House {
    fn offered() -> Option<Self> {
        let namespace = Namespace::offered()?;
        let folder = tempfile::tempdir().unwrap();
        // An image of its own: kubelets remember which took credentials.
        let entry = format!("#!/bin/sh\necho by itself in {}\n", namespace.name);
        let rootfs = type_rootfs(folder.path(), &[("entry", &entry)]);
        let layout = folder.path().join("layout");
        let made = Command::new(tool("image"))
            .arg("layout")
            .args([&rootfs, &layout])
            .arg("/opt/resource/entry")
            .status();
        assert!(made.unwrap().success());
        let host = namespace.host.to_string();
        let registry = Registry::start(&layout, &["--user", "ci:right", "--host", &host]);
        let repository = registry.repository().replace("127.0.0.1", &host);
        cluster(&["plain-registry", &format!("{host}:{}", registry.port)]);
        namespace.allow_pull_secrets();
        let server = namespace.server();
        let fly = server.fly();
        Some(Self {
            server,
            fly,
            namespace,
            repository,
            _registry: registry,
            _folder: folder,
        })
    }

    /// A job `build` of this plan, beside a resource `image`.
    fn set(&self, plan: &str) {
        let repository = &self.repository;
        let config = format!(
            "resources:\n- name: image\n  type: registry-image\n  check_every: never\n  source: {{repository: \"{repository}\", \
             tag: \"1\", username: ci, password: right, insecure: true}}\njobs:\n- name: build\n  plan:\n{plan}"
        );
        self.fly.pipeline("p", &config);
        self.fly
            .run(&["check-resource", "-r", "p/image"])
            .succeeded();
    }

    fn built(&self, plan: &str) -> String {
        self.set(plan);
        let output = self.fly.trigger_and_watch("p/build").succeeded();
        output.lines().join("\n")
    }
}

fn tool(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../dev")
        .join(name)
}

/// A task in a pod whose image is the artifact.
fn in_image(script: &str, more: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!(
        "  - task: work\n    image: image\n    tags: [pods]\n    config: {{platform: linux{more}, \
         run: {{path: sh, args: [-c, {script}]}}}}\n"
    )
}

const GET: &str = "  - get: image\n    tags: [pods]\n";

#[test]
fn a_node_pulls_what_the_get_names() {
    let Some(house) = House::offered() else {
        return;
    };
    let (fly, namespace) = (&house.fly, &house.namespace);
    house.set(&format!(
        "{GET}{}",
        in_image("cat /opt/resource/entry; echo running; sleep 600", "")
    ));
    let build = fly.trigger("p/build");
    fly.wait_for_text(build.id, "\nrunning");
    let selector = "airside.dev/kind=task";
    let query = |path: &str| {
        let path = format!("jsonpath={{.items[*]{path}}}");
        namespace.kubectl(&["get", "pods", "-l", selector, "-o", &path])
    };
    let image = query(".spec.containers[0].image");
    let expected = format!("{}@sha256:", house.repository);
    assert!(image.starts_with(&expected), "{image}");
    let secret = query(".spec.imagePullSecrets[*].name");
    assert!(!secret.is_empty());
    fly.run(&["abort-build", "-b", &build.id.to_string()])
        .succeeded();
    let text = fly.watch(build.id).lines().join("\n");
    assert!(text.contains(DESCRIBED), "{text}");
    assert!(!text.contains(PULLED), "{text}");
    assert!(
        text.contains(&format!("by itself in {}", namespace.name)),
        "{text}"
    );
    // The next build finds the description of the image, and the image is still not fetched.
    let text = house.built(&format!("{GET}{}", in_image("echo again", "")));
    assert!(text.contains("found existing resource cache"), "{text}");
    assert!(text.contains("\nagain"), "{text}");
    namespace.wait_until_no_pods();
}

#[test]
fn its_program_and_what_is_said_of_it_are_known_without_its_files() {
    let Some(house) = House::offered() else {
        return;
    };
    let entry = "  - task: work\n    image: image\n    tags: [pods]\n    config: {platform: linux, run: {}}\n";
    let load = "  - load_var: digest\n    file: image/digest\n    reveal: true\n";
    let show = in_image("echo digest ((.:digest))", "");
    let text = house.built(&format!("{GET}{load}{entry}{show}"));
    let itself = format!("\nby itself in {}\n", house.namespace.name);
    assert!(text.contains(&itself), "{text}");
    assert!(text.contains("\ndigest sha256:"), "{text}");
    assert!(text.contains(DESCRIBED) && !text.contains(PULLED), "{text}");
    house.namespace.wait_until_no_pods();
}

#[test]
fn files_are_fetched_when_somebody_wants_them() {
    let Some(house) = House::offered() else {
        return;
    };
    // As an input of the task that runs in it, of another one on this machine, and through a
    // variable.
    let look = "test -x image/rootfs/opt/resource/entry && cat image/digest";
    let input = ", inputs: [{name: image}]";
    let here = "  - task: here\n    config:\n      platform: linux\n      image_resource: {type: host, source: {}}\n      \
                inputs: [{name: image}]\n      run: {path: ls, args: [image/rootfs/opt/resource]}\n";
    let load = "  - load_var: entry\n    file: image/rootfs/opt/resource/entry\n    reveal: true\n";
    let show = in_image("echo 'loaded ((.:entry))'", "");
    let text = house.built(&format!("{GET}{}{here}{load}{show}", in_image(look, input)));
    assert!(text.contains(DESCRIBED), "{text}");
    assert_eq!(text.matches(PULLED).count(), 1, "fetched once: {text}");
    assert!(
        text.contains("\nsha256:") && text.contains("\nentry"),
        "{text}"
    );
    assert!(text.contains("\nloaded #!/bin/sh"), "{text}");
    // Across, in each of several attempts, and with the layers asked for.
    let across = in_image("exit 0", input).replace(
        "    tags: [pods]\n",
        "    tags: [pods]\n    attempts: 2\n    across: [{var: v, values: [1, 2], max_in_flight: 2}]\n",
    );
    let text = house.built(&format!("{GET}{across}"));
    assert!(text.contains(DESCRIBED), "{text}");
    house.namespace.wait_until_no_pods();
}

#[test]
fn who_asks_for_the_files_gets_them_and_so_do_other_workers() {
    let Some(house) = House::offered() else {
        return;
    };
    let asked = format!("{GET}    params: {{format: rootfs}}\n");
    let text = house.built(&format!("{asked}{}", in_image("echo ran", "")));
    assert!(text.contains(PULLED) && !text.contains(DESCRIBED), "{text}");
    assert!(text.contains("\nran"), "{text}");
    // A task on this machine runs in what was fetched.
    let here = in_image("echo here", "").replace("    tags: [pods]\n", "");
    let text = house.built(&format!("  - get: image\n{here}"));
    assert!(!text.contains(DESCRIBED), "{text}");
    assert!(text.contains("\nhere"), "{text}");
    drop(house.server);
    house.namespace.wait_until_no_pods();
}
