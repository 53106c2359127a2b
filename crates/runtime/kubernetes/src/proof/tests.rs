//! Tokens signed with keys made here; the keys are served as a cluster serves them, over HTTP.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use aws_lc_rs::{
    encoding::AsDer,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use jsonwebtoken::{EncodingKey, Header, encode, get_current_timestamp, jwk::JwkSet};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

/// A signing key and its public half.
struct Signer {
    key: EncodingKey,
    algorithm: Algorithm,
    public: Jwk,
}

impl Signer {
    fn rsa(id: &str) -> Self {
        let pair = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = pair.as_der().unwrap();
        // The crate wants the inner, older form: skip the outer wrapping (26 bytes at this size).
        Self::new(
            id,
            EncodingKey::from_rsa_der(&der.as_ref()[26..]),
            Algorithm::RS256,
        )
    }

    fn ec(id: &str) -> Self {
        let der =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
                .unwrap();
        Self::new(id, EncodingKey::from_ec_der(der.as_ref()), Algorithm::ES256)
    }

    fn new(id: &str, key: EncodingKey, algorithm: Algorithm) -> Self {
        let mut public = Jwk::from_encoding_key(&key, algorithm).unwrap();
        public.common.key_id = Some(id.to_owned());
        Self {
            key,
            algorithm,
            public,
        }
    }

    fn sign(&self, claims: &Value) -> String {
        let kid = self.public.common.key_id.clone();
        let header = Header {
            kid,
            ..Header::new(self.algorithm)
        };
        encode(&header, claims, &self.key).unwrap()
    }
}

fn claims() -> Value {
    let now = get_current_timestamp();
    json!({
        "aud": ["airside-inst"], "iss": "https://kubernetes.default.svc",
        "iat": now, "nbf": now, "exp": now + 3600,
        "sub": "system:serviceaccount:ci:default",
        "kubernetes.io": {
            "namespace": "ci", "pod": {"name": "s-1", "uid": "u-1"},
            "serviceaccount": {"name": "default", "uid": "u-2"},
        },
    })
}

/// Serves a key set that can change; counts how often it was asked for.
#[derive(Clone, Default)]
struct Cluster {
    keys: Arc<Mutex<Vec<Jwk>>>,
    asked: Arc<AtomicUsize>,
}

impl Cluster {
    async fn start(signers: &[&Signer]) -> (Self, Keys) {
        let cluster = Self::default();
        cluster.publish(signers);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(cluster.clone().serve(listener));
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        (cluster, Keys::new(kube::Client::try_from(config).unwrap()))
    }

    fn publish(&self, signers: &[&Signer]) {
        *self.keys.lock() = signers.iter().map(|signer| signer.public.clone()).collect();
    }

    async fn serve(self, listener: TcpListener) {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(connection.read_u8().await.unwrap());
            }
            assert!(request.starts_with(b"GET /openid/v1/jwks "), "{request:?}");
            self.asked.fetch_add(1, Ordering::SeqCst);
            let keys = JwkSet {
                keys: self.keys.lock().clone(),
            };
            let body = serde_json::to_string(&keys).unwrap();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            connection.write_all(answer.as_bytes()).await.unwrap();
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn try_uid(keys: &Keys, jwt: &str, uid: Option<&str>) -> Result<(), ProofError> {
    let handle = Handle::new("s-1");
    let audience = audience(&InstallationId::new("inst"));
    verify(
        keys,
        jwt,
        &Expected {
            audience,
            namespace: "ci",
            handle: &handle,
            uid,
        },
    )
    .await
}

async fn try_proof(keys: &Keys, jwt: &str) -> Result<(), ProofError> {
    try_uid(keys, jwt, Some("u-1")).await
}

#[tokio::test]
async fn a_pods_own_token_is_accepted() {
    let (rsa, ec) = (Signer::rsa("r"), Signer::ec("e"));
    let (cluster, keys) = Cluster::start(&[&rsa, &ec]).await;
    try_proof(&keys, &rsa.sign(&claims())).await.unwrap();
    try_proof(&keys, &format!("{}\n", ec.sign(&claims())))
        .await
        .unwrap();
    try_uid(&keys, &ec.sign(&claims()), None).await.unwrap();
    assert_eq!(cluster.asked(), 1, "the keys are kept");
}

#[tokio::test]
async fn every_claim_must_fit() {
    let ec = Signer::ec("e");
    let (_cluster, keys) = Cluster::start(&[&ec]).await;
    let now = get_current_timestamp();
    for (pointer, value, expected) in [
        ("/aud", json!(["airside-other"]), "InvalidAudience"),
        ("/aud", Value::Null, "aud"),
        ("/exp", json!(now - 600), "ExpiredSignature"),
        ("/exp", Value::Null, "exp"),
        ("/nbf", json!(now + 600), "ImmatureSignature"),
        ("/kubernetes.io/namespace", json!("other"), "namespace"),
        ("/kubernetes.io/pod/name", json!("s-2"), "s-2"),
        ("/kubernetes.io/pod/uid", json!("u-9"), "u-9"),
        ("/kubernetes.io/pod", Value::Null, "Json"),
        ("/kubernetes.io", Value::Null, "Json"),
    ] {
        let mut claims = claims();
        *claims.pointer_mut(pointer).unwrap() = value;
        let error = try_proof(&keys, &ec.sign(&claims))
            .await
            .expect_err(pointer);
        assert!(
            format!("{error:?}").contains(expected),
            "{pointer}: {error:?}"
        );
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let (ours, theirs) = (Signer::ec("e"), Signer::ec("e"));
    let (_cluster, keys) = Cluster::start(&[&ours]).await;
    let forged = try_proof(&keys, &theirs.sign(&claims())).await;
    assert!(matches!(forged, Err(ProofError::Invalid(_))), "{forged:?}");

    // Signed with the public key as if it were a shared secret.
    let header = Header {
        kid: Some("e".to_owned()),
        ..Header::new(Algorithm::HS256)
    };
    let secret = EncodingKey::from_secret(b"public");
    let shared = try_proof(&keys, &encode(&header, &claims(), &secret).unwrap()).await;
    assert!(
        matches!(shared, Err(ProofError::Algorithm(_))),
        "{shared:?}"
    );

    // An algorithm of another family than the key's.
    let rsa = Signer::rsa("e");
    let mixed = try_proof(&keys, &rsa.sign(&claims())).await;
    assert!(matches!(mixed, Err(ProofError::Invalid(_))), "{mixed:?}");

    let garbage = try_proof(&keys, "garbage").await;
    assert!(
        matches!(garbage, Err(ProofError::Malformed(_))),
        "{garbage:?}"
    );
    let header = Header::new(Algorithm::ES256);
    let nameless = try_proof(&keys, &encode(&header, &claims(), &ours.key).unwrap()).await;
    assert!(matches!(nameless, Err(ProofError::NoKey)), "{nameless:?}");
}

#[tokio::test]
async fn new_keys_are_fetched_but_not_at_any_rate() {
    let (old, new) = (Signer::ec("old"), Signer::ec("new"));
    let (cluster, keys) = Cluster::start(&[&old]).await;
    try_proof(&keys, &old.sign(&claims())).await.unwrap();
    cluster.publish(&[&old, &new]);
    for _ in 0..3 {
        let unknown = try_proof(&keys, &new.sign(&claims())).await;
        assert!(
            matches!(unknown, Err(ProofError::UnknownKey(_))),
            "{unknown:?}"
        );
    }
    assert_eq!(cluster.asked(), 1);

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    try_proof(&keys, &new.sign(&claims())).await.unwrap();
    assert_eq!(cluster.asked(), 2);
}

#[tokio::test]
async fn withdrawn_keys_are_forgotten() {
    let old = Signer::ec("old");
    let (cluster, keys) = Cluster::start(&[&old]).await;
    try_proof(&keys, &old.sign(&claims())).await.unwrap();
    cluster.publish(&[]);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(3601)).await;
    tokio::time::resume();
    let withdrawn = try_proof(&keys, &old.sign(&claims())).await;
    assert!(
        matches!(withdrawn, Err(ProofError::UnknownKey(_))),
        "{withdrawn:?}"
    );
}

#[tokio::test]
async fn without_keys_the_claim_may_be_made_again() {
    // No server listens there.
    let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let keys = Keys::new(kube::Client::try_from(config).unwrap());
    let error = try_proof(&keys, &Signer::ec("e").sign(&claims()))
        .await
        .expect_err("no keys");
    assert!(error.is_transient(), "{error:?}");
}
