//! The private home of an action: git and ssh read their settings, keys and credentials here and
//! nowhere else, and it goes away with the action. Secrets are in its files, never on a command
//! line.

use std::{fmt::Write, path::Path};

use airside_blocking_http::encode;

use super::{
    access::{Access, Tunnel},
    config::{self, Purpose},
    remote::{ALLOWED, Protocol, Remote},
};
use crate::{Failure, scratch::Scratch};

pub(super) struct Home {
    pub(super) scratch: Scratch,
    /// Names of settings that a check does without.
    pub(super) left_out: Vec<String>,
    passphrase: bool,
}

impl Home {
    pub(super) fn new(access: &Access, remote: &Remote, purpose: Purpose) -> Result<Self, Failure> {
        let scratch = Scratch::new()?;
        let credentials = credentials(access, remote)?;
        let file = if credentials.is_empty() {
            None
        } else {
            Some(scratch.secret("credentials", &credentials)?)
        };
        let file = file.as_ref().map(|path| path.display().to_string());
        let (text, left_out) = config::text(&access.git_config, file.as_deref(), purpose)?;
        scratch.secret("gitconfig", &text)?;
        let mut home = Self {
            scratch,
            left_out,
            passphrase: false,
        };
        let key = access.private_key.as_deref();
        home.ssh(access, key, access.private_key_passphrase.as_deref())?;
        Ok(home)
    }

    /// Writes what ssh reads; again for a submodule with a key of its own.
    pub(super) fn ssh(
        &mut self,
        access: &Access,
        key: Option<&str>,
        passphrase: Option<&str>,
    ) -> Result<(), Failure> {
        let home = self.scratch.path();
        let mut text = String::from("ServerAliveInterval 15\nServerAliveCountMax 4\n");
        text += "ConnectTimeout 30\nLogLevel ERROR\nPasswordAuthentication no\n";
        text += "KbdInteractiveAuthentication no\nNumberOfPasswordPrompts 1\n";
        match &access.known_hosts {
            Some(known) => {
                let path = self.scratch.secret("known_hosts", &lines(known))?;
                let _ = writeln!(text, "UserKnownHostsFile {}", path.display());
                text += "GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n";
            }
            None => text += "UserKnownHostsFile /dev/null\nStrictHostKeyChecking no\n",
        }
        if let Some(key) = key {
            let path = self.scratch.secret("key", &lines(key))?;
            let _ = writeln!(text, "IdentityFile {}\nIdentitiesOnly yes", path.display());
        }
        self.passphrase = passphrase.is_some();
        match passphrase {
            Some(passphrase) => {
                self.scratch.secret("passphrase", &lines(passphrase))?;
                let script = format!("#!/bin/sh\nexec cat '{}/passphrase'\n", home.display());
                self.scratch.file("askpass", &script, 0o700)?;
            }
            None => text += "BatchMode yes\n",
        }
        if let Some(user) = &access.private_key_user {
            one_word("private_key_user", user)?;
            let _ = writeln!(text, "User {user}");
        }
        if access.forward_agent {
            text += "ForwardAgent yes\n";
        }
        if let Some(tunnel) = &access.https_tunnel {
            text += &self.proxy(tunnel)?;
        }
        self.scratch.secret("ssh_config", &text)?;
        Ok(())
    }

    /// ssh reaches its server through this very program (see `tunnel`).
    fn proxy(&self, tunnel: &Tunnel) -> Result<String, Failure> {
        one_word("https_tunnel", &tunnel.proxy_host)?;
        let port = tunnel
            .proxy_port
            .ok_or_else(|| Failure::source("https_tunnel", "needs a proxy_port"))?;
        let mut text = format!("{}:{port}\n", tunnel.proxy_host);
        if let Some(user) = &tunnel.proxy_user {
            let password = tunnel.proxy_password.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{user}:{password}");
        }
        let file = self.scratch.secret("tunnel", &text)?;
        let program = std::env::current_exe().map_err(Failure::io(Path::new("/proc/self/exe")))?;
        Ok(format!(
            "ProxyCommand '{}' resource git tunnel '{}' %h %p\n",
            program.display(),
            file.display()
        ))
    }

    /// The whole environment of git but for `PATH` and proxies.
    pub(super) fn environment(&self, access: &Access) -> Vec<(String, String)> {
        let home = self.scratch.path().display();
        let mut env = vec![
            ("HOME".to_owned(), home.to_string()),
            ("XDG_CONFIG_HOME".to_owned(), format!("{home}/none")),
            ("GNUPGHOME".to_owned(), format!("{home}/gnupg")),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("GIT_CONFIG_GLOBAL".to_owned(), format!("{home}/gitconfig")),
            ("GIT_ATTR_NOSYSTEM".to_owned(), "1".to_owned()),
            ("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()),
            ("GIT_ALLOW_PROTOCOL".to_owned(), ALLOWED.to_owned()),
            (
                "GIT_SSH_COMMAND".to_owned(),
                format!("ssh -F '{home}/ssh_config'"),
            ),
            ("GIT_SSH_VARIANT".to_owned(), "ssh".to_owned()),
            ("GIT_EDITOR".to_owned(), "true".to_owned()),
            ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
        ];
        let mut set = |name: &str, value: String| env.push((name.to_owned(), value));
        if self.passphrase {
            set("SSH_ASKPASS", format!("{home}/askpass"));
            set("SSH_ASKPASS_REQUIRE", "force".to_owned());
        }
        if access.skip_ssl_verification {
            set("GIT_SSL_NO_VERIFY", "true".to_owned());
        }
        if access.debug {
            for name in ["GIT_TRACE", "GIT_TRACE_PACKFILE", "GIT_CURL_VERBOSE"] {
                set(name, "1".to_owned());
            }
        }
        env
    }
}

/// Lines for `git credential-store`. They hold for the source's own host and for those that are
/// named, not for whatever host a submodule or redirection leads to.
fn credentials(access: &Access, remote: &Remote) -> Result<String, Failure> {
    let mut text = String::new();
    let mut add = |scheme: &str, host: &str, user: &str, password: &str| {
        let (user, password) = (encode(user, b""), encode(password, b""));
        let _ = writeln!(text, "{scheme}://{user}:{password}@{host}");
    };
    for given in &access.submodule_credentials {
        if let (Some(host), Some(user), Some(password)) =
            (&given.host, &given.username, &given.password)
        {
            one_word("submodule_credentials", host)?;
            add("https", host, user, password);
            add("http", host, user, password);
        }
    }
    let named = access.username.as_deref();
    let given = named.map(|name| (name, access.password.as_deref().unwrap_or_default()));
    let written = remote.user.as_ref();
    let written = written.map(|(name, password)| (name.as_str(), password.as_str()));
    let is_http = matches!(remote.protocol, Protocol::Http | Protocol::Https);
    if let (true, Some((user, password)), Some((scheme, host))) =
        (is_http, given.or(written), remote.origin())
    {
        add(scheme, host, user, password);
    }
    Ok(text)
}

fn one_word(key: &str, value: &str) -> Result<(), Failure> {
    if value.is_empty() || value.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Failure::source(key, "has a value with spaces in it"));
    }
    Ok(())
}

/// Text that ends in a line break, without those of other systems.
fn lines(text: &str) -> String {
    let mut text = text.replace("\r\n", "\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
