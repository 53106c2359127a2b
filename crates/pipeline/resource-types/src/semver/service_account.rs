//! Tokens for service accounts of Google's cloud: a statement signed with the account's key is
//! exchanged for one.

use airside_blocking_http::{Address, Client, Payload, Request, encode};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use rustls::{
    SignatureScheme,
    crypto::aws_lc_rs::sign::any_supported_type,
    pki_types::{PrivateKeyDer, pem::PemObject},
};
use serde::Deserialize;
use serde_json::json;

use crate::Failure;

const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// Seconds that a statement is good for: the longest that Google takes.
const LIFETIME: i64 = 3600;
const MAX_ANSWER: u64 = 64 << 10;

/// The key of a service account, as Google hands it out.
#[derive(Deserialize)]
pub(super) struct ServiceAccount {
    client_email: String,
    private_key: String,
    private_key_id: Option<String>,
    token_uri: Option<String>,
}

impl ServiceAccount {
    /// Reads the JSON of a key. The errors do not repeat any of it.
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|_| {
            let words =
                "is not the JSON of a service account's key, with client_email and private_key";
            Failure::source("json_key", words)
        })
    }

    /// Gets a token for reading and writing objects.
    pub(super) fn token(&self, client: &Client) -> Result<String, Failure> {
        #[derive(Deserialize)]
        struct Answer {
            access_token: String,
        }
        let uri = self.token_uri.as_deref().unwrap_or(TOKEN_URI);
        let address = Address::parse(uri).map_err(|error| {
            bad_key(&format!(
                "has a token_uri that is not valid: {}",
                airside_model::chain(&error)
            ))
        })?;
        let statement = self.statement(uri, Timestamp::now())?;
        let form = format!("grant_type={}&assertion={statement}", encode(GRANT, b""));
        let request = Request::new("POST", address)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .payload(Payload::Bytes(form.as_bytes()));
        let answer = client.fetch(request, MAX_ANSWER)?;
        let answer: Answer = serde_json::from_slice(&answer)
            .map_err(|_| Failure::said(format!("{uri} answers without a token")))?;
        Ok(answer.access_token)
    }

    /// Returns a signed statement that this account asks for a token (a JWT with RS256).
    fn statement(&self, audience: &str, now: Timestamp) -> Result<String, Failure> {
        let mut header = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = &self.private_key_id {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": audience,
            "iat": now.as_second(),
            "exp": now.as_second() + LIFETIME,
        });
        let [header, claims] =
            [header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.sign(signed.as_bytes())?);
        Ok(format!("{signed}.{signature}"))
    }

    /// Signs with the means of TLS, which this program has anyway.
    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        let unreadable = || bad_key("has a private_key that cannot be read");
        let key =
            PrivateKeyDer::from_pem_slice(self.private_key.as_bytes()).map_err(|_| unreadable())?;
        let key = any_supported_type(&key).map_err(|_| unreadable())?;
        let signer = key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]);
        let signer = signer.ok_or_else(|| bad_key("has a private_key that is not for RSA"))?;
        signer
            .sign(text)
            .map_err(|_| bad_key("has a private_key that cannot sign"))
    }
}

fn bad_key(words: &str) -> Failure {
    Failure::source("json_key", words)
}
