//! What differs between `airside up` and `airside web`.

use airside_auth::LocalUser;
use anyhow::{Result, bail};
use tracing::warn;

use crate::{data::DataFolder, options::ServerOptions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For a person: makes up whatever was not given.
    Up,
    /// For operators: makes up nothing that matters later.
    Web,
}

/// Who may log in with a password.
pub(crate) struct Users {
    pub(crate) list: Vec<LocalUser>,
    /// The password of the first as a shell reads it, if it had to be made up: itself when that was just now, and
    /// afterwards the file that has it, so that it is not in every log.
    pub(crate) made_up: Option<String>,
}

impl Mode {
    /// Whether what was given is enough to start.
    pub(crate) fn check(self, options: &ServerOptions) -> Result<()> {
        if self == Self::Up {
            return Ok(());
        }
        if options.keys.encryption_key_file.is_none() {
            bail!(
                "there is no key to seal the database with; make one with `openssl rand -hex 32 > key`, \
                 keep a copy of it elsewhere, and give it with --encryption-key-file key"
            );
        }
        if options.identity.is_empty() && !options.connectors.has_main_team() {
            bail!(
                "nobody could log in; give a user with --user-file FILE (one NAME:PASSWORD a line, the \
                 password may be a bcrypt hash) or with --user NAME:PASSWORD, or say with \
                 --main-team-oidc-user and the like who of an identity provider's users owns team main"
            );
        }
        Ok(())
    }

    /// Whether steps run on this machine.
    pub(crate) fn has_local_worker(self, options: &ServerOptions) -> bool {
        let local = options.workers.local_worker.unwrap_or(self == Self::Up);
        if !local && !options.workers.has_targets() {
            warn!(
                "no workers configured: no step can run unless agents join; give --targets, or \
                 --local-worker"
            );
        }
        local
    }

    pub(crate) fn users(self, options: &ServerOptions, data: &DataFolder) -> Result<Users> {
        let list = options.identity.local_users()?;
        let somebody = !options.identity.is_empty() || options.connectors.has_main_team();
        if self == Self::Web || somebody {
            return Ok(Users {
                list,
                made_up: None,
            });
        }
        let (password, is_new) = data.password()?;
        let shown = match is_new {
            true => password.clone(),
            false => format!("\"$(cat '{}')\"", data.join("password").display()),
        };
        Ok(Users {
            list: vec![format!("admin:{password}").parse()?],
            made_up: Some(shown),
        })
    }
}
