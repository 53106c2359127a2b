use super::*;
use crate::{Lifetimes, renew};

fn made(called: &str) -> Material {
    let names = ["a.b.svc".to_owned(), "10.0.0.1".to_owned()];
    let now = "2026-11-16T00:00:00Z".parse().unwrap();
    renew(None, called, &names, Lifetimes::default(), now)
        .unwrap()
        .material
}

#[test]
fn what_is_kept_is_read_again() {
    let made = made("one");
    assert_eq!(Material::read(&made.data()), Ok(made.clone()));
    let leaf = facts(&made.leaf).unwrap();
    assert_eq!(leaf.names, ["10.0.0.1", "a.b.svc"]);
    assert_eq!(
        leaf.issuer,
        facts(&made.authorities[0]).unwrap().subject,
        "the certificate is the authority's"
    );
    assert!(!format!("{made:?}").contains("PRIVATE"));
}

#[test]
fn what_was_spoilt_is_told() {
    let (one, two) = (made("one").data(), made("two").data());
    let with = |key: &str, value: &[u8]| {
        let mut data = one.clone();
        data.insert(key.to_owned(), value.to_vec());
        Material::read(&data).unwrap_err()
    };
    assert_eq!(
        Material::read(&BTreeMap::new()),
        Err(BadMaterial::Absent(AUTHORITIES))
    );
    for (key, value, expected) in [
        (
            AUTHORITIES,
            &b""[..],
            BadMaterial::NoCertificate(AUTHORITIES),
        ),
        (
            AUTHORITIES,
            b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----",
            BadMaterial::NoCertificate(AUTHORITIES),
        ),
        (LEAF, b"no", BadMaterial::NoCertificate(LEAF)),
        (LEAF, &[0xff], BadMaterial::NotText(LEAF)),
        (
            LEAF_KEY,
            &two[LEAF_KEY],
            BadMaterial::OtherKey {
                key: LEAF_KEY,
                certificate: LEAF,
            },
        ),
        (
            AUTHORITY_KEY,
            b"no",
            BadMaterial::OtherKey {
                key: AUTHORITY_KEY,
                certificate: AUTHORITIES,
            },
        ),
    ] {
        assert_eq!(with(key, value), expected, "{key}");
    }
}
