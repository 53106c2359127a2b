//! A token: given, or got by logging in; renewed while it can be, and got anew when it cannot.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::{VaultSettings, api::Api};
use crate::Error;

/// A token that was got less than this ago and is refused is not worth a new one.
const JUST_NOW: Duration = Duration::from_secs(5);
/// The time between two looks at a token whose lease is not known.
const NOW_AND_THEN: Duration = Duration::from_secs(300);

pub(super) struct Login {
    way: Way,
    max_ttl: Duration,
    first_pause: Duration,
    longest_pause: Duration,
    state: Mutex<State>,
}

enum Way {
    Token(String),
    TokenFile(PathBuf),
    Backend {
        path: String,
        params: BTreeMap<String, String>,
        files: BTreeMap<String, PathBuf>,
    },
}

#[derive(Default)]
struct State {
    session: Option<VaultSession>,
    /// Logins in a row that failed, and the error of the last one.
    failures: u32,
    refused: Option<(Instant, Error)>,
}

struct VaultSession {
    token: String,
    since: Instant,
    /// The time from which the token is to be renewed, and that at which it ends. `None` if it
    /// never ends, or its lease is not known.
    lease: Option<(Instant, Instant)>,
    renewable: bool,
}

impl VaultSession {
    fn new(token: String, lease: Duration, renewable: bool) -> Self {
        let now = Instant::now();
        Self {
            token,
            since: now,
            lease: (!lease.is_zero()).then(|| {
                (
                    airside_model::deadline_after(now, lease / 2),
                    airside_model::deadline_after(now, lease),
                )
            }),
            renewable,
        }
    }
}

impl Login {
    pub(super) fn new(settings: &VaultSettings) -> Self {
        let way = if !settings.client_token.is_empty() {
            Way::Token(settings.client_token.clone())
        } else if !settings.client_token_path.is_empty() {
            Way::TokenFile(PathBuf::from(&settings.client_token_path))
        } else {
            let backend = settings.auth_backend.trim_matches('/');
            let user = settings.auth_params.get("username");
            Way::Backend {
                path: match (backend, user) {
                    ("ldap" | "okta" | "userpass", Some(user)) => {
                        format!("auth/{backend}/login/{user}")
                    }
                    _ => format!("auth/{backend}/login"),
                },
                params: settings.auth_params.clone(),
                files: settings.auth_param_files.clone(),
            }
        };
        Self {
            way,
            max_ttl: settings.auth_backend_max_ttl,
            first_pause: settings.auth_retry_initial,
            longest_pause: settings.auth_retry_max,
            state: Mutex::default(),
        }
    }

    /// Returns a token that should be good. Callers that come meanwhile wait for the same login.
    pub(super) fn token(&self, api: &Api) -> Result<String, Error> {
        let mut state = self.state.lock();
        let now = Instant::now();
        if let Some(session) = &mut state.session {
            let too_old = !self.max_ttl.is_zero()
                && now > airside_model::deadline_after(session.since, self.max_ttl);
            let over = session.lease.is_some_and(|(_, end)| now >= end);
            if !too_old && !over {
                if session.renewable && session.lease.is_some_and(|(renew, _)| now >= renew) {
                    renew(api, session);
                }
                return Ok(session.token.clone());
            }
        }
        state.session = None;
        // A wrong password is not tried a thousand times a minute: the account would be locked.
        if let Some((until, error)) = &state.refused
            && now < *until
        {
            return Err(error.clone());
        }
        match self.log_in(api) {
            Ok(session) => {
                let token = session.token.clone();
                *state = State {
                    session: Some(session),
                    ..State::default()
                };
                Ok(token)
            }
            Err(error) => {
                if !error.is_transient() {
                    let pause = self.first_pause.saturating_mul(1 << state.failures.min(16));
                    state.failures = state.failures.saturating_add(1);
                    let until = airside_model::deadline_after(now, pause.min(self.longest_pause));
                    state.refused = Some((until, error.clone()));
                }
                Err(error)
            }
        }
    }

    /// Gives up a token that was refused, and returns true if it makes sense to log in again.
    pub(super) fn forget(&self, token: &str) -> bool {
        let mut state = self.state.lock();
        match &state.session {
            Some(session) if session.token == token => {
                let again =
                    session.since.elapsed() > JUST_NOW && !matches!(self.way, Way::Token(_));
                if again {
                    state.session = None;
                }
                again
            }
            // Another thread was faster.
            _ => true,
        }
    }

    /// Renews the token if that is due. Gives when to look again.
    pub(super) fn tend(&self, api: &Api) -> Option<Duration> {
        if self.token(api).is_err() {
            return Some(self.first_pause.max(Duration::from_secs(10)));
        }
        let state = self.state.lock();
        let session = state.session.as_ref()?;
        let due = session.lease.map(|(renew, _)| renew);
        Some(
            match due {
                Some(due) => due.saturating_duration_since(Instant::now()),
                None => NOW_AND_THEN,
            }
            .max(Duration::from_secs(1)),
        )
    }

    fn log_in(&self, api: &Api) -> Result<VaultSession, Error> {
        match &self.way {
            Way::Token(token) => self.given(api, token),
            Way::TokenFile(path) => {
                let token = read(path)?;
                self.given(api, token.trim())
            }
            Way::Backend {
                path,
                params,
                files,
            } => {
                let mut body = Map::new();
                for (name, value) in params {
                    body.insert(name.clone(), Value::String(value.clone()));
                }
                for (name, path) in files {
                    let value = read(path)?.trim().to_owned();
                    body.insert(name.clone(), Value::String(value));
                }
                let answer = api.post(path, None, &Value::Object(body))?;
                let answer = answer.success(&format!("the login at {path}"))?;
                let auth = answer.get("auth");
                session(auth).ok_or_else(|| {
                    Error::Refused(format!("Vault answers the login at {path} without a token"))
                })
            }
        }
    }

    /// A token that others made. What it may not look up of itself does not matter.
    fn given(&self, api: &Api, token: &str) -> Result<VaultSession, Error> {
        let answer = api.get("auth/token/lookup-self", token)?;
        if answer.status == 403 {
            return Ok(VaultSession::new(token.to_owned(), Duration::ZERO, false));
        }
        let body = answer.success("what the token is")?;
        let ttl = body.pointer("/data/ttl").and_then(Value::as_u64);
        let renewable = body.pointer("/data/renewable").and_then(Value::as_bool);
        let lease = Duration::from_secs(ttl.unwrap_or_default());
        Ok(VaultSession::new(
            token.to_owned(),
            lease,
            renewable.unwrap_or_default(),
        ))
    }
}

/// Makes it good for longer. If that fails it is still good for a while, and the next one tries
/// again.
fn renew(api: &Api, session: &mut VaultSession) {
    let answer = api.post(
        "auth/token/renew-self",
        Some(&session.token),
        &Value::Object(Map::new()),
    );
    let answer = answer.and_then(|answer| answer.success("the renewal"));
    let renewed = answer.ok().and_then(|body| self::session(body.get("auth")));
    if let Some(renewed) = renewed {
        session.lease = renewed.lease;
        session.renewable = renewed.renewable;
    }
}

/// Reads Vault's description of a token that it just made or renewed.
fn session(auth: Option<&Value>) -> Option<VaultSession> {
    let auth = auth?;
    let token = auth.get("client_token")?.as_str()?.to_owned();
    let lease = auth.get("lease_duration").and_then(Value::as_u64);
    let renewable = auth.get("renewable").and_then(Value::as_bool);
    let lease = Duration::from_secs(lease.unwrap_or_default());
    Some(VaultSession::new(
        token,
        lease,
        renewable.unwrap_or_default(),
    ))
}

fn read(path: &PathBuf) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|error| {
        Error::Settings(format!(
            "cannot read {}: {error}",
            path.display(),
            error = airside_model::chain(&error)
        ))
    })
}
