//! Options for local users.

use std::path::{Path, PathBuf};

use airside_auth::LocalUser;
use anyhow::{Context, Result};
use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Local users")]
pub(crate) struct Identity {
    /// Local user who can log in with a password; the first one owns team main. Can be repeated
    ///
    /// The password may be a bcrypt hash. In a variable, separate users with commas. Without any
    /// user, `airside up` makes up a password for `admin` on the first start.
    #[arg(
        id = "user",
        long,
        value_name = "NAME:PASSWORD",
        value_delimiter = ',',
        hide_env_values = true
    )]
    users: Vec<LocalUser>,

    /// File with local users, one NAME:PASSWORD per line
    #[arg(long, value_name = "FILE")]
    user_file: Option<PathBuf>,
}

impl Identity {
    /// Returns true if no local user is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.user_file.is_none()
    }

    /// Returns the users given one by one, then those of the file.
    pub(crate) fn local_users(&self) -> Result<Vec<LocalUser>> {
        let mut users = self.users.clone();
        if let Some(file) = &self.user_file {
            users.extend(read(file)?);
        }
        Ok(users)
    }
}

fn read(file: &Path) -> Result<Vec<LocalUser>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the users in {shown} (--user-file)"))?;
    let lines = text.lines().enumerate();
    let users = lines
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let users: Vec<LocalUser> = users
        .map(|(number, line)| line.parse().with_context(|| format!("{shown}:{number}")))
        .collect::<Result<_>>()?;
    anyhow::ensure!(
        !users.is_empty(),
        "there is no user in {shown} (--user-file); write one NAME:PASSWORD a line"
    );
    Ok(users)
}
