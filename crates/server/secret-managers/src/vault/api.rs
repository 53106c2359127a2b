//! Vault's HTTP.

use std::time::Duration;

use airside_blocking_http::{
    Address, Client, ClientIdentity, Payload, Request, RequestTimeouts, Tls, Trust, encode,
};
use parking_lot::Mutex;
use serde_json::Value;

use super::VaultSettings;
use crate::Error;

const MAX_ANSWER: u64 = 16 << 20;
/// Connections that are kept for later requests.
const IDLE: usize = 8;

pub(super) struct Api {
    url: String,
    namespace: String,
    tls: Tls,
    silence: Duration,
    idle: Mutex<Vec<Client>>,
}

/// A response of Vault, with any status.
pub(super) struct VaultAnswer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Api {
    pub(super) fn new(settings: &VaultSettings) -> Result<Self, Error> {
        Address::parse(&settings.url)?;
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let trust = match (settings.insecure_skip_verify, given(&settings.ca_cert)) {
            (true, _) => Trust::Anybody,
            (false, None) => Trust::Public,
            (false, Some(certificates)) => Trust::Also(vec![certificates]),
        };
        let identity = given(&settings.client_cert).map(|certificate| ClientIdentity {
            certificate,
            key: settings.client_key.clone(),
        });
        Ok(Self {
            url: settings.url.trim_end_matches('/').to_owned(),
            namespace: settings.namespace.clone(),
            tls: Tls {
                trust,
                identity,
                server_name: given(&settings.server_name),
            },
            silence: settings.query_timeout.max(Duration::from_secs(1)),
            idle: Mutex::default(),
        })
    }

    /// Reads what is at a path, which is not encoded.
    pub(super) fn get(&self, path: &str, token: &str) -> Result<VaultAnswer, Error> {
        self.call("GET", path, Some(token), None)
    }

    pub(super) fn post(
        &self,
        path: &str,
        token: Option<&str>,
        body: &Value,
    ) -> Result<VaultAnswer, Error> {
        self.call("POST", path, token, Some(body))
    }

    /// Returns Vault's report on its health, whatever its status.
    pub(super) fn health(&self) -> Result<Value, Error> {
        let answer = self.call("GET", "sys/health", None, None)?;
        match answer.body {
            Value::Null => Err(Error::of_status(
                answer.status,
                format!("Vault answers with {}", answer.status),
            )),
            body => Ok(body),
        }
    }

    fn call(
        &self,
        method: &'static str,
        path: &str,
        token: Option<&str>,
        body: Option<&Value>,
    ) -> Result<VaultAnswer, Error> {
        let path = encode(path.trim_matches('/'), b"/");
        let address = Address::parse(&format!("{}/v1/{path}", self.url))?;
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let mut request = Request::new(method, address).header("X-Vault-Request", "true");
        if let Some(token) = token {
            request = request.header("X-Vault-Token", token);
        }
        if !self.namespace.is_empty() {
            request = request.header("X-Vault-Namespace", self.namespace.trim_matches('/'));
        }
        if body.is_some() {
            let json = request.header("Content-Type", "application/json");
            request = json.payload(Payload::Bytes(bytes.as_bytes()));
        }
        let client = self.client()?;
        let mut response = client.send(request)?;
        let status = response.status;
        let bytes = response.body.read_all(MAX_ANSWER)?;
        client.done(response);
        let mut idle = self.idle.lock();
        if idle.len() < IDLE {
            idle.push(client);
        }
        Ok(VaultAnswer {
            status,
            body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        })
    }

    fn client(&self) -> Result<Client, Error> {
        if let Some(client) = self.idle.lock().pop() {
            return Ok(client);
        }
        let patience = RequestTimeouts {
            connect: self.silence.min(Duration::from_secs(20)),
            silence: self.silence,
            // Who asks for secrets has its own second tries.
            tries: 1,
            ..RequestTimeouts::default()
        };
        Ok(Client::with_tls(&self.tls, patience)?)
    }
}

impl VaultAnswer {
    /// Returns the body of a success; else an error with Vault's own words about `what`.
    pub(super) fn success(self, what: &str) -> Result<Value, Error> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        let errors = self.body.get("errors").and_then(Value::as_array);
        let errors: Vec<&str> = errors
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let words: String = errors
            .join(", ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let words: String = words.chars().take(300).collect();
        let said = if words.is_empty() {
            String::new()
        } else {
            format!(": {words}")
        };
        let words = format!("Vault answers {what} with {}{said}", self.status);
        Err(Error::of_status(self.status, words))
    }
}
