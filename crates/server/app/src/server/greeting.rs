//! The message of a server that is up: how to log in. It goes to standard error, like everything
//! that is not data.

use tracing::info;

use super::mode::{Mode, Users};
use crate::printing::tell;

/// The address and users that the message names.
pub(super) struct Greeting {
    pub(super) url: String,
    pub(super) users: Users,
}

impl Greeting {
    pub(super) fn print(&self, mode: Mode) {
        let Self { url, users } = self;
        let name = users.list.first().map(|user| user.name());
        if mode == Mode::Web {
            info!(url, version = env!("CARGO_PKG_VERSION"), "server started");
            return;
        }
        let login = name.map_or_else(String::new, |name| {
            format!(" -u {name} -p {}", users.made_up.as_deref().unwrap_or("…"))
        });
        tell(&format!(
            "\n  Airside is up at {url}\n  Open that address in a browser, or log in with fly:\n  fly -t airside login -c {url}{login}\n"
        ));
    }
}
