//! Servers that die at any time, with steps as pods. `AIRSIDE_CRASH_BUILDS` says how many builds
//! must survive it. Needs a cluster: see `make test-cluster`.

use crate::support::{Namespace, printed, task};
use airside_scenarios::{ANEW, Counter};

#[test]
fn builds_survive_servers_that_die_at_any_time() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let builds = std::env::var("AIRSIDE_CRASH_BUILDS").map_or(3, |text| text.parse().unwrap());
    let counter = Counter::start_at(namespace.host);
    let mut server = namespace.server();
    let fly = server.fly();
    let first = format!(
        "{}; seq 1 500; seq 1 9999 >made/numbers",
        counter.bump("first")
    );
    let second = format!(
        "{}; sha256sum made/numbers; seq 1 500",
        counter.bump("second")
    );
    let config = format!(
        "resources:\n- name: out\n  type: mock\n  source: {{initial_version: none, create_files: \
         {{n: {ANEW}}}}}\njobs:\n- name: build\n  \
         plan:\n{}{}  - put: out\n    tags: [pods]\n    params: {{version: v1}}\n",
        task("first", &first, "      outputs: [{name: made}]\n"),
        task("second", &second, "      inputs: [{name: made}]\n"),
    );
    fly.pipeline_anew("p", &config);
    let started = std::time::Instant::now();
    let undisturbed = printed(&fly.watch(fly.trigger("p/build").id).succeeded());
    let usual = started.elapsed();
    for number in 0..builds {
        fly.pipeline_anew("p", &config);
        let build = fly.trigger("p/build");
        for _ in 0..2 {
            // The very thing under test is that the moment does not matter.
            std::thread::sleep(usual.mul_f64(rand::random_range(0.0..0.6)));
            server.kill_9();
            server.restart();
        }
        assert_eq!(
            printed(&fly.watch(build.id).succeeded()),
            undisturbed,
            "build {number}"
        );
        let expected = number + 2;
        assert_eq!(
            (counter.count("first"), counter.count("second")),
            (expected, expected)
        );
    }
    namespace.wait_until_no_pods();
}
