//! Logging in and out in the audit log, beside the calls that `guard.rs` writes there. Never a
//! password, a code or a token.

use airside_auth::{ConnectorName, Denied, Principal};
use airside_model::chain;
use tracing::{error, info};

use crate::serve::CameFrom;

/// The most characters of a user's name that are logged: a stranger may type any text.
const MAX_USER_CHARS: usize = 100;

/// A user's attempt to log in.
pub(crate) struct Login<'a> {
    pub(crate) connector: ConnectorName,
    pub(crate) user: &'a str,
    pub(crate) path: &'static str,
    pub(crate) from: CameFrom,
}

impl Login<'_> {
    pub(crate) fn succeeded(&self) {
        self.write("succeeded", "");
    }

    pub(crate) fn failed(&self, why: &str) {
        self.write("failed", why);
    }

    /// Records the end of a login with a password. A fault of the server or its directory is logged
    /// in full, too.
    pub(crate) fn ended(&self, denied: Option<&Denied>) {
        match denied {
            None => self.succeeded(),
            Some(denied) => self.failed(&denied.to_string()),
        }
        if let Some(Denied::Directory(fault)) = denied {
            error!(error = %chain(fault), "login failed: its directory gave no answer");
        }
    }

    fn write(&self, outcome: &str, reason: &str) {
        let user: String = self.user.chars().take(MAX_USER_CHARS).collect();
        let (connector, path, address) = (self.connector.as_str(), self.path, self.from);
        info!(
            target: "audit",
            user, action = "LogIn", connector, path, %address, outcome, reason,
            "login"
        );
    }
}

pub(crate) fn logged_out(principal: &Principal, path: &'static str, address: CameFrom) {
    let (user, connector) = (principal.display_user_id(), principal.connector().as_str());
    info!(target: "audit", user, action = "LogOut", connector, path, %address, "logout");
}
