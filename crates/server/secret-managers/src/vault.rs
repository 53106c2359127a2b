//! HashiCorp Vault (and OpenBao): secrets of its key-value engines, version 1 and 2.
//!
//! - `settings` is what a var source or the server's options say;
//! - `api` speaks its HTTP;
//! - `login` has a token, renews it and logs in again;
//! - `kv` reads a path, whichever version keeps it.

mod api;
mod kv;
mod login;
mod settings;

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{Asker, Error, Manager, Owner, Secret, Template, asker::check_name, places::Places};
use api::Api;
use kv::Mount;
use login::Login;
pub use settings::VaultSettings;

pub struct Vault {
    settings: VaultSettings,
    places: Places,
    api: Api,
    login: Login,
    /// The engines by mount, if they are to be remembered.
    mounts: Mutex<HashMap<String, Mount>>,
}

impl Vault {
    pub fn new(settings: VaultSettings, owner: Owner) -> Result<Self, Error> {
        settings.check(owner)?;
        let prefix = settings.path_prefix.trim_end_matches('/');
        let mut templates = settings.lookup_templates.clone();
        let shared = settings.shared_path.trim_matches('/');
        if !shared.is_empty() {
            templates.push(format!("{shared}/{{{{.Secret}}}}"));
        }
        if owner == Owner::Pipeline {
            templates.push("{{.Secret}}".to_owned());
        }
        let templates = templates.iter().map(|template| {
            let whole = format!("{prefix}/{}", template.trim_start_matches('/'));
            Template::parse(&whole).map_err(|error| Error::Settings(airside_model::chain(&error)))
        });
        let templates = templates.collect::<Result<_, _>>()?;
        Ok(Self {
            places: Places::new(templates, owner, &settings.shared_prefixes)?,
            api: Api::new(&settings)?,
            login: Login::new(&settings),
            mounts: Mutex::default(),
            settings,
        })
    }

    /// Reads with a good token, if there is one to be had. A token that is refused may have been
    /// revoked: the read is tried once more with another one.
    fn with_token<T>(&self, read: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
        let token = self.login.token(&self.api)?;
        match read(&token) {
            Err(Error::Refused(_)) if self.login.forget(&token) => {
                read(&self.login.token(&self.api)?)
            }
            other => other,
        }
    }
}

impl Manager for Vault {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        let paths = self.places.paths(asker, name)?;
        paths
            .iter()
            .try_for_each(|path| check_name(path.trim_start_matches('/')))?;
        Ok(paths)
    }

    fn read(&self, path: &str) -> Result<Option<Secret>, Error> {
        let mounts = self.settings.enable_kv_mount_cache.then_some(&self.mounts);
        self.with_token(|token| kv::read(&self.api, token, path, mounts))
    }

    fn patience(&self) -> Duration {
        // Login, mount, secret; and once more with a new token.
        let VaultSettings {
            login_timeout,
            query_timeout,
            ..
        } = &self.settings;
        let logins = login_timeout.saturating_mul(2);
        logins.saturating_add(query_timeout.saturating_mul(4))
    }

    fn tend(&self) -> Option<Duration> {
        self.login.tend(&self.api)
    }

    fn shown(&self) -> Value {
        let settings = &self.settings;
        json!({
            "url": settings.url, "path_prefix": settings.path_prefix,
            "lookup_templates": settings.lookup_templates, "shared_path": settings.shared_path,
            "namespace": settings.namespace, "ca_cert": settings.ca_cert,
            "server_name": settings.server_name, "auth_backend": settings.auth_backend,
            "auth_max_ttl": settings.auth_backend_max_ttl.as_nanos() as u64,
            "auth_retry_max": settings.auth_retry_max.as_nanos() as u64,
            "auth_retry_initial": settings.auth_retry_initial.as_nanos() as u64,
        })
    }

    fn health(&self) -> (&'static str, Result<Value, Error>) {
        ("/v1/sys/health", self.api.health())
    }
}
