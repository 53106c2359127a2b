use super::*;

fn mirror() -> MirrorInstall {
    MirrorInstall {
        namespace: "airside-images".to_owned(),
        image: "example.com/airside:1".to_owned(),
        registries: vec![
            "docker.io".parse().unwrap(),
            "r.example=http://10.0.0.1:5000".parse().unwrap(),
        ],
        claim: None,
        ahead: false,
        own_authority: false,
        bucket: None,
    }
}

fn bucket() -> MirrorBucket {
    MirrorBucket {
        storage: "s3://images/mirror".to_owned(),
        region: "eu-west-1".to_owned(),
        endpoint: None,
        secret: Some("bucket".to_owned()),
        replicas: (2, 5),
    }
}

fn yaml(install: &MirrorInstall) -> String {
    install.manifest().unwrap().to_yaml().unwrap()
}

#[test]
fn several_on_a_bucket() {
    let mut mirror = mirror();
    mirror.bucket = Some(bucket());
    mirror.ahead = true;
    mirror.own_authority = true;
    insta::assert_snapshot!(yaml(&mirror));
}

#[test]
fn the_deployment() {
    insta::assert_snapshot!(yaml(&mirror()));
}

#[test]
fn what_would_not_be_one() {
    type Change = fn(&mut MirrorInstall);
    let changes: [Change; 6] = [
        |it| it.namespace = "A: b".to_owned(),
        |it| it.image = "a b".to_owned(),
        |it| it.claim = Some("a}".to_owned()),
        |it| it.registries.clear(),
        |it| {
            it.claim = Some("a".to_owned());
            it.bucket = Some(bucket());
        },
        |it| {
            it.bucket = Some(MirrorBucket {
                region: "a\"b".to_owned(),
                ..bucket()
            });
        },
    ];
    for change in changes {
        let mut mirror = mirror();
        change(&mut mirror);
        assert!(mirror.manifest().is_err(), "{mirror:?}");
    }
}
