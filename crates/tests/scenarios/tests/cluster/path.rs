//! The whole path with steps as pods, beside the same pipeline on this machine, under exactly the
//! rights that Airside asks for. Needs a cluster: see `make test-cluster`.

use crate::support::{Namespace, WORKER, printed};
use airside_scenarios::{ANEW, Output};

const HERE: &str = "local";

/// Get, two tasks that hand a tree on, and put; each on the worker that is named for it.
fn pipeline(get: &str, first: &str, second: &str, put: &str) -> String {
    let tags = |worker: &str| match worker {
        HERE => "[]".to_owned(),
        worker => format!("[{worker}]"),
    };
    let [get, first, second, put] = [get, first, second, put].map(tags);
    format!(
        r#"
resources:
- name: src
  type: mock
  source: {{force_version: v1, create_files: {{greeting: "hello from the get\n", n: {ANEW}}}, log: looking}}
- name: out
  type: mock
  source: {{initial_version: none, create_files: {{n: {ANEW}}}}}
jobs:
- name: build
  plan:
  - get: src
    tags: {get}
  - task: shout
    tags: {first}
    config:
      platform: linux
      image_resource: {{type: host, source: {{}}}}
      inputs: [{{name: src}}]
      outputs: [{{name: made}}]
      params: {{TONE: LOUD}}
      run:
        path: bash
        args: [-c, 'tr a-z A-Z <src/greeting; echo "tone $TONE" >&2; test -t 1 && echo terminal;
          echo v2 >made/version; ln -s version made/link; mkdir -m 750 made/folder']
  - task: look
    tags: {second}
    config:
      platform: linux
      image_resource: {{type: host, source: {{}}}}
      inputs: [{{name: made}}]
      run: {{path: bash, args: [-c, 'cat made/link; stat -c %a made/folder; readlink made/link']}}
  - put: out
    tags: {put}
    params: {{file: made/version}}
    get_params: {{create_files_via_params: {{more: text}}}}
"#
    )
}

fn workers(output: &Output) -> Vec<String> {
    let lines = output.lines();
    let chosen = lines
        .iter()
        .filter_map(|line| line.strip_prefix("selected worker: "));
    chosen.map(str::to_owned).collect()
}

#[test]
fn pods_print_what_local_steps_print() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    fly.pipeline_anew("here", &pipeline(HERE, HERE, HERE, HERE));
    fly.pipeline_anew("there", &pipeline(WORKER, WORKER, WORKER, WORKER));
    fly.pipeline_anew("mixed", &pipeline(HERE, WORKER, HERE, WORKER));
    fly.pipeline_anew("turned", &pipeline(WORKER, HERE, WORKER, HERE));

    let here = fly.trigger_and_watch("here/build").succeeded();
    assert!(
        here.lines().contains(&"HELLO FROM THE GET".to_owned()),
        "{here:?}"
    );
    let expected = printed(&here).replace("here/build", "…");
    for (name, chosen) in [
        ("there", [WORKER, WORKER, WORKER, WORKER, WORKER]),
        ("mixed", [HERE, WORKER, HERE, WORKER, WORKER]),
        ("turned", [WORKER, HERE, WORKER, HERE, HERE]),
    ] {
        let job = format!("{name}/build");
        let output = fly.trigger_and_watch(&job).succeeded();
        assert_eq!(printed(&output).replace(&job, "…"), expected, "{name}");
        assert_eq!(workers(&output), chosen, "{name}");
        namespace.wait_until_no_pods();
    }
    let builds = fly.builds();
    assert_eq!(builds.len(), 4);
    assert!(
        builds.iter().all(|build| build.status == "succeeded"),
        "{builds:#?}"
    );
    namespace.wait_until_no_pods();
}

#[test]
fn pods_fail_as_local_steps_fail() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    for (name, run, code, status) in [
        (
            "fails",
            "{path: sh, args: [-c, 'echo no; exit 3']}",
            3,
            "failed",
        ),
        (
            "signal",
            "{path: sh, args: [-c, 'kill -9 $$']}",
            137,
            "failed",
        ),
        ("missing", "{path: no-such-program}", 2, "errored"),
        ("nobody", "{path: sh, user: no-such-user}", 2, "errored"),
    ] {
        let [here, there] = ["[]", "[pods]"].map(|tags| {
            let config = format!(
                "jobs:\n- name: build\n  plan:\n  - task: it\n    tags: {tags}\n    config:\n      \
                 platform: linux\n      image_resource: {{type: host, source: {{}}}}\n      run: {run}\n"
            );
            fly.pipeline(name, &config);
            let output = fly.trigger_and_watch(&format!("{name}/build")).ended_with(code);
            assert_eq!(fly.builds()[0].status, status, "{name} {tags}");
            let text = printed(&output);
            text.split_once("\n\n").expect("an empty line after the first").1.to_owned()
        });
        assert_eq!(here, there, "{name}");
    }
    namespace.wait_until_no_pods();
}

/// `examples/mixed.yml`, on a target with another tag than the one it names.
#[test]
fn the_mixed_example_hands_a_file_from_this_machine_to_a_pod() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server();
    let fly = server.fly();
    let example = include_str!("../../../../../examples/mixed.yml");
    fly.pipeline("mixed", &example.replace("[kube]", &format!("[{WORKER}]")));
    let output = fly.trigger_and_watch("mixed/mixed").succeeded();
    for words in ["made on s-", "read in pod s-"] {
        assert!(output.stdout.contains(words), "no {words:?} in {output:?}");
    }
    assert_eq!(workers(&output), [HERE, WORKER]);
    namespace.wait_until_no_pods();
}
