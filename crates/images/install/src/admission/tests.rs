use super::*;

fn admission(namespace: &str, image: &str) -> AdmissionInstall {
    AdmissionInstall {
        namespace: namespace.to_owned(),
        image: image.to_owned(),
        replicas: 2,
        rewrite: None,
        workloads: false,
    }
}

fn yaml(install: &AdmissionInstall) -> String {
    install.manifest().unwrap().to_yaml().unwrap()
}

#[test]
fn all_of_it() {
    let plain = admission("airside-images", "example.com/airside:1");
    insta::assert_snapshot!(yaml(&plain));
    assert_eq!(plain.manifest().unwrap().objects().count(), 11);
}

#[test]
fn what_options_change() {
    let plain = admission("airside-images", "example.com/airside:1");
    let more = AdmissionInstall {
        rewrite: Some("inside:5000".parse().unwrap()),
        workloads: true,
        ..plain.clone()
    };
    let (plain, more) = (yaml(&plain), yaml(&more));
    let known: Vec<&str> = plain.lines().collect();
    let added: Vec<&str> = more.lines().filter(|line| !known.contains(line)).collect();
    insta::assert_snapshot!(added.join("\n"));
}

#[test]
fn what_would_be_none() {
    for (namespace, image) in [
        ("", "a"),
        ("A", "a"),
        ("a: b", "a"),
        ("a", ""),
        ("a", "a\"\n"),
    ] {
        assert!(
            admission(namespace, image).manifest().is_err(),
            "{namespace} {image}"
        );
    }
}
