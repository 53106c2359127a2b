use serde_json::json;

use super::*;

fn read(user_name: Option<&str>, groups: Option<&str>, claims: Value) -> Result<Identity> {
    let names = ClaimNames {
        user_name: user_name.map(str::to_owned),
        groups: groups.map(str::to_owned),
        skip_email_verified: false,
    };
    names.identity(ConnectorName::Oidc, claims.as_object().unwrap())
}

#[test]
fn the_user_name_is_the_preferred_one_or_the_one_named() {
    let all = json!({"sub": "7", "preferred_username": "ann", "email": "a@b", "email_verified": true,
                     "name": "Ann Lee", "nick": "annie"});
    let mut unpreferred = all.clone();
    unpreferred
        .as_object_mut()
        .unwrap()
        .remove("preferred_username");
    for (key, claims, user_name, name) in [
        (None, &all, "ann", "Ann Lee"),
        (Some("nick"), &all, "ann", "annie"),
        (Some("nick"), &unpreferred, "annie", "annie"),
        (Some("email"), &unpreferred, "a@b", "a@b"),
        (None, &unpreferred, "7", "Ann Lee"),
        (None, &json!({"sub": "7"}), "7", "7"),
        (None, &json!({"sub": "7", "username": "u"}), "u", "u"),
    ] {
        let identity = read(key, None, claims.clone()).unwrap();
        assert_eq!(
            (identity.user_name.as_str(), identity.name.as_str()),
            (user_name, name),
            "{key:?} {claims}"
        );
        assert_eq!(identity.user_id, "7");
    }
    for (key, claims) in [
        (Some("nick"), json!({"sub": "7", "name": "secret name"})),
        (None, json!({"name": "secret name"})),
        (None, json!({"sub": 7, "name": "secret name"})),
    ] {
        let fault = read(key, None, claims).unwrap_err();
        assert!(matches!(fault, Fault::MissingClaim { .. }), "{fault}");
        assert!(!fault.to_string().contains("secret"), "{fault}");
    }
}

#[test]
fn groups_come_as_lists_objects_or_a_single_name() {
    for (key, claims, groups) in [
        (
            Some("groups"),
            json!({"groups": ["a", "b"]}),
            &["a", "b"][..],
        ),
        (Some("roles"), json!({"roles": ["a"]}), &["a"]),
        (
            Some("roles"),
            json!({"roles": ["a"], "groups": ["b"]}),
            &["b"],
        ),
        (Some("groups"), json!({"groups": "a"}), &["a"]),
        (
            Some("groups"),
            json!({"groups": [{"name": "a", "id": 1}]}),
            &["a"],
        ),
        (Some("groups"), json!({"groups": null}), &[]),
        (Some("groups"), json!({}), &[]),
        (None, json!({"groups": ["a"]}), &[]),
    ] {
        let mut claims = claims;
        claims["sub"] = "7".into();
        let identity = read(None, key, claims.clone()).unwrap();
        assert_eq!(identity.groups, groups, "{key:?} {claims}");
    }
    for bad in [json!([1]), json!({"a": 1}), json!([["a"]]), json!(true)] {
        let fault = read(None, Some("groups"), json!({"sub": "7", "groups": bad})).unwrap_err();
        assert!(matches!(fault, Fault::BadClaim { .. }), "{bad}: {fault}");
    }
}

#[test]
fn an_email_address_must_be_verified() {
    for (verified, good) in [
        (json!(true), true),
        (json!("true"), true),
        (json!(false), false),
        (json!("false"), false),
        (json!(null), false),
    ] {
        let claims = json!({"sub": "7", "email": "a@b", "email_verified": verified});
        let read = read(None, None, claims);
        assert_eq!(read.is_ok(), good, "{verified}");
        if let Err(fault) = read {
            assert!(matches!(fault, Fault::EmailNotVerified), "{fault}");
        }
    }
    let lax = ClaimNames {
        user_name: None,
        groups: None,
        skip_email_verified: true,
    };
    let claims = json!({"sub": "7", "email": "a@b"});
    lax.identity(ConnectorName::Oidc, claims.as_object().unwrap())
        .unwrap();
}
