//! Images that are artifacts, pulled by nodes from the server's own registry through the agent on
//! each of them. Needs a cluster: see `make test-cluster`.

use std::{
    io::{Read as _, Write as _},
    net::{IpAddr, TcpListener, TcpStream},
    process::Command,
};

use crate::support::{Namespace, task};
use airside_scenarios::{Environment, Server, TlsFront, wait_until};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// Makes an image of the one that it runs in, with a mark; always the same one.
const MAKE: &str = "mkdir -p image/rootfs/proc image/rootfs/tmp; chmod 1777 image/rootfs/tmp; \
    cp -a /bin /etc /sbin /usr image/rootfs/; \
    rm -f image/rootfs/etc/hostname image/rootfs/etc/hosts image/rootfs/etc/resolv.conf; \
    echo made >image/rootfs/etc/mark; find image/rootfs -exec touch -h -d @0 {} +; \
    echo '{\"env\": [\"COLOUR=blue\"], \"user\": \"nobody\"}' >image/metadata.json";

const WORK: &str = "cat /etc/mark; echo $COLOUR; id -un";

fn pipeline() -> String {
    let script = serde_json::to_string(WORK).unwrap();
    format!(
        "jobs:\n- name: build\n  plan:\n{}  - task: work\n    image: image\n    tags: [pods]\n    config: {{platform: linux, \
         run: {{path: sh, args: [-c, {script}]}}}}\n",
        task("make", MAKE, "      outputs: [{name: image}]\n")
    )
}

fn free_port(address: IpAddr) -> u16 {
    let listener = TcpListener::bind((address, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// The way of nodes to the registry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Through the agent, which asks it without TLS.
    Agent,
    /// Through the agent, which asks it with TLS and knows its authority.
    AgentTls,
    /// Nodes reach the registry by themselves, as they know its authority.
    Tls,
}

/// A namespace with the agent on each node, and a server with a registry.
struct House {
    server: Server,
    _front: Option<TlsFront>,
    namespace: Namespace,
    registry: String,
}

impl House {
    fn offered() -> Option<Self> {
        Self::by(Way::Agent)
    }

    fn by(way: Way) -> Option<Self> {
        let namespace = Namespace::offered()?;
        let registry = format!("{}:{}", namespace.host, free_port(namespace.host));
        // Of the nodes' loopback: high enough that nothing else of a test has it.
        let port = 20_000 + rand::random::<u16>() % 10_000;
        let airside = |args: &[&str]| {
            let output = Command::new(Environment::get().airside).args(args).output();
            let output = output.expect("airside runs");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let front = (way != Way::Agent).then(|| TlsFront::before(&registry, namespace.host));
        let url = match &front {
            None => format!("http://{registry}"),
            Some(front) => format!("https://{}", front.address),
        };
        let number = port.to_string();
        let agent = ["k8s", "node-agent", "--registry", &url, "--port", &number];
        let image = ["--image", "airside.local/airside:dev"];
        let mut agent = [&agent[..], &["--namespace", &namespace.name], &image].concat();
        if let Some(front) = &front {
            agent.extend(["--ca", front.authority.to_str().unwrap()]);
        }
        let agent = airside(&agent);
        let rights = ["k8s", "rbac", "--namespace", &namespace.name];
        let rights = airside(&[&rights[..], &["--feature", "pull-secrets"]].concat());
        for (name, text) in [("agent.yml", agent), ("rights.yml", rights)] {
            let file = namespace.kubeconfig().with_file_name(name);
            std::fs::write(&file, text).unwrap();
            namespace.kubectl(&["apply", "-f", file.to_str().unwrap()]);
        }
        let as_nodes_see_it = match &front {
            Some(front) if way == Way::Tls => {
                let authority = front.authority.to_str().unwrap();
                (namespace.cluster).ask(&["trust-registry", &front.address, authority]);
                front.address.clone()
            }
            _ => format!("localhost:{port}"),
        };
        let server = namespace.server_with_args(
            &format!("  registry: {as_nodes_see_it}\n"),
            &["--registry-listen", &registry],
        );
        let ready = [
            "rollout",
            "status",
            "daemonset/airside-node-registry",
            "--timeout=120s",
        ];
        namespace.kubectl(&ready);
        Some(Self {
            server,
            _front: front,
            namespace,
            registry,
        })
    }

    /// The names of the pods of steps: the agent's are not.
    fn step_pods(&self) -> Vec<String> {
        let mut pods = self.namespace.pods();
        pods.retain(|pod| !pod.starts_with("airside-node-"));
        pods
    }

    /// Returns the number of blobs that the registry keeps.
    fn blobs(&self) -> usize {
        let folder = self.server.data().join("registry/blobs");
        std::fs::read_dir(folder).unwrap().count()
    }

    /// The status of a request to the registry, past the agent.
    fn ask(&self, path: &str, login: Option<&str>) -> u16 {
        let mut stream = TcpStream::connect(&self.registry).unwrap();
        let login = login.map(|login| format!("Authorization: Basic {login}\r\n"));
        let login = login.unwrap_or_default();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: x\r\n{login}Connection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The login that a pod's node pulls with, and the image it pulls.
    fn pulled(&self) -> (String, String) {
        let pods = self.namespace.kubectl(&["get", "pods", "-o", "json"]);
        let pods: Value = serde_json::from_str(&pods).unwrap();
        let pods = pods["items"].as_array().unwrap();
        let own = |pod: &&Value| {
            pod["spec"]["containers"][0]["image"]
                .to_string()
                .contains("/artifacts@")
        };
        let pod = pods
            .iter()
            .find(own)
            .expect("a pod from an image of the registry");
        let image = pod["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap()
            .to_owned();
        let secret = pod["spec"]["imagePullSecrets"][0]["name"].as_str().unwrap();
        let config = [
            "get",
            "secret",
            secret,
            "-o",
            "jsonpath={.data.\\.dockerconfigjson}",
        ];
        (self.namespace.kubectl(&config), image)
    }

    /// Takes the agent away, so that the namespace becomes empty.
    fn end(self) {
        let name = "airside-node-registry";
        let delete = ["delete", "daemonset", name, "--ignore-not-found"];
        self.namespace.kubectl(&delete);
        self.namespace.wait_until_no_pods();
    }
}

#[test]
fn an_artifact_is_pulled_by_the_kubelet_and_pushed_once() {
    let Some(house) = House::offered() else {
        return;
    };
    let fly = house.server.fly();
    fly.pipeline("p", &pipeline());
    let text = fly
        .trigger_and_watch("p/build")
        .succeeded()
        .lines()
        .join("\n");
    assert!(text.contains("\nmade\nblue\nnobody\n"), "{text}");
    // A layer, its configuration, and the manifest.
    assert_eq!(house.blobs(), 3);

    // The next build makes the same tree anew: another artifact, and the same image.
    fly.trigger_and_watch("p/build").succeeded();
    assert_eq!(house.blobs(), 3);
    wait_until("no pod of a step is left", || house.step_pods().is_empty());
    house.end();
}

#[test]
fn a_registry_with_tls_is_trusted_by_its_authority() {
    for way in [Way::AgentTls, Way::Tls] {
        let Some(house) = House::by(way) else {
            return;
        };
        let fly = house.server.fly();
        fly.pipeline("p", &pipeline());
        let output = fly.trigger_and_watch("p/build").succeeded();
        let text = output.lines().join("\n");
        assert!(text.contains("\nmade\nblue\nnobody\n"), "{text}");
        assert_eq!(house.blobs(), 3);
        house.end();
    }
}

#[test]
fn a_login_opens_the_images_of_its_team_alone() {
    let Some(house) = House::offered() else {
        return;
    };
    let fly = house.server.fly();
    let waiting = pipeline().replace(WORK, "echo running; sleep 600");
    fly.pipeline("p", &waiting);
    let build = fly.trigger("p/build");
    fly.wait_for_text(build.id, "\nrunning");
    let (config, image) = house.pulled();
    let config: Value = serde_json::from_slice(&STANDARD.decode(config).unwrap()).unwrap();
    let (registry, name) = image.split_once('/').unwrap();
    let user = &config["auths"][registry];
    let [user, password] = ["username", "password"].map(|key| user[key].as_str().unwrap());
    let login = STANDARD.encode(format!("{user}:{password}"));
    let (repository, digest) = name.split_once('@').unwrap();
    let manifest = format!("/v2/{repository}/manifests/{digest}");
    assert_eq!(house.ask(&manifest, Some(&login)), 200);
    assert_eq!(house.ask(&manifest, None), 401);
    assert_eq!(
        house.ask(&manifest.replace("team/main", "team/other"), Some(&login)),
        403
    );
    assert_eq!(
        house.ask("/v2/team/main/other/tags/list", Some(&login)),
        403
    );
    fly.run(&["abort-build", "-b", &build.id.to_string()])
        .succeeded();
    house.end();
}
