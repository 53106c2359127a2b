//! The operator's work for nodes: agents that die, nodes that go, pulls, and rights. The tests
//! write the reports of agents themselves.

use std::process::Command;

use crate::support::ghost::Ghost;
use crate::support::operator::{NAMESPACE, Operator, Registry, Stage, wait_for_port};
use airside_scenarios::wait_until;
use serde_json::{Value, json};

#[test]
fn labels_of_dead_agents_and_words_about_gone_nodes_go() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app"]);
    let _operator = stage.operator(&registry, &["--agent-timeout=4"]);
    let node = Ghost::new(&stage, "True");
    let name = node.1.as_str();
    stage.say_node(name, &json!([]), 1);
    stage.kubectl(&[
        "label",
        "node",
        name,
        "images.airside.dev/abc=present",
        "mine=stays",
    ]);
    let labels = || stage.get(&["node", name]).unwrap()["metadata"]["labels"].clone();
    wait_until("the label is gone", || {
        labels()["images.airside.dev/abc"].is_null()
    });
    assert_eq!(labels()["mine"], "stays");
    stage.kubectl(&["delete", "node", name]);
    wait_until("nothing is said of it any more", || {
        stage.get(&["nodeimages", name]).is_none()
    });
}

#[test]
fn an_agent_may_change_its_own_node_only_and_of_it_only_our_labels() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let other = Ghost::new(&stage, "True");
    let own = "n1";
    // As agents write: by server-side apply, without reading first.
    let apply_to = |object: &Value, more: &[&str]| {
        let name = format!("{:08x}.json", rand::random::<u32>());
        let path = stage.home.path().join(name);
        std::fs::write(&path, object.to_string()).unwrap();
        let apply = ["apply", "--server-side", "--force-conflicts"];
        let file = ["--field-manager=airside-node", "-f", path.to_str().unwrap()];
        stage.as_agent(own, &[&apply, &file[..], more].concat())
    };
    let node = |name: &str, metadata: &Value, spec: &Value| {
        let mut node =
            json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec});
        node["metadata"]["name"] = json!(name);
        apply_to(&node, &[])
    };
    let label =
        |name: &str, key: &str| node(name, &json!({"labels": {key: "present"}}), &json!({}));
    let said_of = |name: &str| {
        json!({
            "apiVersion": "images.airside.dev/v1alpha1", "kind": "NodeImages", "metadata": {"name": name}, "spec": {},
        })
    };
    let images = |name: &str| apply_to(&said_of(name), &[]);
    let status = |name: &str| {
        let mut said = said_of(name);
        said["status"] = json!({"wanted": 1});
        apply_to(&said, &["--subresource=status"])
    };
    let ours = "images.airside.dev/abc";
    wait_until("rights are known", || label(own, ours).is_ok());
    wait_until("the policy counts", || label(own, "foo").is_err());
    images(own).unwrap();
    status(own).unwrap();
    stage.say_node(&other.1, &json!([]), 1);
    let a_set = "/apis/images.airside.dev/v1alpha1/namespaces/default/imagesets/any";
    let annotated = json!({"labels": {ours: "present"}, "annotations": {"a": "b"}});
    for (what, refused, words) in [
        (
            "another node's label",
            label(&other.1, ours),
            "may not change",
        ),
        (
            "another label",
            label(own, "foo"),
            "only those that begin with",
        ),
        (
            "a label of the kubelet's",
            label(own, "kubernetes.io/os"),
            "only those that begin with",
        ),
        (
            "an annotation",
            node(own, &annotated, &json!({})),
            "nothing but labels",
        ),
        (
            "whether pods go there",
            node(own, &json!({}), &json!({"unschedulable": true})),
            "nothing but labels",
        ),
        ("a new node", label("made-up", ours), ""),
        ("another's images", images(&other.1), "may not change"),
        (
            "what is said of another",
            status(&other.1),
            "may not change",
        ),
        (
            "another's end",
            stage.as_agent(own, &["delete", "nodeimages", &other.1]),
            "may not change",
        ),
        (
            "secrets",
            stage.as_agent(own, &["get", "secrets", "-A"]),
            "forbidden",
        ),
        (
            "sets",
            stage.as_agent(own, &["delete", "--raw", a_set]),
            "forbidden",
        ),
    ] {
        let said = refused.expect_err(what);
        assert!(said.contains(words), "{what}: {said}");
    }
    // Labels of ours may go as well.
    node(own, &json!({}), &json!({})).unwrap();
    assert!(stage.get(&["node", own]).unwrap()["metadata"]["labels"][ours].is_null());
    stage.as_agent(own, &["delete", "nodeimages", own]).unwrap();
    // A token that is bound to no pod is refused.
    let file = stage.kubeconfig_of(&stage.token("airside-node", &[]));
    let unbound = [
        "--kubeconfig",
        file.to_str().unwrap(),
        "delete",
        "nodeimages",
        &other.1,
    ];
    assert!(
        stage
            .try_kubectl(&unbound)
            .unwrap_err()
            .contains("bound to its node")
    );
}

#[test]
fn the_operator_may_change_nothing_of_nodes_but_our_labels() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let node = Ghost::new(&stage, "True");
    let file = stage.kubeconfig_of(&stage.token("airside-images-operator", &[]));
    let file = file.to_str().unwrap();
    let as_operator = |args: &[&str]| stage.try_kubectl(&[&["--kubeconfig", file], args].concat());
    // By server-side apply, which reads nothing first.
    let apply = |object: &Value| {
        let path = stage.home.path().join("as-operator.json");
        std::fs::write(&path, object.to_string()).unwrap();
        let path = path.to_str().unwrap();
        let manager = "--field-manager=airside-images-operator";
        as_operator(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            manager,
            "-f",
            path,
        ])
    };
    let change = |metadata: &Value, spec: &Value| {
        let mut object =
            json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec});
        object["metadata"]["name"] = json!(node.1);
        apply(&object)
    };
    let label = |key: &str| change(&json!({"labels": {key: "x"}}), &json!({}));
    let said_of = json!({
        "apiVersion": "images.airside.dev/v1alpha1", "kind": "NodeImages", "metadata": {"name": node.1}, "spec": {},
    });
    wait_until("the policy counts", || {
        label("foo").is_err() && label("images.airside.dev/abc").is_ok()
    });
    let annotated = json!({"annotations": {"a": "b"}});
    let set = ["delete", "imageset", "any", "-n", &stage.namespace];
    for (what, refused, words) in [
        ("another label", label("foo"), "only those that begin with"),
        (
            "whose machine it is",
            change(&json!({}), &json!({"providerID": "elsewhere"})),
            "nothing but labels",
        ),
        (
            "an annotation",
            change(&annotated, &json!({})),
            "nothing but labels",
        ),
        (
            "a node's end",
            as_operator(&["delete", "node", &node.1]),
            "forbidden",
        ),
        ("what is said of nodes", apply(&said_of), "forbidden"),
        (
            "lists of secrets",
            as_operator(&["get", "secrets", "-A"]),
            "forbidden",
        ),
        ("pods", as_operator(&["get", "pods", "-A"]), "forbidden"),
        ("the end of a set", as_operator(&set), "forbidden"),
    ] {
        let said = refused.expect_err(what);
        assert!(said.contains(words), "{what}: {said}");
    }
}

#[test]
fn pulls_are_granted_to_the_node_that_the_token_says_and_for_what_belongs_there() {
    let Some(stage) = Stage::offered() else {
        return;
    };
    let registry = Registry::start(&stage, &["--made", "org/app", "--user", "me:right"]);
    let operator = stage.operator(&registry, &["--pulls-at-once=1"]);
    wait_for_port(&operator);
    let config = json!({"auths": {registry.host(): {"username": "me", "password": "right"}}});
    stage.apply_text(
        &json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
            "metadata": {"name": "login", "namespace": stage.namespace},
            "stringData": {".dockerconfigjson": config.to_string()},
        })
        .to_string(),
    );
    let other = Ghost::new(&stage, "True");
    let tags: Vec<Value> = ["1", "2"]
        .map(|tag| json!({"image": registry.image(&format!("org/app:{tag}"))}))
        .into();
    let nodes = json!({"matchLabels": {"kubernetes.io/hostname": "n1"}});
    stage.apply_set(
        "app",
        &json!({"images": tags, "pullSecrets": ["login"], "nodes": nodes}),
    );
    let images = stage.images("app", "they are found", |it| {
        it.len() == 2 && it.iter().all(|it| it["state"] == "found")
    });

    let token = |node: &str, audience: &str| {
        let bound = [
            "--bound-object-kind=Node",
            "--bound-object-name",
            node,
            "--audience",
            audience,
        ];
        stage.token("airside-node", &bound)
    };
    let own = token("n1", "images.airside.dev");
    let question =
        |image: &Value| json!({"image": image["image"], "digest": image["digest"]}).to_string();
    let ask = |token: &str, body: &str| curl(&stage, &operator, "POST", "/v1/pulls", token, body);
    wait_until("this replica works", || ask(&own, "{}").0 == 400);
    let (status, granted) = ask(&own, &question(&images[0]));
    assert_eq!(
        (status, &granted["logins"]),
        (200, &json!([{"username": "me", "password": "right"}])),
        "{granted}"
    );
    assert_eq!(
        ask(&own, &question(&images[0])).1["permit"],
        granted["permit"],
        "asked again, it is the same"
    );
    assert_eq!(ask(&own, &question(&images[1])).0, 429, "one at once");
    let elsewhere = token(&other.1, "images.airside.dev");
    let permit = format!("/v1/pulls/{}", granted["permit"].as_str().unwrap());
    let give_back = |token: &str| curl(&stage, &operator, "DELETE", &permit, token, "").0;
    assert_eq!(give_back(&elsewhere), 404, "another node's");
    assert_eq!(give_back(&own), 200);
    assert_eq!(ask(&own, &question(&images[1])).0, 200);

    let unbound = stage.token("airside-node", &["--audience", "images.airside.dev"]);
    let operators = stage.token(
        "airside-images-operator",
        &["--audience", "images.airside.dev"],
    );
    let unknown =
        json!({"image": registry.image("org/app:3"), "digest": images[0]["digest"]}).to_string();
    for (what, token, body, expected) in [
        (
            "a token for another audience",
            &token("n1", "https://kubernetes.default.svc"),
            question(&images[0]),
            401,
        ),
        ("no token", &String::new(), question(&images[0]), 401),
        (
            "another node's token",
            &elsewhere,
            question(&images[0]),
            403,
        ),
        (
            "another account's token",
            &operators,
            question(&images[0]),
            403,
        ),
        ("a token of no node", &unbound, question(&images[0]), 403),
        ("an image that nobody wants", &own, unknown, 403),
        ("no question", &own, "{".to_owned(), 400),
    ] {
        let (status, said) = ask(token, &body);
        assert_eq!(status, expected, "{what}: {said}");
    }
    assert!(
        !operator.log(&stage).contains("right"),
        "no password is in the log"
    );
}

/// The service as agents reach it: by its name, and trusting what the ConfigMap says.
fn curl(
    stage: &Stage,
    operator: &Operator,
    method: &str,
    path: &str,
    token: &str,
    body: &str,
) -> (u32, Value) {
    let trust = stage.home.path().join("ca.crt");
    let Some(map) = stage.get(&["configmap", "airside-images-ca", "-n", NAMESPACE]) else {
        return (0, Value::Null);
    };
    std::fs::write(&trust, map["data"]["ca.crt"].as_str().unwrap()).unwrap();
    let (name, port) = (
        format!("airside-images-operator.{NAMESPACE}.svc"),
        operator.port,
    );
    let output = Command::new("curl")
        .args([
            "-sS",
            "--max-time",
            "30",
            "-w",
            "\n%{http_code}",
            "-X",
            method,
            "--cacert",
        ])
        .arg(&trust)
        .args(["--resolve", &format!("{name}:{port}:127.0.0.1"), "-d", body])
        .args(["-H", &format!("Authorization: Bearer {token}")])
        .arg(format!("https://{name}:{port}{path}"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let (body, status) = said.rsplit_once('\n').unwrap();
    (
        status.parse().unwrap(),
        serde_json::from_str(body).unwrap_or_default(),
    )
}
