//! The differences between `airside up` and `airside web`.

use std::{io::IsTerminal as _, path::Path};

use airside_auth::LocalUser;
use anyhow::{Result, bail};
use tracing::warn;

use crate::{data::DataFolder, options::ServerOptions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `airside up`: makes up what was not given.
    Up,
    /// `airside web`: requires keys and users.
    Web,
}

/// The local users.
pub(crate) struct Users {
    pub(crate) list: Vec<LocalUser>,
    /// The made-up password of the first user, as a shell reads it: the password itself on the
    /// first start in a terminal; else the file with it, to keep it out of logs.
    pub(crate) made_up: Option<String>,
}

impl Mode {
    /// Checks that the options are enough to start.
    pub(crate) fn check(self, options: &ServerOptions) -> Result<()> {
        if self == Self::Up {
            return Ok(());
        }
        if options.keys.encryption_key_file.is_none() {
            bail!(
                "there is no key to encrypt the database with; make one with `openssl rand -hex 32 > key`, \
                 keep a copy of it elsewhere, and give it with --encryption-key-file key"
            );
        }
        if options.identity.is_empty() && !options.connectors.has_main_team() {
            bail!(
                "no user could log in; give one with --user-file FILE (one NAME:PASSWORD per line, the \
                 password may be a bcrypt hash) or --user NAME:PASSWORD, or name an owner of team \
                 main at an identity provider, with --main-team-oidc-user and the like"
            );
        }
        Ok(())
    }

    /// Returns true if steps run on this machine.
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
        let has_users = !options.identity.is_empty() || options.connectors.has_main_team();
        if self == Self::Web || has_users {
            return Ok(Users {
                list,
                made_up: None,
            });
        }
        let (password, is_new) = data.password()?;
        let is_seen = is_new && std::io::stderr().is_terminal();
        let shown = shown_password(&password, &data.join("password"), is_seen);
        Ok(Users {
            list: vec![format!("admin:{password}").parse()?],
            made_up: Some(shown),
        })
    }
}

/// Returns the password as an argument for a shell. Once a person saw it, or where a log would keep
/// it, it is read from its file.
fn shown_password(password: &str, file: &Path, is_seen: bool) -> String {
    if is_seen {
        password.to_owned()
    } else {
        format!("\"$(cat '{}')\"", file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_shown_to_a_person_and_else_named_by_its_file() {
        let file = Path::new("/data/password");
        assert_eq!(shown_password("secret", file, true), "secret");
        let named = shown_password("secret", file, false);
        assert_eq!(named, "\"$(cat '/data/password')\"");
    }
}
