//! A small Google Cloud Storage on loopback: one object with its generations, and tokens for
//! statements that are signed with the right key.

use std::sync::{Arc, Mutex};

use aws_lc_rs::{
    encoding::AsDer,
    rsa::{KeyPair, KeySize},
    signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey},
};
use base64::{Engine, prelude::*};
use serde_json::{Value, json};

use super::http::{Request, Response, serve};

const TOKEN: &str = "the-token";
const EMAIL: &str = "robot@project.iam.example.com";

#[derive(Clone)]
pub struct GcsObject {
    pub bytes: Vec<u8>,
    pub generation: u64,
    pub cache_control: String,
}

#[derive(Default)]
pub struct Gcs {
    pub object: Option<GcsObject>,
    /// Answers to give for the object instead, first one first.
    pub refusals: Vec<Response>,
}

pub struct GcsServer {
    pub url: String,
    pub state: Arc<Mutex<Gcs>>,
    key: KeyPair,
}

fn pem(key: &KeyPair) -> String {
    let der = key.as_der().unwrap();
    let text = BASE64_STANDARD.encode(der.as_ref());
    format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
}

impl GcsServer {
    pub fn start() -> Self {
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let public = key.public_key().as_ref().to_vec();
        let state = Arc::new(Mutex::new(Gcs::default()));
        let shared = state.clone();
        let host = serve(move |request| match request.path() {
            "/token" => token(&public, &request),
            "/bucket/a%20b/version" => object(&mut shared.lock().unwrap(), &request),
            _ => Response::new(404, "<Error><Code>NoSuchBucket</Code></Error>"),
        });
        let url = format!("http://{host}");
        Self { url, state, key }
    }

    pub fn json_key(&self) -> String {
        let token_uri = format!("{}/token", self.url);
        let private_key = pem(&self.key);
        json!({
            "type": "service_account", "client_email": EMAIL, "private_key": private_key,
            "private_key_id": "key-1", "token_uri": token_uri,
        })
        .to_string()
    }

    /// A key that the account does not have.
    pub fn another_key(&self) -> Value {
        json!(pem(&KeyPair::generate(KeySize::Rsa2048).unwrap()))
    }

    pub fn token(&self) -> &'static str {
        TOKEN
    }
}

/// Gives a token for a statement of the account that is signed, recent and for this server.
fn token(public: &[u8], request: &Request) -> Response {
    let refused = || Response::new(400, r#"{"error": "invalid_grant"}"#);
    let form = String::from_utf8(request.body.clone()).unwrap();
    let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    let statement = form.strip_prefix(grant).unwrap();
    let (signed, signature) = statement.rsplit_once('.').unwrap();
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
    if key.verify(signed.as_bytes(), &signature).is_err() {
        return refused();
    }
    let part = |part: &str| {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    let (header, claims) = signed.split_once('.').unwrap();
    assert_eq!(
        part(header),
        json!({"alg": "RS256", "typ": "JWT", "kid": "key-1"})
    );
    let claims = part(claims);
    let host = request.header("host").unwrap();
    assert_eq!(claims["aud"], json!(format!("http://{host}/token")));
    assert_eq!(claims["iss"], EMAIL);
    assert_eq!(
        claims["scope"],
        "https://www.googleapis.com/auth/devstorage.read_write"
    );
    assert_eq!(
        claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(),
        3600
    );
    Response::new(
        200,
        json!({"access_token": TOKEN, "expires_in": 3599}).to_string(),
    )
}

fn object(state: &mut Gcs, request: &Request) -> Response {
    let bearer = format!("Bearer {TOKEN}");
    if request.header("authorization") != Some(bearer.as_str()) {
        return Response::new(401, "");
    }
    if !state.refusals.is_empty() {
        return state.refusals.remove(0);
    }
    let generation = state.object.as_ref().map_or(0, |object| object.generation);
    if request.method == "PUT" {
        let expected = request.header("x-goog-if-generation-match").unwrap();
        if expected != generation.to_string() {
            return Response::new(412, "");
        }
        state.object = Some(GcsObject {
            bytes: request.body.clone(),
            generation: generation + 17,
            cache_control: request
                .header("cache-control")
                .unwrap_or_default()
                .to_owned(),
        });
        return Response::new(200, "");
    }
    match &state.object {
        Some(object) => Response::new(200, object.bytes.clone())
            .with("x-goog-generation", generation.to_string()),
        None => Response::new(404, ""),
    }
}
