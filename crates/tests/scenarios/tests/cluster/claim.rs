//! Another pod of the namespace tries to do a step's work. Needs a cluster: see `make
//! test-cluster-all`.

use std::fs;

use crate::support::{Namespace, one_task};
use airside_scenarios::{Counter, wait_until};
use serde_json::{Value, json};

/// A pod that is like the step's in everything that its maker can choose, its token included.
fn thief(pod: &str) -> String {
    let mut pod: Value = serde_json::from_str(pod).unwrap();
    pod["metadata"] = json!({"name": "thief"});
    let pod = pod.as_object_mut().unwrap();
    pod.remove("status");
    let spec = pod["spec"].as_object_mut().unwrap();
    spec.remove("nodeName");
    spec.insert("terminationGracePeriodSeconds".to_owned(), json!(1));
    serde_json::to_string(pod).unwrap()
}

#[test]
fn a_pod_that_knows_the_token_of_another_is_refused_and_named_in_the_build() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    fly.pipeline("p", &one_task(&counter.bump("work")));
    counter.hold("work");
    let watching = fly.spawn(&["trigger-job", "-j", "p/build", "-w"]);
    counter.wait("work", 1);
    let pod = namespace.pods().remove(0);
    let file = namespace.kubeconfig().with_file_name("thief.json");
    let text = namespace.kubectl(&["get", "pod", &pod, "-o", "json"]);
    assert!(text.contains("AIRSIDE_TOKEN"), "{text}");
    fs::write(&file, thief(&text)).unwrap();
    namespace.kubectl(&["create", "-f", file.to_str().unwrap()]);
    let phase = ["get", "pod", "thief", "-o", "jsonpath={.status.phase}"];
    wait_until("the other pod gives up", || {
        namespace.kubectl(&phase) == "Failed"
    });
    let said = namespace.kubectl(&["logs", "thief"]);
    assert!(said.contains("the hub refuses the claim"), "{said}");
    assert!(said.contains(r#"is for pod "thief""#), "{said}");
    namespace.kubectl(&["delete", "pod", "thief"]);

    counter.release("work");
    let output = watching.wait().succeeded();
    let words = "a claim of this step was refused: ";
    assert!(output.stdout.contains(words), "{}", output.stdout);
    assert_eq!(counter.count("work"), 1);
    namespace.wait_until_no_pods();
}
