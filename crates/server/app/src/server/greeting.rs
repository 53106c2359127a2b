//! The message of a server that is up: how to log in. It goes to standard error, like everything
//! that is not data.

use tracing::info;

use super::mode::{Mode, Users};

pub(crate) fn greet(mode: Mode, url: &str, users: &Users) {
    let name = users.list.first().map(|user| user.name());
    if mode == Mode::Web {
        info!(url, version = env!("CARGO_PKG_VERSION"), "server started");
        return;
    }
    let login = name.map_or_else(String::new, |name| {
        format!(" -u {name} -p {}", users.made_up.as_deref().unwrap_or("…"))
    });
    eprintln!();
    eprintln!("  Airside is up at {url}");
    eprintln!("  fly -t airside login -c {url}{login}");
    eprintln!();
}
