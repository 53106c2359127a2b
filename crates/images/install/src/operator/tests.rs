use airside_kube_objects::DEFAULT_IMAGE;

use super::*;

fn install() -> OperatorInstall {
    OperatorInstall {
        namespace: "airside-images".to_owned(),
        image: "example.com/airside:1".to_owned(),
        replicas: 1,
        options: vec![],
        certificates: None,
        secret_namespaces: vec![],
    }
}

fn yaml(install: &OperatorInstall) -> String {
    install.manifest().unwrap().to_yaml().unwrap()
}

#[test]
fn what_is_installed() {
    insta::assert_snapshot!(yaml(&install()));
}

#[test]
fn what_can_be_chosen() {
    let chosen = OperatorInstall {
        options: vec!["--plain-registry=\"x\"".to_owned()],
        certificates: Some("-----BEGIN CERTIFICATE-----\nabc\n".to_owned()),
        secret_namespaces: vec!["one".to_owned(), "two".to_owned()],
        ..install()
    };
    let manifest = chosen.manifest().unwrap();
    let of_kind = |kind: &str| {
        let objects = manifest.objects().filter(|it| it["kind"] == kind);
        objects.cloned().collect::<Vec<_>>()
    };
    let pod = &of_kind("Deployment")[0]["spec"]["template"]["spec"];
    let args = pod["containers"][0]["args"].as_array().unwrap();
    assert_eq!(args[3], "--ca-file=/etc/airside/trust/ca.crt");
    assert_eq!(args[4], "--plain-registry=\"x\"");
    let mount = &pod["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/etc/airside/trust");
    assert_eq!(
        pod["volumes"][0]["configMap"]["name"],
        "airside-images-trust"
    );
    let trust = &of_kind("ConfigMap")[0]["data"]["ca.crt"];
    assert_eq!(trust, "-----BEGIN CERTIFICATE-----\nabc\n");
    let in_namespaces = of_kind("RoleBinding").into_iter().filter(|binding| {
        binding["metadata"]["name"] == "airside-images-pull-secrets"
            && binding["roleRef"]["kind"] == "ClusterRole"
    });
    let names = in_namespaces.map(|it| it["metadata"]["namespace"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["one", "two"]);
}

#[test]
fn pull_secrets_are_read_everywhere_unless_namespaces_are_named() {
    let everywhere = |install: &OperatorInstall| {
        let manifest = install.manifest().unwrap();
        manifest.objects().any(|it| {
            it["kind"] == "ClusterRoleBinding"
                && it["metadata"]["name"] == "airside-images-pull-secrets"
        })
    };
    let mut install = install();
    assert!(everywhere(&install));
    install.secret_namespaces = vec!["one".to_owned()];
    assert!(!everywhere(&install));
}

#[test]
fn what_would_not_be_one() {
    let bad = |change: fn(&mut OperatorInstall)| {
        let mut install = install();
        change(&mut install);
        assert!(install.manifest().is_err(), "{install:?}");
    };
    bad(|it| it.namespace = "A".to_owned());
    bad(|it| it.namespace = String::new());
    bad(|it| it.image = "a\nb".to_owned());
    bad(|it| it.secret_namespaces = vec!["x: y".to_owned()]);
    bad(|it| it.certificates = Some("nothing".to_owned()));
}

#[test]
fn the_default_image_has_this_version_and_a_host() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(DEFAULT_IMAGE, format!("airside.local/airside:{version}"));
}
