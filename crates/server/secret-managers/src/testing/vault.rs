//! A stand-in for Vault.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::http::{Request, TestAnswer, serve};

pub struct VaultStandIn {
    pub url: String,
    state: Arc<Mutex<VaultState>>,
}

/// Secrets that it knows, and requests that it received.
pub struct VaultState {
    /// Versions of key-value engines by where they are mounted, with a slash at the end.
    pub mounts: BTreeMap<String, u8>,
    /// Secrets by path, whatever the version.
    pub secrets: BTreeMap<String, Value>,
    /// The body that a login must have, by its path under `auth/`.
    pub logins: BTreeMap<String, Value>,
    /// Tokens that are good.
    pub tokens: Vec<String>,
    /// Lease of the tokens that it gives out, in seconds.
    pub lease: u64,
    /// Only requests in this namespace are answered.
    pub namespace: Option<String>,
    /// So many requests are answered with 503 first.
    pub trouble: u32,
    /// Methods and paths, in order.
    pub asked: Vec<String>,
}

impl VaultStandIn {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(VaultState {
            mounts: BTreeMap::from([("concourse/".to_owned(), 1)]),
            secrets: BTreeMap::new(),
            logins: BTreeMap::new(),
            tokens: vec!["root".to_owned()],
            lease: 3600,
            namespace: None,
            trouble: 0,
            asked: Vec::new(),
        }));
        let own = state.clone();
        let url = serve(move |request| own.lock().answer(&request));
        Self { url, state }
    }

    pub fn state(&self) -> MutexGuard<'_, VaultState> {
        self.state.lock()
    }

    pub fn keep(&self, path: &str, fields: Value) {
        self.state().secrets.insert(path.to_owned(), fields);
    }

    /// Counts the requests whose method and path begin so.
    pub fn count(&self, beginning: &str) -> usize {
        let state = self.state();
        let asked = state.asked.iter();
        asked.filter(|asked| asked.starts_with(beginning)).count()
    }
}

impl VaultState {
    fn answer(&mut self, request: &Request) -> TestAnswer {
        let Some(path) = request.path.strip_prefix("/v1/") else {
            return (404, json!({"errors": []}));
        };
        self.asked.push(format!("{} {path}", request.method));
        if self.trouble > 0 {
            self.trouble -= 1;
            return (503, json!({"errors": ["Vault is sealed"]}));
        }
        if path == "sys/health" {
            return (200, json!({"initialized": true, "sealed": false}));
        }
        if self.namespace.as_ref() != request.headers.get("x-vault-namespace") {
            return (404, json!({"errors": ["no handler for route"]}));
        }
        if let Some(backend) = path
            .strip_prefix("auth/")
            .filter(|path| path.contains("/login"))
        {
            return self.log_in(backend, &request.body);
        }
        let token = request.headers.get("x-vault-token");
        let Some(token) = token.filter(|token| self.tokens.contains(token)).cloned() else {
            return (403, json!({"errors": ["permission denied"]}));
        };
        match path {
            "auth/token/lookup-self" => {
                (200, json!({"data": {"ttl": self.lease, "renewable": true}}))
            }
            "auth/token/renew-self" => (200, self.auth(&token)),
            _ => self.read(path),
        }
    }

    fn auth(&self, token: &str) -> Value {
        json!({"auth": {"client_token": token, "lease_duration": self.lease, "renewable": true}})
    }

    fn log_in(&mut self, backend: &str, body: &Value) -> TestAnswer {
        match self.logins.get(backend) {
            Some(wanted) if wanted == body => {
                let token = format!("token-{}", self.asked.len());
                self.tokens.push(token.clone());
                (200, self.auth(&token))
            }
            Some(_) => (400, json!({"errors": ["invalid role or secret ID"]})),
            None => (403, json!({"errors": ["permission denied"]})),
        }
    }

    fn read(&self, path: &str) -> TestAnswer {
        if let Some(path) = path.strip_prefix("sys/internal/ui/mounts/") {
            let path = format!("{path}/");
            let mount = self
                .mounts
                .iter()
                .find(|(mount, _)| path.starts_with(*mount));
            return match mount {
                Some((mount, version)) => (
                    200,
                    json!({"data": {"path": mount, "options": {"version": version.to_string()}}}),
                ),
                None => (
                    403,
                    json!({"errors": ["preflight capability check returned 403"]}),
                ),
            };
        }
        let found = self.mounts.iter().find_map(|(mount, version)| {
            let within = path.strip_prefix(mount)?;
            let within = match version {
                2 => within.strip_prefix("data/")?,
                _ => within,
            };
            let fields = self.secrets.get(&format!("{mount}{within}"))?;
            Some(match version {
                2 => json!({"data": {"data": fields, "metadata": {"version": 1}}}),
                _ => json!({"data": fields, "lease_duration": 2_764_800}),
            })
        });
        match found {
            Some(body) => (200, body),
            None => (404, json!({"errors": []})),
        }
    }
}
