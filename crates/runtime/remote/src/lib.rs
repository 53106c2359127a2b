//! An agent: the process that makes a machine elsewhere a worker of a server.
//!
//! The machine may stand where no server can dial it. The agent dials the hub, shows its token, and
//! answers over that connection the requests that a runtime answers: place, destroy, list. It
//! reports by itself what its runtime observes. The server's half is the crate `agents`.
//!
//! ```text
//! server                                      the other machine
//! orchestrator ─▶ AgentRuntime ─▶ line ◀─TLS─ link ─▶ a runtime (the local one) ─▶ containers
//!                                  hub ◀─TCP─ relay ◀─── a socket ◀───────────────── shims
//! ```
//!
//! Shims dial the hub here as everywhere, through the agent's socket and the relay behind it, which
//! passes on bytes that it cannot read. Volumes travel over the shims' own connections. So no step
//! depends on the agent's process: the agent can be killed and started again, and shims dial until
//! it is back.
//!
//! *Absent:* making containers, which is the work of the runtime that the agent is given.

mod link;
mod message;
mod relay;
mod work;

use std::{
    io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use airside_limits::Files;
use airside_model::{InstallationId, chain};
use airside_protocol::{AGENT_PROTOCOL, AgentArrival, AgentToken, BadAgentToken, Join, PROTOCOL};
use airside_runtime::AnyRuntime;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::{link::Link, relay::Relay};

pub use message::{AgentMessage, RuntimeAnswer, RuntimeRequest, ServerMessage};

/// Pause between two tries to reach the hub, at first and at last.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error("cannot read the token in {}", path.display())]
    TokenFile { path: PathBuf, source: io::Error },
    #[error(
        "there is no token in {}: {why}; `airside worker token` makes one, and its whole output belongs there",
        path.display()
    )]
    Token { path: PathBuf, why: BadAgentToken },
    #[error("the token in {} is for `{token}`, not for `{name}`", path.display())]
    Name {
        path: PathBuf,
        token: String,
        name: String,
    },
    #[error("steps cannot reach the hub through {}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("the server does not take this agent: {reason}")]
    Refused { reason: String },
}

/// The hub's address, as the administrator writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubAddress {
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the hub is written `ci.example.com:7000`, or `tls://ci.example.com:7000`")]
pub struct BadHubAddress;

impl FromStr for HubAddress {
    type Err = BadHubAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let schemes = ["tls://", "https://"];
        let plain = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
        let plain = plain.unwrap_or(text).trim_end_matches('/');
        let (host, port) = plain.rsplit_once(':').ok_or(BadHubAddress)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse().map_err(|_| BadHubAddress)?;
        if host.is_empty() || host.contains(['/', '@', ' ']) || port == 0 {
            return Err(BadHubAddress);
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl std::fmt::Display for HubAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

pub struct AgentOptions {
    pub hub: HubAddress,
    pub token_file: PathBuf,
    /// Name that the token must be for; none accepts the token's.
    pub name: Option<String>,
    pub team: Option<String>,
    pub tags: Vec<String>,
    /// Installation of the agent's own runtime. It is not the server's: both may be on one machine.
    pub installation: InstallationId,
    /// Path at which the agent's shims reach the hub.
    pub hub_socket: PathBuf,
    /// Time after which images that no step used are removed.
    pub keep_images: Duration,
}

/// Reads the token from a file. The file may hold another token at any time.
pub fn read_token(path: &Path, name: Option<&str>) -> Result<AgentToken, AgentError> {
    let text = std::fs::read_to_string(path).map_err(|source| AgentError::TokenFile {
        path: path.to_owned(),
        source,
    })?;
    let token: AgentToken = text.parse().map_err(|why| AgentError::Token {
        path: path.to_owned(),
        why,
    })?;
    match name {
        Some(name) if name != token.name => Err(AgentError::Name {
            path: path.to_owned(),
            token: token.name,
            name: name.to_owned(),
        }),
        _ => Ok(token),
    }
}

/// Serves until the shutdown, or until the server refuses the agent for good. Containers go on
/// either way.
pub async fn run(
    options: AgentOptions,
    runtime: AnyRuntime,
    shutdown: CancellationToken,
) -> Result<(), AgentError> {
    let listener =
        airside_protocol::bind_hub_socket(&options.hub_socket).and_then(UnixListener::from_std);
    let listener = listener.map_err(|source| AgentError::Socket {
        path: options.hub_socket.clone(),
        source,
    })?;
    let listener = Arc::new(listener);
    let relay = Relay::new(options.hub.clone(), Files::now().relayed());
    let relay = airside_tasks::supervise("relay", &shutdown, move || {
        relay.clone().serve(listener.clone())
    });
    let (collected, keep) = (runtime.clone(), options.keep_images);
    let images = airside_tasks::supervise("image collector", &shutdown, move || {
        work::collect_images(collected.clone(), keep)
    });
    let served = shutdown
        .run_until_cancelled(keep_connected(&options, &runtime))
        .await;
    relay.abort();
    images.abort();
    served.unwrap_or(Ok(()))
}

/// Connects, over and over.
async fn keep_connected(options: &AgentOptions, runtime: &AnyRuntime) -> Result<(), AgentError> {
    let instance = hex::encode(rand::random::<[u8; 16]>());
    let mut arrival = AgentArrival::Started;
    let (mut pause, mut said) = (FIRST_PAUSE, String::new());
    loop {
        let token = read_token(&options.token_file, options.name.as_deref())?;
        let join = Join {
            protocol: AGENT_PROTOCOL,
            shim_protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            name: token.name.clone(),
            secret: token.secret.clone(),
            instance: instance.clone(),
            arrival,
            team: options.team.clone(),
            tags: options.tags.clone(),
        };
        let trouble = match Link::join(&options.hub, &token.pin, join).await {
            Ok((link, server)) => {
                info!(hub = %options.hub, server, worker = token.name, "server joined");
                (arrival, pause) = (AgentArrival::Back, FIRST_PAUSE);
                said.clear();
                work::serve_requests(link, runtime, &options.installation)
                    .await
                    .to_string()
            }
            Err(link::Error::Refused {
                reason,
                retry: false,
            }) => return Err(AgentError::Refused { reason }),
            Err(error) => chain(&error),
        };
        if trouble != said {
            warn!(hub = %options.hub, reason = trouble, "server not connected; it is tried again");
            said = trouble;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_a_host_and_a_port() {
        for (text, host, port) in [
            ("ci.example.com:7000", "ci.example.com", 7000),
            ("tls://ci.example.com:7000/", "ci.example.com", 7000),
            ("https://10.0.0.1:1", "10.0.0.1", 1),
            ("[::1]:7000", "::1", 7000),
        ] {
            let found: HubAddress = text.parse().expect("an address");
            assert_eq!((found.host.as_str(), found.port), (host, port), "{text}");
        }
        for bad in [
            "",
            "ci",
            "ci:",
            ":7000",
            "ci:0",
            "http://ci/x:1",
            "a@b:1",
            "ci:70000",
        ] {
            assert!(bad.parse::<HubAddress>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_that_is_none_is_told_without_showing_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let missing = read_token(&file, None).expect_err("there is none");
        assert!(missing.to_string().contains("cannot read"), "{missing}");
        std::fs::write(&file, "s3cret").expect("it can be written");
        let bad = read_token(&file, None).expect_err("it is none").to_string();
        assert!(
            bad.contains("airside worker token") && !bad.contains("s3cret"),
            "{bad}"
        );
        let good = AgentToken {
            name: "a".to_owned(),
            pin: "0".repeat(64),
            secret: "1".repeat(64),
        };
        std::fs::write(&file, good.to_string()).expect("it can be written");
        assert_eq!(read_token(&file, Some("a")).expect("it is good"), good);
        let other = read_token(&file, Some("b"))
            .expect_err("another's")
            .to_string();
        assert!(other.contains("is for `a`, not for `b`"), "{other}");
    }
}
