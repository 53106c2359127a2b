//! Credentials that are Secrets of a real cluster, under exactly the rights that the documentation
//! asks for. Needs a cluster: see `make test-cluster-all`.

use crate::support::{Namespace, cluster, one_task};
use airside_scenarios::Counter;

const SECRET: &str = "sw0rdf1sh-8d1f-qzv";

/// A namespace of secrets, gone with the test.
struct Secrets(String);

impl Secrets {
    fn create(name: &str) -> Self {
        cluster(&["kubectl", "create", "namespace", name]);
        Self(name.to_owned())
    }

    fn keep(&self, name: &str, fields: &[&str]) {
        let literals: Vec<String> = fields
            .iter()
            .map(|field| format!("--from-literal={field}"))
            .collect();
        let mut args = vec![
            "kubectl", "-n", &self.0, "create", "secret", "generic", name,
        ];
        args.extend(literals.iter().map(String::as_str));
        cluster(&args);
    }

    /// Lets the account of another namespace read these, and do nothing else.
    fn allow(&self, account: &str) {
        let namespaced = ["kubectl", "-n", &self.0, "create"];
        let role = ["role", "reader", "--verb=get", "--resource=secrets"];
        cluster(&[&namespaced[..], &role].concat());
        let account = format!("--serviceaccount={account}:airside");
        let binding = ["rolebinding", "reader", "--role=reader", &account];
        cluster(&[&namespaced[..], &binding].concat());
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        cluster(&["kubectl", "delete", "namespace", &self.0, "--wait=false"]);
    }
}

#[test]
fn secrets_of_a_cluster_are_looked_up_by_team_and_pipeline() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let prefix = format!("{}-", namespace.name);
    let team = Secrets::create(&format!("{prefix}main"));
    let shared = Secrets::create(&format!("{prefix}all"));
    team.keep("word", &["value=of-the-team"]);
    team.keep("p.word", &[&format!("value={SECRET}")]);
    team.keep("db", &["user=ann", "password=hunter2"]);
    shared.keep("everybody", &["value=of-all"]);
    team.allow(&namespace.name);
    let kubeconfig = namespace.kubeconfig().to_str().unwrap();
    let server = namespace.server_with_args(
        "",
        &[
            "--kubernetes-config-path",
            kubeconfig,
            "--kubernetes-namespace-prefix",
            &prefix,
            "--kubernetes-shared-namespace-suffix",
            "all",
        ],
    );
    let fly = server.fly();
    let counter = Counter::start_at(namespace.host);
    counter.hold("step");
    let script = "echo ((word)) | tr a-z A-Z; echo ((db.user))-((db.password)) | tr a-z A-Z";
    fly.pipeline(
        "p",
        &one_task(&format!("{}; {script}", counter.bump("step"))),
    );
    let watching = fly.spawn(&["trigger-job", "-j", "p/build", "-w"]);
    let pod = namespace.pod("the step runs", "{.status.phase}", |phase| {
        phase == "Running"
    });
    let spec = namespace.kubectl(&["get", "pod", &pod, "-o", "yaml"]);
    for secret in [SECRET, "hunter2"] {
        assert!(!spec.contains(secret), "{spec}");
    }
    counter.release("step");
    let output = watching.wait().succeeded();
    let printed = output.lines().join("\n");
    assert!(printed.contains(&SECRET.to_uppercase()), "{printed}");
    assert!(printed.contains("ANN-HUNTER2"), "{printed}");

    // The account may not read there: that is no "not found".
    fly.pipeline("p", &one_task("echo ((everybody))"));
    let output = fly.trigger_and_watch("p/build");
    let printed = output.lines().join("\n");
    assert_eq!(output.code, Some(2), "{printed}");
    let words = format!("the API server refuses to read the secret {prefix}all/everybody");
    assert!(printed.contains(&words), "{printed}");
    shared.allow(&namespace.name);
    airside_scenarios::wait_until("the right is there", || {
        fly.trigger_and_watch("p/build").code == Some(0)
    });
    fly.pipeline("p", &one_task("echo ((nobody))"));
    let printed = fly.trigger_and_watch("p/build").lines().join("\n");
    assert!(printed.contains("undefined vars: nobody"), "{printed}");
}
