use super::*;

fn agent(namespace: &str, image: &str) -> RegistryAgentInstall {
    RegistryAgentInstall {
        namespace: namespace.to_owned(),
        image: image.to_owned(),
        registry: "http://10.0.0.1:5000".parse().unwrap(),
        authorities: None,
        port: 5000,
    }
}

#[test]
fn the_daemon_set() {
    let manifest = agent("airside", "example.com/airside:1").manifest();
    insta::assert_snapshot!(manifest.unwrap().to_yaml().unwrap());
}

#[test]
fn with_an_authority_it_has_a_config_map_and_says_so() {
    let made = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
    let pem = made.cert.pem().replace("\r\n", "\n");
    let mut agent = agent("airside", "a");
    agent.authorities = Some(Authorities::parse(&pem).unwrap());
    let manifest = agent.manifest().unwrap();
    let objects: Vec<_> = manifest.objects().collect();
    assert_eq!(objects[0]["data"]["ca.pem"], pem);
    let pod = &objects[1]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let args = container["args"].as_array().unwrap();
    assert_eq!(
        args[args.len() - 2..],
        ["--registry-ca", "/etc/airside/registry-ca/ca.pem"]
    );
    let mount = &container["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/etc/airside/registry-ca");
    assert_eq!(mount["name"], pod["volumes"][0]["name"]);
    let config_map = &pod["volumes"][0]["configMap"]["name"];
    assert_eq!(*config_map, objects[0]["metadata"]["name"]);
}

#[test]
fn what_would_not_be_one() {
    for (namespace, image) in [
        ("", "a"),
        ("A", "a"),
        ("a: b", "a"),
        ("a", ""),
        ("a", "a b"),
        ("a", "a\"\n"),
    ] {
        assert!(
            agent(namespace, image).manifest().is_err(),
            "{namespace} {image}"
        );
    }
}
