//! The resource type `kubernetes` in pods, with the account that a pod rule gives to it, against
//! the controllers of a real cluster. Needs a cluster: see `make test-cluster`.

use crate::support::{Namespace, WORKER, task};
use airside_scenarios::{Fly, Output, Server};

/// The rule names the type, so that neither a task nor another type gets the account.
const TARGET: &str = r"  pod_rules:
  - match: {team: main, type: kubernetes}
    patch: {spec: {serviceAccountName: deployer}}
";

/// A namespace for objects beside that of the steps, and a server that may change it.
pub(crate) struct Objects {
    pub(crate) steps: Namespace,
    name: String,
    server: Option<Server>,
}

impl Objects {
    pub(crate) fn offered() -> Option<Self> {
        let steps = Namespace::offered()?;
        let name = format!("{}-objects", steps.name);
        steps.kubectl(&["create", "namespace", &name]);
        steps.kubectl(&["create", "serviceaccount", "deployer"]);
        // Definitions belong to the whole cluster.
        let account = format!("--serviceaccount={}:deployer", steps.name);
        steps.kubectl(&[
            "create",
            "clusterrolebinding",
            &name,
            "--clusterrole=cluster-admin",
            &account,
        ]);
        let server = Some(steps.server_with(TARGET));
        Some(Self {
            steps,
            name,
            server,
        })
    }

    pub(crate) fn fly(&self) -> Fly {
        self.server.as_ref().unwrap().fly()
    }

    /// Asks for objects in their namespace.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        let namespaced = ["kubectl", "-n", &self.name];
        self.steps.cluster.ask(&[&namespaced[..], args].concat())
    }

    /// A job that writes a manifest and puts it.
    pub(crate) fn job(&self, name: &str, resource: &str, manifest: &str, params: &str) -> String {
        let script = format!("cat >made/all.yml <<'EOF'\n{manifest}\nEOF");
        let output = "      outputs: [{name: made}]\n";
        let work = task("write", &script, output);
        format!(
            "- name: {name}\n  plan:\n{work}  - put: {resource}\n    tags: [{WORKER}]\n    \
             params: {{manifests: [made/all.yml], timeout: 2m{params}}}\n"
        )
    }

    pub(crate) fn resource(&self, name: &str, kind: &str, more: &str) -> String {
        format!(
            "- {{name: {name}, type: kubernetes, tags: [{WORKER}], check_every: never, source: {{kind: {kind}, \
             namespace: {}{more}}}}}\n",
            self.name
        )
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let delete = |args: &[&str]| {
            let all = [&["kubectl", "delete", "--wait=false"], args].concat();
            let _ = self.steps.cluster.try_ask(&all);
        };
        delete(&["namespace", &self.name]);
        delete(&["clusterrolebinding", &self.name]);
    }
}

fn pod(script: &str, restart: &str, image: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!(
        "{{restartPolicy: {restart}, terminationGracePeriodSeconds: 0, containers: [{{name: main, image: {image}, \
         imagePullPolicy: IfNotPresent, command: [/bin/busybox, sh, -c, {script}]}}]}}"
    )
}

const BUSYBOX: &str = "airside.local/busybox:dev";

fn job_manifest(prefix: &str, script: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{generateName: {prefix}-}}\nspec:\n  backoffLimit: 0\n  \
         template: {{spec: {}}}",
        pod(script, "Never", BUSYBOX)
    )
}

fn deployment(script: &str, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  progressDeadlineSeconds: 10\n  \
         selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {}",
        pod(script, "Always", image)
    )
}

#[track_caller]
pub(crate) fn says(output: &Output, words: &str) {
    assert!(output.stdout.contains(words), "{words}: {output:?}");
}

fn end(objects: &Objects, fly: &Fly) {
    fly.run(&["destroy-pipeline", "-n", "-p", "p"]).succeeded();
    objects.steps.wait_until_no_pods();
}

#[test]
fn jobs_are_followed_to_their_end() {
    let Some(objects) = Objects::offered() else {
        return;
    };
    let fly = objects.fly();
    // A task that is called like the put has no account.
    let no_token =
        "test ! -e /var/run/secrets/kubernetes.io/serviceaccount/token && echo no account";
    let pipeline = format!(
        "resources:\n{}jobs:\n{}{}- name: task\n  plan:\n{}",
        objects.resource("run", "Job.batch/v1", ""),
        objects.job(
            "good",
            "run",
            &job_manifest("good", "echo one; echo two"),
            ""
        ),
        objects.job(
            "bad",
            "run",
            &job_manifest("bad", "echo broken; exit 3"),
            ""
        ),
        task("run", no_token, ""),
    );
    fly.pipeline("p", &pipeline);
    let good = fly.trigger_and_watch("p/good").succeeded();
    for words in [
        "created jobs.batch/good-",
        "/main] one",
        "/main] two",
        "done: Complete",
    ] {
        says(&good, words);
    }
    let bad = fly.trigger_and_watch("p/bad");
    for words in ["/main] broken", "has failed: BackoffLimitExceeded"] {
        says(&bad, words);
    }
    assert_ne!(bad.code, Some(0), "{bad:?}");
    says(&fly.trigger_and_watch("p/task").succeeded(), "no account");
    end(&objects, &fly);
}

#[test]
fn deployments_are_waited_for_by_their_generation() {
    let Some(objects) = Objects::offered() else {
        return;
    };
    let fly = objects.fly();
    let web = |name: &str, manifest: &str| objects.job(name, "web", manifest, "");
    let pipeline = format!(
        "resources:\n{}jobs:\n{}{}{}",
        objects.resource("web", "Deployment.apps/v1", ", name: web"),
        web("first", &deployment("exec sleep 1000", BUSYBOX)),
        web("second", &deployment("exec sleep 2000", BUSYBOX)),
        web(
            "broken",
            &deployment("exec sleep 3000", "airside.local/none:dev")
        ),
    );
    fly.pipeline("p", &pipeline);
    says(
        &fly.trigger_and_watch("p/first").succeeded(),
        "done: Available",
    );
    let second = fly.trigger_and_watch("p/second").succeeded();
    says(
        &second,
        "its status is about generation 1, and it has generation 2",
    );
    let broken = fly.trigger_and_watch("p/broken");
    says(&broken, "has failed: ProgressDeadlineExceeded");
    says(&broken, "warning: Pod web-");
    assert_ne!(broken.code, Some(0), "{broken:?}");
    end(&objects, &fly);
}

#[test]
fn a_definition_and_its_object_are_one_put() {
    let Some(objects) = Objects::offered() else {
        return;
    };
    let fly = objects.fly();
    let group = format!("{}.airside.dev", objects.name);
    let manifest = format!(
        "apiVersion: {group}/v1\nkind: Thing\nmetadata: {{name: a}}\nspec: {{n: 1}}\n---\n\
         apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.{group}}}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{plural: things, kind: Thing}}\n  versions:\n  \
         - name: v1\n    served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, \
         x-kubernetes-preserve-unknown-fields: true}}}}"
    );
    let version = ", name: a, version: {n: spec.n}";
    let pipeline = format!(
        "resources:\n{}jobs:\n{}",
        objects.resource("thing", &format!("Thing.{group}/v1"), version),
        objects.job("make", "thing", &manifest, ""),
    );
    fly.pipeline("p", &pipeline);
    let made = fly.trigger_and_watch("p/make").succeeded();
    says(
        &made,
        "customresourcedefinitions.apiextensions.k8s.io/things.",
    );
    says(&made, "done: Established");
    says(
        &made,
        &format!("created things.{group}/a in {}", objects.name),
    );
    objects
        .steps
        .kubectl(&["delete", "crd", &format!("things.{group}"), "--wait=false"]);
    end(&objects, &fly);
}
