use airside_store::testing::TestDatabase;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};

use super::*;

const DAY: Duration = Duration::from_secs(86400);

fn signer(store: Store) -> IdTokens {
    IdTokens::new(store, "https://ci.example.org/", Rotation::default())
}

fn asker() -> Asker {
    Asker {
        team: "main".to_owned(),
        pipeline: Some("p".to_owned()),
        job: Some("j".to_owned()),
        ..Asker::default()
    }
}

/// Checks a token as others do, with another library.
fn verify(token: &str, keys: &Value) -> Value {
    let keys: JwkSet = serde_json::from_value(keys.clone()).unwrap();
    let header = decode_header(token).unwrap();
    let key = keys.find(header.kid.as_deref().unwrap()).unwrap();
    let mut validation = Validation::new(header.alg);
    validation.set_audience(&["sts"]);
    validation.set_issuer(&["https://ci.example.org"]);
    let key = DecodingKey::from_jwk(key).unwrap();
    decode::<Value>(token, &key, &validation).unwrap().claims
}

#[tokio::test]
async fn tokens_are_believed_by_those_who_fetch_the_keys() {
    let database = TestDatabase::sqlite();
    let tokens = signer(database.open().await);
    for algorithm in ["RS256", "ES256"] {
        let config = json!({"audience": ["sts"], "algorithm": algorithm, "subject_scope": "job"});
        let settings = IdTokenSettings::read(&config).unwrap();
        let token = tokens.token(&asker(), &settings).await.unwrap();
        let keys = tokens.public_keys().await.unwrap();
        let claims = verify(&token, &keys);
        assert_eq!(claims["sub"], "main/p//j", "{algorithm}");
        let text = keys.to_string();
        for private in ["\"d\"", "\"p\"", "\"q\""] {
            assert!(!text.contains(private), "{text}");
        }
    }
    let again = tokens.public_keys().await.unwrap();
    assert_eq!(again, tokens.public_keys().await.unwrap());
    assert_eq!(again["keys"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn keys_are_replaced_and_old_ones_stay_for_a_while() {
    let database = TestDatabase::sqlite();
    let store = database.open().await;
    let tokens = signer(store.clone());
    let first = now();
    tokens.rotate(first).await.unwrap();
    assert_eq!(
        store.signing_keys().await.unwrap().len(),
        0,
        "nobody needs one"
    );
    // Curves only: long RSA keys take long to find.
    tokens.make(Algorithm::Curve, first).await.unwrap();
    for (days, keys) in [(1, 1), (6, 1), (8, 2), (8, 2), (9, 1), (14, 1), (16, 2)] {
        let now = first
            .plus(days * DAY)
            .plus(Duration::from_secs(days.into()));
        tokens.rotate(now).await.unwrap();
        assert_eq!(
            store.signing_keys().await.unwrap().len(),
            keys,
            "day {days}"
        );
    }
    let newest = tokens.newest(Algorithm::Curve).await.unwrap();
    let claims =
        json!({"iss": "https://ci.example.org", "aud": "sts", "exp": now().seconds() + 60});
    let public = newest.public().unwrap();
    verify(&newest.sign(&claims).unwrap(), &json!({"keys": [public]}));
}
