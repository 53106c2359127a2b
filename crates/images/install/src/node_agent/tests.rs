use super::*;

fn yaml(install: &NodeAgentInstall) -> String {
    install.manifest().unwrap().to_yaml().unwrap()
}

#[test]
fn the_daemon_set_that_keeps_images() {
    let agent = NodeAgentInstall::new("airside-images", "example.com/node:1");
    insta::assert_snapshot!(yaml(&agent));
}

#[test]
fn what_can_be_chosen() {
    let mut agent = NodeAgentInstall::new("airside-images", "example.com/node:1");
    agent.registry = Some(NodeRegistryPort {
        registry: "http://10.0.0.1:5000".parse().unwrap(),
        port: 5000,
    });
    agent.has_operator = false;
    agent.options = vec!["--high-mark=\"80\"".to_owned()];
    agent.clean = true;
    let manifest = agent.manifest().unwrap();
    let daemon_set = manifest.objects().last().unwrap();
    let container = &daemon_set["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["ports"][1]["hostPort"], 5000);
    let args = container["args"].as_array().unwrap();
    assert_eq!(args[args.len() - 2..], ["--high-mark=\"80\"", "--clean"]);
    let is_operator = |arg: &serde_json::Value| arg.as_str().unwrap().starts_with("--operator=");
    assert!(!args.iter().any(is_operator));
}

#[test]
fn with_the_mirrors_half() {
    let mut agent = NodeAgentInstall::new("airside-images", "example.com/node:1");
    agent.mirror = Some(NodeMirrorInstall {
        namespace: "airside-images".to_owned(),
        registries: vec!["docker.io".parse().unwrap()],
        mirror: Some("http://airside-images-mirror.airside-images.svc:5000".to_owned()),
        tags: true,
        own_authority: true,
    });
    insta::assert_snapshot!(yaml(&agent));
}

#[test]
fn what_would_not_be_one() {
    for bad in [
        "",
        "/",
        "run/x.sock",
        "/run/../x.sock",
        "/run/x y.sock",
        "/x.sock",
        "/run/",
    ] {
        let mut agent = NodeAgentInstall::new("airside-images", "a");
        agent.runtime_socket = bad.to_owned();
        assert!(agent.manifest().is_err(), "{bad}");
    }
    let mut agent = NodeAgentInstall::new("airside-images", "a");
    agent.image_root = "relative".to_owned();
    assert!(agent.manifest().is_err());
    assert!(NodeAgentInstall::new("A", "a").manifest().is_err());
    assert!(NodeAgentInstall::new("a", "a b").manifest().is_err());
}
