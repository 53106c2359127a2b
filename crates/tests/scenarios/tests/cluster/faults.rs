//! Faults of steps as pods, on a cluster that itself is well: the server dies, pods are deleted,
//! images are missing, users change their mind. Needs a cluster: see `make test-cluster`.

use crate::support::{Namespace, cluster, one_task, printed, task};
use airside_scenarios::{Counter, wait_until};

const WORDS_OF_LOSS: &str = "It had started, so it is not run again by itself";

#[test]
fn the_server_dies_in_the_middle_of_a_task() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let mut server = namespace.server();
    let fly = server.fly();
    let script = format!(
        "echo before; {}; for i in $(seq 1 2000); do echo line $i; done; {}",
        counter.bump("middle"),
        counter.bump("end")
    );
    fly.pipeline("p", &one_task(&script));
    let undisturbed = printed(&fly.watch(fly.trigger("p/build").id).succeeded());

    // It goes on only when the server is back.
    counter.hold("middle");
    let build = fly.trigger("p/build");
    counter.wait("middle", 2);
    server.kill_9();
    server.restart();
    counter.release("middle");
    assert_eq!(printed(&fly.watch(build.id).succeeded()), undisturbed);

    // It goes on, and ends, while there is no server.
    counter.hold("middle");
    let build = fly.trigger("p/build");
    counter.wait("middle", 3);
    server.kill_9();
    counter.release("middle");
    counter.wait("end", 3);
    server.restart();
    assert_eq!(printed(&fly.watch(build.id).succeeded()), undisturbed);
    assert_eq!(
        (counter.count("middle"), counter.count("end")),
        (3, 3),
        "each ran once"
    );
    namespace.wait_until_no_pods();
}

#[test]
fn the_server_dies_while_a_get_is_on_its_way() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let mut server = namespace.server();
    let fly = server.fly();
    let get = "resources:\n- name: src\n  type: mock\n  source: {force_version: v1, create_files: \
               {f: text, n: __anew__}}\njobs:\n- name: build\n  plan:\n  - get: src\n    tags: [pods]\n";
    let look = task("look", "cat src/f; echo", "      inputs: [{name: src}]\n");
    let pipeline = format!("{get}{look}");
    fly.pipeline_anew("p", &pipeline);
    let undisturbed = printed(&fly.watch(fly.trigger("p/build").id).succeeded());
    for moment in ["container created", "container claimed"] {
        fly.pipeline_anew("p", &pipeline);
        let before = server.log().matches(moment).count();
        let build = fly.trigger("p/build");
        wait_until(moment, || server.log().matches(moment).count() > before);
        server.kill_9();
        server.restart();
        assert_eq!(
            printed(&fly.watch(build.id).succeeded()),
            undisturbed,
            "after {moment}"
        );
    }
    namespace.wait_until_no_pods();
}

#[test]
fn the_server_dies_in_the_middle_of_an_upload() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let mut server = namespace.server();
    let fly = server.fly();
    let make = format!(
        "{}; dd if=/dev/urandom of=big/file bs=1M count=200 2>/dev/null; sha256sum big/file",
        counter.bump("make")
    );
    let make = task("make", &make, "      outputs: [{name: big}]\n");
    let look = task(
        "look",
        "sha256sum big/file",
        "      inputs: [{name: big}]\n",
    );
    fly.pipeline("p", &format!("jobs:\n- name: build\n  plan:\n{make}{look}"));
    let build = fly.trigger("p/build");
    let receiving = server.data().join("volumes/tmp");
    wait_until("the upload is under way", || {
        let folders = std::fs::read_dir(&receiving)
            .into_iter()
            .flatten()
            .flatten();
        folders
            .flat_map(|folder| std::fs::metadata(folder.path().join("file")))
            .any(|file| file.len() > 1 << 20)
    });
    server.kill_9();
    server.restart();
    let lines = fly.watch(build.id).succeeded().lines();
    let sums: Vec<&String> = lines
        .iter()
        .filter(|line| line.ends_with("big/file") && !line.starts_with("running"))
        .collect();
    assert_eq!(sums.len(), 2, "{lines:#?}");
    assert_eq!(sums[0], sums[1], "what was made is what arrived");
    assert_eq!(counter.count("make"), 1);
    namespace.wait_until_no_pods();
}

#[test]
fn a_pod_that_is_deleted_under_a_task_ends_the_build_with_words() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    for (name, trap) in [
        ("listens", ""),
        ("polite", "trap 'exit 0' TERM; "),
        ("deaf", "trap '' TERM; "),
    ] {
        let script = format!("{trap}{}; sleep 1000 & wait", counter.bump(name));
        fly.pipeline(name, &one_task(&script));
        let build = fly.trigger(&format!("{name}/build"));
        counter.wait(name, 1);
        let pod = namespace.pods().remove(0);
        namespace.kubectl(&["delete", "pod", &pod, "--wait=false", "--grace-period=2"]);
        let said = fly.watch(build.id).lines().join("\n");
        assert!(said.contains(WORDS_OF_LOSS), "{name}: {said}");
        assert_eq!(fly.status(build.id), "errored");
        namespace.wait_until_no_pods();
        assert_eq!(counter.count(name), 1, "never twice");
    }
    namespace.wait_until_no_pods();
}

/// A server whose pods wait for a node that does not exist yet.
const NOWHERE: &str = "  node_selector: {airside-test: ";

fn let_run(namespace: &Namespace) {
    let label = format!("airside-test={}", namespace.name);
    cluster(&["kubectl", "label", "node", "n1", "--overwrite", &label]);
}

#[test]
fn a_pod_that_is_deleted_before_it_ran_is_placed_again() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server_with(&format!("{NOWHERE}{}}}\n", namespace.name));
    let fly = server.fly();
    fly.pipeline("p", &one_task(&counter.bump("run")));
    let build = fly.trigger("p/build");
    let pod = namespace.pod("a pod that waits", "{.status.phase}", |phase| {
        phase == "Pending"
    });
    fly.wait_for_text(build.id, "no node takes the pod yet");
    namespace.kubectl(&["delete", "pod", &pod]);
    wait_until("another pod", || {
        namespace.pods().iter().any(|other| *other != pod)
    });
    let_run(&namespace);
    let said = fly.watch(build.id).succeeded().lines().join("\n");
    assert!(said.contains("placed again"), "{said}");
    assert_eq!(counter.count("run"), 1);
    cluster(&["kubectl", "label", "node", "n1", "airside-test-"]);
    namespace.wait_until_no_pods();
}

#[test]
fn aborting_what_waits_for_a_node_or_an_image() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let away = one_task("echo never").replace(
        "{type: host, source: {}}",
        "{type: registry-image, source: {repository: '127.0.0.1:1/none'}}",
    );
    let nowhere = format!("{NOWHERE}{}}}\n", namespace.name);
    for (settings, config, words) in [
        (
            nowhere.as_str(),
            one_task("echo never"),
            "no node takes the pod yet",
        ),
        ("", away, "the image cannot be pulled yet"),
    ] {
        // The server does not look for the image: its node does.
        let server = namespace.server_with_args(settings, &["--registry-on-nodes", "127.0.0.1:1"]);
        let fly = server.fly();
        fly.pipeline("p", &config);
        let build = fly.trigger("p/build");
        fly.wait_for_text(build.id, words);
        fly.run(&["abort-build", "-b", &build.id.to_string()])
            .succeeded();
        fly.watch(build.id).ended_with(3);
        assert_eq!(fly.status(build.id), "aborted");
        namespace.wait_until_no_pods();
    }
}

#[test]
fn an_image_that_cannot_exist_is_named() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let config = one_task("echo never").replace(
        "{type: host, source: {}}",
        "{type: registry-image, source: {repository: airside.local/NO-such}}",
    );
    fly.pipeline("p", &config);
    let said = fly
        .trigger_and_watch("p/build")
        .ended_with(2)
        .lines()
        .join("\n");
    assert!(said.contains("airside.local/NO-such"), "{said}");
    namespace.wait_until_no_pods();
}
