//! Pipelines, jobs and builds as objects of a cluster. Needs a cluster: see `make test-cluster`.

use std::{fs, io::Write as _, process::Command};

use airside_scenarios::{Environment, Fly, Server, ServerOptions, wait_until};
use serde_json::{Value, json};

use crate::support::Namespace;

/// A namespace whose objects are those of team main.
pub(crate) struct Controlled {
    pub(crate) namespace: Namespace,
    control: String,
}

impl Controlled {
    pub(crate) fn offered(settings: &str) -> Option<Self> {
        let namespace = Namespace::offered()?;
        let file = namespace.kubeconfig().with_file_name("control.yml");
        let text = format!(
            "clusters:\n- name: real\n  kubeconfig: {}\n  teams:\n  - team: main\n    namespace: {}\n{settings}",
            namespace.kubeconfig().display(),
            namespace.name,
        );
        fs::write(&file, text).unwrap();
        let controlled = Self {
            control: file.display().to_string(),
            namespace,
        };
        let printed = Command::new(Environment::get().airside)
            .args(["k8s", "control-objects", "--control", &controlled.control])
            .args(["--account-namespace", &controlled.namespace.name])
            .output()
            .unwrap();
        assert!(printed.status.success(), "{printed:?}");
        controlled.apply(&String::from_utf8(printed.stdout).unwrap());
        let definitions = "crd/pipelines.ci.airside.dev";
        controlled.kubectl(&["wait", "--for=condition=Established", definitions]);
        Some(controlled)
    }

    pub(crate) fn server(&self) -> Server {
        ServerOptions::new()
            .args(["--control", &self.control])
            .start()
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.namespace.kubectl(args)
    }

    /// Applies a text, or returns what the cluster says against it.
    pub(crate) fn try_apply(&self, verb: &str, text: &str) -> Result<String, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let path = file.path().to_str().unwrap();
        let how: &[&str] = if verb == "apply" {
            &["apply", "--server-side", "-o", "name", "-f", path]
        } else {
            &["create", "-o", "name", "-f", path]
        };
        let namespaced = ["kubectl", "-n", &self.namespace.name];
        self.namespace
            .cluster
            .try_ask(&[&namespaced[..], how].concat())
    }

    pub(crate) fn apply(&self, text: &str) -> String {
        self.try_apply("apply", text).unwrap()
    }

    pub(crate) fn pipeline(&self, name: &str, spec: &Value) -> String {
        self.apply(&object("Pipeline", &json!({ "name": name }), spec))
    }

    /// Creates a build of a job and returns the name of its object.
    pub(crate) fn trigger(&self, pipeline: &str, job: &str) -> String {
        let meta = json!({"generateName": format!("{pipeline}-{job}-")});
        let spec = json!({"pipeline": pipeline, "job": job});
        let created = self.try_apply("create", &object("PipelineBuild", &meta, &spec));
        created.unwrap().trim().to_owned()
    }

    pub(crate) fn wait_for(&self, object: &str, condition: &str) {
        let condition = format!("--for=condition={condition}");
        self.kubectl(&["wait", &condition, "--timeout=60s", object]);
    }

    pub(crate) fn field(&self, object: &str, path: &str) -> String {
        let path = format!("jsonpath={path}");
        self.kubectl(&["get", object, "--ignore-not-found", "-o", &path])
    }

    fn condition(&self, object: &str, kind: &str, field: &str) -> String {
        let path = format!("{{.status.conditions[?(@.type==\"{kind}\")].{field}}}");
        self.field(object, &path)
    }
}

pub(crate) fn object(kind: &str, metadata: &Value, spec: &Value) -> String {
    json!({"apiVersion": "ci.airside.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}).to_string()
}

pub(crate) fn config(script: &str) -> Value {
    let task = json!({
        "platform": "linux",
        "image_resource": {"type": "host", "source": {}},
        "run": {"path": "sh", "args": ["-c", script]},
    });
    json!({"jobs": [{"name": "job", "plan": [{"task": "t", "config": task}]}]})
}

pub(crate) fn listed(fly: &Fly, pipeline: &str) -> Option<Value> {
    let listed = fly.run(&["pipelines", "--include-archived", "--json"]);
    let listed: Vec<Value> = serde_json::from_str(&listed.succeeded().stdout).unwrap();
    listed.into_iter().find(|one| one["name"] == pipeline)
}

#[test]
fn an_object_sets_a_pipeline_and_its_mistakes_are_told() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    controlled.pipeline("app", &json!({"config": config("true"), "paused": false}));
    controlled.wait_for("pipe/app", "Ready");
    assert_eq!(controlled.field("pipe/app", "{.status.setBy}"), "Object");
    assert_eq!(controlled.field("pipe/app", "{.status.jobs}"), "1");
    assert_eq!(listed(&fly, "app").unwrap()["paused"], false);

    controlled.pipeline(
        "app",
        &json!({"config": {"jobs": [{"name": "a"}, {"name": "a"}]}, "paused": false}),
    );
    controlled.wait_for("pipe/app", "Stalled");
    let message = controlled.condition("pipe/app", "Ready", "message");
    assert!(message.contains("same name"), "{message}");
    assert_eq!(
        controlled.condition("pipe/app", "Ready", "reason"),
        "Invalid"
    );
    let shown = fly.run(&["get-pipeline", "-p", "app"]).succeeded().stdout;
    assert!(shown.contains("task: t"), "{shown}");

    let refused = fly.set_pipeline("app", &config("false").to_string());
    let refused = refused.ended_with(1);
    assert!(
        refused
            .stderr
            .contains("is set by pipeline.ci.airside.dev/app"),
        "{}",
        refused.stderr
    );

    controlled.pipeline("app", &json!({"config": config("false"), "paused": false}));
    controlled.wait_for("pipe/app", "Ready");
    let younger = json!({"pipeline": "app", "config": config("true")});
    controlled.pipeline("younger", &younger);
    controlled.wait_for("pipe/younger", "Stalled");
    assert_eq!(
        controlled.condition("pipe/younger", "Ready", "reason"),
        "Duplicate"
    );
}

#[test]
fn an_object_triggers_one_build_that_is_waited_for_and_aborted() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    controlled.pipeline("app", &json!({"config": config("true"), "paused": false}));
    controlled.wait_for("pipe/app", "Ready");
    let build = controlled.trigger("app", "job");
    controlled.wait_for(&build, "Complete");
    controlled.wait_for(&build, "Succeeded");
    assert_eq!(controlled.field(&build, "{.status.name}"), "1");
    let created_by = controlled.field(&build, "{.status.createdBy}");
    assert!(created_by.starts_with("kubernetes:"), "{created_by}");
    wait_until("the job shows its build", || {
        controlled.field("pjob/app-job", "{.status.last.phase}") == "succeeded"
    });

    controlled.pipeline(
        "app",
        &json!({"config": config("sleep 600"), "paused": false}),
    );
    controlled.wait_for("pipe/app", "Ready");
    wait_until("the new configuration is there", || {
        fly.run(&["get-pipeline", "-p", "app"])
            .stdout
            .contains("sleep 600")
    });
    let long = controlled.trigger("app", "job");
    wait_until("it runs", || {
        controlled.field(&long, "{.status.phase}") == "started"
    });
    let abort = r#"{"spec":{"abort":true}}"#;
    controlled.kubectl(&["patch", &long, "--type=merge", "-p", abort]);
    controlled.wait_for(&long, "Complete");
    assert_eq!(controlled.field(&long, "{.status.phase}"), "aborted");
    assert_eq!(fly.builds().len(), 2);

    let by_fly = fly.trigger("app/job");
    wait_until("a build that fly triggered is shown", || {
        controlled.field("pbuild/app-job-3", "{.status.phase}") == "started"
    });
    fly.run(&["abort-build", "-b", &by_fly.id.to_string()])
        .succeeded();
    controlled.wait_for("pbuild/app-job-3", "Complete");
    controlled.kubectl(&["delete", "pbuild", "--all"]);
    assert_eq!(fly.builds().len(), 3);

    let pause = r#"{"spec":{"paused":true}}"#;
    controlled.kubectl(&["patch", "pjob/app-job", "--type=merge", "-p", pause]);
    wait_until("the job is paused", || {
        fly.run(&["jobs", "-p", "app"]).stdout.contains("yes")
    });
}

/// The policy of the documentation, for this namespace alone.
const POLICY: &str = include_str!("../../../../../docs/control-objects.md");

#[test]
fn a_policy_of_the_cluster_judges_every_way_to_set_a_pipeline() {
    let Some(controlled) = Controlled::offered("") else {
        return;
    };
    let begin = POLICY.find("apiVersion: v1\nkind: List").unwrap();
    let policy = &POLICY[begin..begin + POLICY[begin..].find("```").unwrap()];
    let namespace = &controlled.namespace.name;
    let selector = format!(
        "matchResources: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}}}, "
    );
    let policy = policy
        .replace("no-privileged-tasks", &format!("no-privileged-{namespace}"))
        .replace(
            "validationActions:",
            &format!("{selector}validationActions:"),
        );
    controlled.apply(&policy);
    let server = controlled.server();
    let fly = server.fly();
    let privileged = json!({"jobs": [{"name": "job", "plan": [{"in_parallel": [{"try": {
        "task": "t", "privileged": true, "file": "x/y.yml"
    }}]}]}]});
    wait_until("fly is refused in the policy's words", || {
        let refused = fly.set_pipeline("app", &privileged.to_string());
        refused.stderr.contains("tasks may not be privileged here")
    });
    controlled.pipeline("other", &json!({"config": privileged}));
    controlled.wait_for("pipe/other", "Stalled");
    let message = controlled.condition("pipe/other", "Ready", "message");
    assert!(
        message.contains("tasks may not be privileged here"),
        "{message}"
    );
    assert_eq!(
        controlled.condition("pipe/other", "Ready", "reason"),
        "Refused"
    );
    assert!(listed(&fly, "other").is_none());
    fly.pipeline("app", &config("true").to_string());
    wait_until("a pipeline that fly set is shown", || {
        controlled.field("pipe/app", "{.status.setBy}") == "Server"
    });
    controlled.kubectl(&[
        "delete",
        "validatingadmissionpolicybinding",
        &format!("no-privileged-{namespace}"),
    ]);
    controlled.kubectl(&[
        "delete",
        "validatingadmissionpolicy",
        &format!("no-privileged-{namespace}"),
    ]);
}

#[test]
fn fly_applies_the_object_and_respects_its_other_owners() {
    let Some(controlled) = Controlled::offered("    fly: proxy\n") else {
        return;
    };
    let server = controlled.server();
    let fly = server.fly();
    fly.pipeline("app", &config("true").to_string());
    assert_eq!(
        controlled.field("pipe/app", "{.spec.config.jobs[0].name}"),
        "job"
    );
    controlled.wait_for("pipe/app", "Ready");
    let secret = json!({"resources": [{"name": "r", "type": "git", "source": {"password": "s3cret"}}],
            "jobs": [{"name": "job", "plan": [{"get": "r"}]}]});
    let refused = fly
        .set_pipeline("secret", &secret.to_string())
        .ended_with(1);
    assert!(
        refused.stderr.contains("resources.r.source.password"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("s3cret"), "{}", refused.stderr);

    let meta = json!({"name": "app", "namespace": controlled.namespace.name});
    let text = object("Pipeline", &meta, &json!({"config": config("false")}));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    controlled.kubectl(&[
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=other",
        "-f",
        path,
    ]);
    let refused = fly
        .set_pipeline("app", &config("echo new").to_string())
        .ended_with(1);
    assert!(
        refused.stderr.contains("other owns .spec.config"),
        "{}",
        refused.stderr
    );
}
