//! A small OpenID provider. It keeps the rules that real ones keep (codes are good once, for the
//! right client, callback and verifier), and breaks those that a test tells it to.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeySize,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp, jwk::Jwk};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::server::{ReceivedRequest, Reply, Server};
use crate::{OidcConfig, Secret};

/// Id and secret of a client, with characters that must be escaped on the way.
const CLIENT: (&str, &str) = ("air:side", "s3cret&+ value");
const ACCESS: &str = "access-token";

/// A key of the provider's.
#[derive(Clone)]
pub struct Signer {
    id: String,
    algorithm: Algorithm,
    key: EncodingKey,
}

impl Signer {
    pub fn rsa(id: &str) -> Self {
        let pair = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair);
        // The key itself stands behind the head of 26 bytes that says which kind it is.
        let key = EncodingKey::from_rsa_der(&der.unwrap().as_ref()[26..]);
        Self {
            id: id.to_owned(),
            algorithm: Algorithm::RS256,
            key,
        }
    }

    pub fn ec(id: &str) -> Self {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let der = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
        Self {
            id: id.to_owned(),
            algorithm: Algorithm::ES256,
            key: EncodingKey::from_ec_der(der.as_ref()),
        }
    }

    /// Signs with a secret that is public.
    pub fn secret(id: &str, secret: &[u8]) -> Self {
        Self {
            id: id.to_owned(),
            algorithm: Algorithm::HS256,
            key: EncodingKey::from_secret(secret),
        }
    }

    fn public(&self) -> Value {
        let mut key = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        key.common.key_id = Some(self.id.clone());
        serde_json::to_value(key).unwrap()
    }

    fn sign(&self, claims: &Map<String, Value>) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.clone());
        encode(&header, claims, &self.key).unwrap()
    }
}

/// The settings that a test may change.
pub struct Knobs {
    /// Signs; the last one published, unless a test says otherwise.
    pub signer: Signer,
    pub published: Vec<Signer>,
    /// Claims of the id token in place of what belongs there; `null` leaves a claim out.
    pub claims: Map<String, Value>,
    pub user_info: Map<String, Value>,
    /// Replaces what a path answers.
    pub answers: BTreeMap<String, (u16, String)>,
    /// The id token as it is, unsigned.
    pub unsigned: bool,
    /// Never answers these paths.
    pub silent: Vec<String>,
    pub key_fetches: usize,
}

struct Grant {
    nonce: Option<String>,
    challenge: String,
    callback: String,
}

struct Shared {
    issuer: String,
    knobs: Mutex<Knobs>,
    codes: Mutex<BTreeMap<String, Grant>>,
}

pub struct TestProvider {
    shared: Arc<Shared>,
    _server: Server,
}

impl TestProvider {
    /// Ann, of the groups `ops` and `dev`, logs in here.
    pub async fn start(signer: Signer) -> Self {
        let listener = Server::bind().await;
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let user = json!({"sub": "42", "preferred_username": "ann", "name": "Ann Lee",
            "email": "ann@example.com", "email_verified": true, "groups": ["ops", "dev"]});
        let knobs = Knobs {
            published: vec![signer.clone()],
            signer,
            claims: Map::new(),
            user_info: user.as_object().unwrap().clone(),
            answers: BTreeMap::new(),
            unsigned: false,
            silent: Vec::new(),
            key_fetches: 0,
        };
        let shared = Arc::new(Shared {
            issuer,
            knobs: Mutex::new(knobs),
            codes: Mutex::default(),
        });
        let answering = shared.clone();
        let server = Server::start(listener, move |asked| {
            let shared = answering.clone();
            async move { shared.answer(asked).await }
        });
        Self {
            shared,
            _server: server,
        }
    }

    pub fn issuer(&self) -> &str {
        &self.shared.issuer
    }

    pub fn knobs(&self) -> MutexGuard<'_, Knobs> {
        self.shared.knobs.lock().unwrap()
    }

    /// Our client there.
    pub fn config(&self) -> OidcConfig {
        let mut config = OidcConfig::new(self.issuer(), CLIENT.0, Secret::new(CLIENT.1));
        config.patience = Duration::from_secs(5);
        config
    }

    /// Returns the address with which a browser that is sent there comes back: the callback and its
    /// query.
    pub fn visit(&self, url: &Url) -> Url {
        assert_eq!(url.path(), "/authorize", "{url}");
        let fields = url.query_pairs().into_owned().collect();
        self.shared.authorize(&fields)
    }
}

impl Shared {
    async fn answer(&self, asked: ReceivedRequest) -> Reply {
        let (silent, given) = {
            let knobs = self.knobs.lock().unwrap();
            let given = knobs.answers.get(&asked.path).cloned();
            (knobs.silent.contains(&asked.path), given)
        };
        if silent {
            std::future::pending::<()>().await;
        }
        if let Some((status, body)) = given {
            return Reply::new(status, body);
        }
        match asked.path.as_str() {
            "/.well-known/openid-configuration" => Reply::new(200, self.discovery()),
            "/authorize" => Reply::new(302, "").with("location", self.authorize(&asked.fields)),
            "/token" => self.token(&asked),
            "/userinfo" if asked.authorization == format!("Bearer {ACCESS}") => {
                let knobs = self.knobs.lock().unwrap();
                Reply::new(200, Value::Object(knobs.user_info.clone()))
            }
            "/keys" => {
                let mut knobs = self.knobs.lock().unwrap();
                knobs.key_fetches += 1;
                let keys: Vec<Value> = knobs.published.iter().map(Signer::public).collect();
                Reply::new(200, json!({"keys": keys}))
            }
            _ => Reply::new(404, ""),
        }
    }

    fn discovery(&self) -> Value {
        let issuer = &self.issuer;
        json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "userinfo_endpoint": format!("{issuer}/userinfo"),
            "jwks_uri": format!("{issuer}/keys"),
        })
    }

    fn authorize(&self, fields: &BTreeMap<String, String>) -> Url {
        assert_eq!(fields["response_type"], "code");
        assert_eq!(fields["client_id"], CLIENT.0);
        assert_eq!(fields["code_challenge_method"], "S256");
        assert!(fields["scope"].split(' ').any(|scope| scope == "openid"));
        let mut codes = self.codes.lock().unwrap();
        let code = format!("code-{}", codes.len());
        let grant = Grant {
            nonce: fields.get("nonce").cloned(),
            challenge: fields["code_challenge"].clone(),
            callback: fields["redirect_uri"].clone(),
        };
        let mut back: Url = grant.callback.parse().unwrap();
        back.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &fields["state"]);
        codes.insert(code, grant);
        back
    }

    fn token(&self, asked: &ReceivedRequest) -> Reply {
        let escaped = [CLIENT.0, CLIENT.1]
            .map(|text| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>())
            .join(":");
        if asked.authorization != format!("Basic {}", STANDARD.encode(escaped)) {
            return Reply::new(401, json!({"error": "invalid_client"}));
        }
        let code = asked.fields.get("code").cloned().unwrap_or_default();
        // Emptied rather than removed: the next code must be another one.
        let grant = self
            .codes
            .lock()
            .unwrap()
            .get_mut(&code)
            .map(|grant| Grant {
                nonce: grant.nonce.clone(),
                challenge: std::mem::take(&mut grant.challenge),
                callback: grant.callback.clone(),
            });
        let verifier = asked
            .fields
            .get("code_verifier")
            .cloned()
            .unwrap_or_default();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        match grant {
            Some(grant)
                if grant.challenge == challenge
                    && asked.fields.get("redirect_uri") == Some(&grant.callback) =>
            {
                let id_token = self.id_token(grant.nonce);
                let tokens = json!({"access_token": ACCESS, "token_type": "Bearer",
                    "id_token": id_token});
                Reply::new(200, tokens)
            }
            _ => Reply::new(
                400,
                json!({"error": "invalid_grant", "error_description": "The code is not good."}),
            ),
        }
    }

    fn id_token(&self, nonce: Option<String>) -> String {
        let knobs = self.knobs.lock().unwrap();
        let now = get_current_timestamp();
        let claims = json!({"iss": self.issuer, "aud": CLIENT.0, "sub": "42", "iat": now,
            "exp": now + 300, "nonce": nonce});
        let mut claims = claims.as_object().unwrap().clone();
        claims.extend(knobs.claims.clone());
        claims.retain(|_, value| !value.is_null());
        if knobs.unsigned {
            let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
            return format!("{}.{}.", part(json!({"alg": "none"})), part(claims.into()));
        }
        knobs.signer.sign(&claims)
    }
}
