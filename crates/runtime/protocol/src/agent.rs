//! The introduction of an agent: a machine that offers itself as a worker and dials the hub for it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The first word of every token, so that people and scanners know what they look at.
const MARK: &str = "airside-agent-1";

/// The longest name; it is part of file names and labels.
const NAME: usize = 63;

/// The first message of an agent's connection.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Join {
    pub protocol: u32,
    /// Protocol of the shims of its steps.
    pub shim_protocol: u32,
    /// The version of its program, for words.
    pub version: String,
    pub name: String,
    /// The secret part of its token.
    pub secret: String,
    /// Made up by the agent when it starts: two machines with one token are told apart by it.
    pub instance: String,
    pub arrival: AgentArrival,
    /// Team that it wants to serve, if it names one: no other than its token's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Tags that it wants to serve, if it names some: some of its token's.
    #[serde(default)]
    pub tags: Vec<String>,
}

impl fmt::Debug for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join")
            .field("protocol", &self.protocol)
            .field("version", &self.version)
            .field("name", &self.name)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

/// The reason why a worker joins: it was started, or its connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentArrival {
    /// The agent's process was started: an administrator who landed it before wants it back.
    Started,
    /// Only the connection is new.
    Back,
}

/// The token of an agent, and its knowledge of the hub: one line of text.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentToken {
    pub name: String,
    /// Hex SHA-256 of the hub's public key.
    pub pin: String,
    pub secret: String,
}

/// The reason why a text is not a token. The text itself is never part of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAgentToken {
    #[error("it does not begin with `{MARK}:`")]
    Mark,
    #[error("it is cut short, or has something in it that no token has")]
    Parts,
}

/// Returns true if an agent may have this name: letters, digits, `-`, `_` and `.`, at most 63, a
/// letter or digit first.
pub fn is_agent_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let first = name.chars().next();
    name.len() <= NAME
        && name.chars().all(plain)
        && first.is_some_and(|c| c.is_ascii_alphanumeric())
}

impl fmt::Display for AgentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}:{}:{}:{}", self.name, self.pin, self.secret)
    }
}

impl fmt::Debug for AgentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgentToken({})", self.name)
    }
}

impl FromStr for AgentToken {
    type Err = BadAgentToken;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.trim().split(':');
        if parts.next() != Some(MARK) {
            return Err(BadAgentToken::Mark);
        }
        let hex = |text: &str, length: usize| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(name), Some(pin), Some(secret), None)
                if is_agent_name(name) && hex(pin, 64) && hex(secret, 64) =>
            {
                Ok(Self {
                    name: name.to_owned(),
                    pin: pin.to_owned(),
                    secret: secret.to_owned(),
                })
            }
            _ => Err(BadAgentToken::Parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line_of_text() {
        let token = AgentToken {
            name: "gpu-1".to_owned(),
            pin: "ab".repeat(32),
            secret: "0c".repeat(32),
        };
        let text = token.to_string();
        assert_eq!(format!(" {text}\n").parse(), Ok(token.clone()));
        assert!(!format!("{token:?}").contains(&token.secret));
        for (bad, why) in [
            ("", BadAgentToken::Mark),
            ("hello", BadAgentToken::Mark),
            ("airside-agent-1", BadAgentToken::Parts),
            (&text[..text.len() - 1], BadAgentToken::Parts),
            (&format!("{text}:x"), BadAgentToken::Parts),
            (&text.replace("gpu-1", "../x"), BadAgentToken::Parts),
        ] {
            assert_eq!(bad.parse::<AgentToken>(), Err(why), "{bad}");
        }
    }

    #[test]
    fn names_are_plain() {
        for good in ["a", "gpu-1", "A.b_c", &"x".repeat(63)] {
            assert!(is_agent_name(good), "{good}");
        }
        for bad in ["", "-a", ".a", "a b", "a:b", "ä", "a/b", &"x".repeat(64)] {
            assert!(!is_agent_name(bad), "{bad}");
        }
    }
}
