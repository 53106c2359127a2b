use super::*;

fn installation() -> Installation {
    Installation {
        namespace: "airside-images".to_owned(),
        image: "airside.local/airside:dev".to_owned(),
        replicas: 1,
        options: vec![],
        certificates: None,
        secret_namespaces: vec![],
    }
}

#[test]
fn what_is_installed() {
    insta::assert_snapshot!(installation().manifest().unwrap());
}

#[test]
fn what_can_be_chosen() {
    let text = Installation {
        options: vec!["--plain-registry=\"x\"".to_owned()],
        certificates: Some("-----BEGIN CERTIFICATE-----\nabc\n".to_owned()),
        secret_namespaces: vec!["one".to_owned(), "two".to_owned()],
        ..installation()
    };
    let text = text.manifest().unwrap();
    for part in [
        r#""--ca-file=/etc/airside/trust/ca.crt", "--plain-registry=\"x\"""#,
        "    -----BEGIN CERTIFICATE-----\n    abc\n",
        "name: airside-images-pull-secrets\n  namespace: two\n",
        "mountPath: /etc/airside/trust",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let everywhere = "kind: ClusterRoleBinding\nmetadata:\n  name: airside-images-pull-secrets\n";
    assert!(!text.contains(everywhere));
    assert!(installation().manifest().unwrap().contains(everywhere));
}

#[test]
fn what_would_not_be_one() {
    let bad = |change: fn(&mut Installation)| {
        let mut installation = installation();
        change(&mut installation);
        assert!(installation.manifest().is_err(), "{installation:?}");
    };
    bad(|it| it.namespace = "A".to_owned());
    bad(|it| it.namespace = String::new());
    bad(|it| it.image = "a\nb".to_owned());
    bad(|it| it.secret_namespaces = vec!["x: y".to_owned()]);
    bad(|it| it.certificates = Some("nothing".to_owned()));
}
