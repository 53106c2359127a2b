//! A team's step can do nothing from inside its pod against the hub, other teams' steps and the
//! cluster. Needs a cluster: see `make test-cluster-all`.

use crate::support::{Namespace, cluster, one_task, teams::Team};
use airside_scenarios::Counter;
use serde_json::Value;

/// Lets the shim's own program claim with what the attacker has: any handle and token, and the
/// proof of its own pod.
const CLAIM: &str = r#"
claim() {
  echo "== claim $1"
  timeout 60 env AIRSIDE_HUB=$HUB AIRSIDE_HUB_PIN=$PIN AIRSIDE_HANDLE=$2 AIRSIDE_TOKEN=$3 \
    ${4:+AIRSIDE_PROOF_FILE=$4} AIRSIDE_STATE=$(mktemp -d) /.airside/bin/airside-shim 2>&1
  echo "== ended with $?"
}
own=/.airside/proof/token
claim guess s-00000000000000000000000000000000 0000 $own
claim stolen $VICTIM $TOKEN $own
claim unproven $VICTIM $TOKEN
claim again $(hostname) 0000 $own
"#;

/// Looks for a way to the others: their ports, the nodes, the API server, whatever lends out
/// credentials.
const KNOCK: &str = r#"
knock() { echo "== knock $1 $2"; if timeout 5 bash -c "exec 3<>/dev/tcp/$1/$2" 2>/dev/null; then echo open; else echo shut; fi; }
ask() {
  echo "== ask $1"
  echo '{"source": {"url": "'$1'", "skip_ssl_verification": true}}' |
    timeout 20 /.airside/bin/airside-shim resource http check 2>&1
  echo
}
for port in 22 80 443 2375 7777 8080 10250; do knock $VICTIM_IP $port; done
knock 169.254.169.254 80
knock $API 2379
ask https://$API:6443/api/v1/namespaces/$NAMESPACE/pods
ask https://$API:6443/api/v1/secrets
ask https://$NODE:10250/pods
ls /var/run/secrets 2>&1
echo "== token"; cat /proc/1/environ 2>/dev/null | tr '\0' '\n' | grep -c AIRSIDE_TOKEN
echo "== over"
"#;

/// Lists its ports: those that listen are in state 0A.
const VICTIM: &str =
    "cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == \"0A\"' | wc -l | sed 's/^/listening: /'";

struct Victim {
    handle: String,
    ip: String,
    node: String,
    environment: Vec<(String, String)>,
}

impl Victim {
    fn of(namespace: &Namespace) -> Self {
        // A step may begin before its kubelet says where it is.
        let pod = namespace.pod("the pod has an address", "{.status.podIP}", |ip| {
            !ip.is_empty()
        });
        let text = namespace.kubectl(&["get", "pod", &pod, "-o", "json"]);
        let pod: Value = serde_json::from_str(&text).unwrap();
        let text = |path: &str| pod.pointer(path).unwrap().as_str().unwrap().to_owned();
        let variables = pod.pointer("/spec/containers/0/env").unwrap();
        let word = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        Self {
            handle: text("/metadata/name"),
            ip: text("/status/podIP"),
            node: text("/status/hostIP"),
            environment: (variables.as_array().unwrap().iter())
                .map(|entry| (word(entry, "name"), word(entry, "value")))
                .collect(),
        }
    }

    fn variable(&self, name: &str) -> &str {
        let mut all = self.environment.iter();
        &all.find(|(it, _)| it == name).unwrap().1
    }
}

/// The part of the output between two marks.
fn part<'a>(text: &'a str, mark: &str) -> &'a str {
    let (_, after) = text
        .split_once(mark)
        .unwrap_or_else(|| panic!("no {mark}: {text}"));
    after.split("\n== ").next().unwrap()
}

#[test]
fn a_hostile_step_gets_nowhere() {
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let counter = Counter::start_at(namespace.host);
    let server = namespace.server();
    let fly = server.fly();
    fly.pipeline(
        "p",
        &one_task(&format!("{VICTIM}; {}", counter.bump("victim"))),
    );
    counter.hold("victim");
    let watching = fly.spawn(&["trigger-job", "-j", "p/build", "-w"]);
    counter.wait("victim", 1);
    let victim = Victim::of(&namespace);
    let address = "jsonpath={.subsets[0].addresses[0].ip}";
    let api = cluster(&["kubectl", "get", "endpoints", "kubernetes", "-o", address]);
    let known = format!(
        "HUB={}; PIN={}; VICTIM={}; TOKEN={}; VICTIM_IP={}; NODE={}; API={api}; NAMESPACE={}",
        victim.variable("AIRSIDE_HUB"),
        victim.variable("AIRSIDE_HUB_PIN"),
        victim.handle,
        victim.variable("AIRSIDE_TOKEN"),
        victim.ip,
        victim.node,
        namespace.name,
    );
    let team = Team::create(&server, &fly, "other");
    let build = team.run("attack", &one_task(&format!("{known}\n{CLAIM}{KNOCK}")));
    let said = fly.watch(build).succeeded().lines().join("\n");
    let said = said.split_once("== claim guess\n").unwrap().1;
    let said = &format!("== claim guess\n{said}");

    for (claim, words) in [
        ("guess", "there is no such step"),
        ("stolen", "the pod's token is for pod"),
        ("unproven", "without the service-account token"),
        ("again", "the step is not to be claimed"),
    ] {
        let heard = part(said, &format!("== claim {claim}\n"));
        assert!(
            heard.contains("the hub refuses the claim"),
            "{claim}: {said}"
        );
        assert!(heard.contains(words), "{claim}: {said}");
    }
    assert!(!said.contains("\nopen"), "{said}");
    for (question, answer) in [
        ("/pods\n", "403"),
        ("/secrets\n", "403"),
        (":10250/pods\n", "401"),
    ] {
        assert!(part(said, question).contains(answer), "{question}: {said}");
    }
    assert!(said.contains("/var/run/secrets: No such file"), "{said}");
    assert_eq!(part(said, "== token\n"), "0", "{said}");

    counter.release("victim");
    let output = watching.wait().succeeded();
    assert!(output.stdout.contains("listening: 0"), "{}", output.stdout);
    let words = "a claim of this step was refused: ";
    assert!(output.stdout.contains(words), "{}", output.stdout);
    assert_eq!(counter.count("victim"), 1);
    namespace.wait_until_no_pods();
}
