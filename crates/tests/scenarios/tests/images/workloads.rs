//! Every kind that pods are made from, and what is left alone, as the webhook treats them; and the
//! webhook while its certificates change. Needs a cluster: see `make test-cluster`.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::support::admission::{
    BUSYBOX, DEPLOYMENT, HOME, Team, create, dry_run, get, kubectl, node, offered, offered_alone,
    prefers, requires, sleeper, state_of, stop_all, untouched, wait_until_it_answers,
};
use airside_scenarios::wait_until;
use serde_json::{Value, json};

const OPT_IN: &str = "images.airside.dev/place";

/// A kind, where its template is, and one that runs nothing.
struct Kind {
    name: &'static str,
    template: &'static str,
    make: fn(Value) -> Value,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "Deployment",
        template: "/spec/template",
        make: |template| json!({"apiVersion": "apps/v1", "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template}}),
    },
    Kind {
        name: "StatefulSet",
        template: "/spec/template",
        make: |template| {
            json!({"apiVersion": "apps/v1", "spec": {"replicas": 0, "serviceName": "x",
                "selector": {"matchLabels": {"app": "x"}}, "template": template}})
        },
    },
    Kind {
        name: "Job",
        template: "/spec/template",
        make: |template| json!({"apiVersion": "batch/v1", "spec": {"suspend": true, "template": template}}),
    },
    Kind {
        name: "CronJob",
        template: "/spec/jobTemplate/spec/template",
        make: |template| {
            json!({"apiVersion": "batch/v1", "spec": {"schedule": "0 0 1 1 *", "suspend": true,
                "jobTemplate": {"spec": {"template": template}}}})
        },
    },
];

impl Kind {
    /// Makes the object; its label says if it opted in by itself.
    fn object(&self, team: &Team, name: &str, choice: Option<&str>) -> Value {
        let mut spec = sleeper(BUSYBOX);
        if self.name.ends_with("Job") {
            spec["restartPolicy"] = json!("Never");
        }
        let mut object = (self.make)(json!({"metadata": {"labels": {"app": "x"}}, "spec": spec}));
        object["kind"] = json!(self.name);
        object["metadata"] = json!({"name": name, "namespace": team.name});
        if let Some(choice) = choice {
            object["metadata"]["labels"] = json!({OPT_IN: choice});
        }
        object
    }

    fn is_placed(&self, object: &Value, label: &str) -> bool {
        prefers(object.pointer(self.template).unwrap(), label)
    }

    fn is_placed_there(&self, team: &Team, name: &str, label: &str) -> bool {
        self.is_placed(&get(Some(&team.name), self.name, name), label)
    }

    /// Returns true if the workload's template can be changed later.
    fn can_change(&self) -> bool {
        self.name != "Job"
    }
}

#[test]
fn every_kind_is_placed_where_it_opted_in_by_itself() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    for kind in &KINDS {
        create(&kind.object(&team, "before", Some("true")));
        create(&kind.object(&team, "stranger", None));
    }
    let label = team.set(BUSYBOX, &json!({"mode": "prefer"}));
    team.tried(&sleeper(BUSYBOX), "the set is known", |pod| {
        prefers(pod, &label)
    });
    for kind in &KINDS {
        let made = create(&kind.object(&team, "after", Some("true")));
        assert!(kind.is_placed(&made, &label), "{made}");
        let made = create(&kind.object(&team, "plain", None));
        assert!(!kind.is_placed(&made, &label), "{made}");
    }
    for kind in KINDS.iter().filter(|kind| kind.can_change()) {
        wait_until("one that was there is placed", || {
            kind.is_placed_there(&team, "before", &label)
        });
        wait_until("the other is told of", || {
            team.was_told(kind.name, "stranger", "NotPlaced")
        });
        assert!(
            !kind.is_placed_there(&team, "stranger", &label),
            "{}",
            kind.name
        );
    }
    let job = &KINDS[2];
    assert!(
        !job.is_placed_there(&team, "before", &label),
        "a Job stays as it was made"
    );
}

#[test]
fn every_kind_is_placed_where_its_namespace_opted_in() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    for kind in &KINDS {
        create(&kind.object(&team, "before", None));
        create(&kind.object(&team, "out", Some("false")));
    }
    kubectl(&["label", "namespace", &team.name, &format!("{OPT_IN}=true")]);
    let label = team.set(BUSYBOX, &json!({"mode": "prefer"}));
    team.tried(&sleeper(BUSYBOX), "the set is known", |pod| {
        prefers(pod, &label)
    });
    for kind in &KINDS {
        let made = create(&kind.object(&team, "after", None));
        assert!(kind.is_placed(&made, &label), "{made}");
        let made = create(&kind.object(&team, "out-too", Some("false")));
        assert!(!kind.is_placed(&made, &label), "{made}");
    }
    for kind in KINDS.iter().filter(|kind| kind.can_change()) {
        wait_until("one that was there is placed", || {
            kind.is_placed_there(&team, "before", &label)
        });
        assert!(!kind.is_placed_there(&team, "out", &label), "{}", kind.name);
    }
}

#[test]
fn the_clusters_own_pods_ours_and_mirrors_are_left_alone() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    let image = format!("example.com/{}:1", team.name);
    // Sets of the installation's namespace speak for all.
    let label = Team::set_in(HOME, &image, &json!({"mode": "require"}));
    team.tried(&sleeper(&image), "the node is selected", |pod| {
        requires(pod, &label)
    });
    for namespace in ["kube-system", HOME] {
        let mut pod = team.pod("alone", &sleeper(&image));
        pod["metadata"]["namespace"] = json!(namespace);
        let made = dry_run(&pod);
        assert!(!requires(&made, &label), "{namespace}: {made}");
        assert_eq!(made["spec"]["containers"][0]["imagePullPolicy"], "Always");
    }
    // As kubelets make them of static pods.
    let mut mirror = team.pod("mirror", &sleeper(&image));
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    mirror["spec"]["nodeName"] = json!("n1");
    let made = dry_run(&mirror);
    assert!(!requires(&made, &label), "{made}");
    assert_eq!(made["spec"]["containers"][0]["imagePullPolicy"], "Always");
    forget_sets_for_all();
}

fn forget_sets_for_all() {
    for set in kubectl(&["-n", HOME, "get", "imagesets", "-o", "name"]).lines() {
        kubectl(&["-n", HOME, "delete", set]);
    }
}

#[test]
fn a_static_pod_is_shown_as_its_kubelet_runs_it() {
    let Some(_here) = offered() else { return };
    let team = Team::new();
    // It would go nowhere: no node has this label.
    let label = Team::set_in(HOME, BUSYBOX, &json!({"mode": "require"}));
    team.tried(&sleeper(BUSYBOX), "the node is selected", |pod| {
        requires(pod, &label)
    });
    let shown = StaticPod::run(&team.pod("static", &untouched(BUSYBOX)));
    wait_until("it runs", || {
        shown.seen().is_some_and(|pod| {
            pod["status"]["phase"] == "Running"
                && pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].is_string()
        })
    });
    let pod = shown.seen().unwrap();
    assert!(!requires(&pod, &label), "{pod}");
    assert!(pod["spec"]["affinity"].is_null(), "{pod}");
    drop(shown);
    forget_sets_for_all();
}

/// A pod that the first node's kubelet finds on its disk, until this is dropped.
struct StaticPod {
    file: PathBuf,
    namespace: String,
    name: String,
}

impl StaticPod {
    fn run(pod: &Value) -> Self {
        let field = |key: &str| pod["metadata"][key].as_str().unwrap().to_owned();
        let node = node();
        let shown = Self {
            file: state_of(&node).join("static-pods/test.json"),
            namespace: field("namespace"),
            name: format!("{}-{node}", field("name")),
        };
        std::fs::write(&shown.file, pod.to_string()).unwrap();
        shown
    }

    fn seen(&self) -> Option<Value> {
        let get = ["get", "pod", &self.name, "-o", "json", "--ignore-not-found"];
        let own = ["-n", &self.namespace];
        serde_json::from_str(&kubectl(&[&get[..], &own].concat())).ok()
    }
}

impl Drop for StaticPod {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[test]
fn no_pod_is_missed_while_certificates_change() {
    let Some(_here) = offered_alone() else { return };
    let team = Team::new();
    let label = team.set(BUSYBOX, &json!({"mode": "require"}));
    // Their lives go by in minutes.
    restart_with("--certificates-last=75");
    team.tried(&sleeper(BUSYBOX), "the new ones are trusted", |pod| {
        requires(pod, &label)
    });
    let told = || {
        let hook = get(
            None,
            "mutatingwebhookconfiguration",
            "airside-images-admission",
        );
        hook["webhooks"][0]["clientConfig"]["caBundle"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let served = || {
        let secret = get(Some(HOME), "secret", "airside-images-admission-tls");
        secret["data"]["tls.crt"].as_str().unwrap().to_owned()
    };
    let (mut bundles, mut certificates) = (BTreeSet::from([told()]), BTreeSet::from([served()]));
    let mut pods = 0;
    let begun = Instant::now();
    // A new authority is told of, then a certificate of its own is served.
    while bundles.len() < 2 || certificates.len() < 3 {
        for _ in 0..5 {
            let made = dry_run(&team.pod("tried", &sleeper(BUSYBOX)));
            assert!(requires(&made, &label), "pod {pods}: {made}");
            pods += 1;
        }
        bundles.insert(told());
        certificates.insert(served());
        assert!(
            begun.elapsed() < Duration::from_secs(400),
            "{} authorities, {} certificates",
            bundles.len(),
            certificates.len()
        );
    }
    println!(
        "{pods} pods, {} certificates, {} bundles",
        certificates.len(),
        bundles.len()
    );
    restart_with("");
    team.tried(&sleeper(BUSYBOX), "the lasting ones are trusted", |pod| {
        requires(pod, &label)
    });
}

/// All replicas at once, with new certificates: those with another idea of how long they last would
/// renew them.
fn restart_with(argument: &str) {
    stop_all();
    kubectl(&[
        "-n",
        HOME,
        "delete",
        "secret",
        "airside-images-admission-tls",
        "--ignore-not-found",
    ]);
    let now = get(Some(HOME), "deployment", "airside-images-admission");
    let path = "/spec/template/spec/containers/0/args";
    let args = now.pointer(path).unwrap().as_array().unwrap().iter();
    let mut args: Vec<&str> = args.map(|arg| arg.as_str().unwrap()).collect();
    args.retain(|arg| !arg.starts_with("--certificates-last"));
    args.extend((!argument.is_empty()).then_some(argument));
    let patch = json!([{"op": "replace", "path": path, "value": args}]).to_string();
    kubectl(&["-n", HOME, "patch", DEPLOYMENT, "--type=json", "-p", &patch]);
    kubectl(&["-n", HOME, "scale", DEPLOYMENT, "--replicas=2"]);
    wait_until_it_answers();
}
