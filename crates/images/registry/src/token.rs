//! Tokens: the rights of a holder under one name, with an end, signed by this installation.
//!
//! The server does not store them. Only the server issues them, they live for hours, and open
//! nothing beyond what they say.

use std::{fmt, time::Duration};

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::{Error, RepositoryName, clock};

/// Each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepositoryAccess {
    Pull,
    Push,
    Delete,
}

impl fmt::Display for RepositoryAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pull => "pull from",
            Self::Push => "push to",
            Self::Delete => "delete from",
        })
    }
}

/// Rights of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// This repository and all below it.
    pub repository: RepositoryName,
    pub access: RepositoryAccess,
    /// Seconds since 1970.
    pub expires: u64,
}

#[derive(Serialize, Deserialize)]
struct Written {
    repository: String,
    access: RepositoryAccess,
    expires: u64,
}

impl Grant {
    /// Returns a grant that lasts for `least` to twice that, and makes the same token for as long
    /// as `least`: a pull secret with it need not be written anew for each use.
    pub fn steady(repository: RepositoryName, access: RepositoryAccess, least: Duration) -> Self {
        let window = least.as_secs().max(1);
        Self {
            repository,
            access,
            expires: (clock::seconds() / window + 2) * window,
        }
    }

    pub fn allows(&self, access: RepositoryAccess, repository: &RepositoryName) -> bool {
        access <= self.access && self.repository.holds(repository)
    }
}

/// Makes tokens and knows its own.
#[derive(Clone)]
pub struct Tokens(hmac::Key);

impl Tokens {
    pub fn new(key: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    pub fn issue(&self, grant: &Grant) -> String {
        let written = Written {
            repository: grant.repository.to_string(),
            access: grant.access,
            expires: grant.expires,
        };
        let text = serde_json::to_vec(&written).expect("plain fields become JSON");
        let body = URL_SAFE_NO_PAD.encode(text);
        let seal = hmac::sign(&self.0, body.as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(seal))
    }

    pub fn check(&self, token: &str) -> Result<Grant, Error> {
        self.check_at(token, clock::seconds())
    }

    fn check_at(&self, token: &str, now: u64) -> Result<Grant, Error> {
        let read = || {
            let (body, seal) = token.split_once('.')?;
            let seal = URL_SAFE_NO_PAD.decode(seal).ok()?;
            hmac::verify(&self.0, body.as_bytes(), &seal).ok()?;
            let text = URL_SAFE_NO_PAD.decode(body).ok()?;
            let written: Written = serde_json::from_slice(&text).ok()?;
            Some(Grant {
                repository: RepositoryName::parse(&written.repository).ok()?,
                access: written.access,
                expires: written.expires,
            })
        };
        read()
            .filter(|grant| now < grant.expires)
            .ok_or(Error::BadToken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team_repository;

    fn grant() -> Grant {
        Grant {
            repository: team_repository("main"),
            access: RepositoryAccess::Push,
            expires: 1000,
        }
    }

    #[test]
    fn a_token_is_what_it_was_until_it_expires() {
        let tokens = Tokens::new(b"key");
        let token = tokens.issue(&grant());
        assert_eq!(tokens.check_at(&token, 999).unwrap(), grant());
        for bad in [
            tokens.check_at(&token, 1000),
            Tokens::new(b"other").check_at(&token, 0),
            tokens.check_at(&token[1..], 0),
            tokens.check_at(&format!("{token}A"), 0),
            tokens.check_at("", 0),
            tokens.check_at(".", 0),
        ] {
            assert!(matches!(bad, Err(Error::BadToken)), "{bad:?}");
        }
    }

    #[test]
    fn every_part_is_signed() {
        let tokens = Tokens::new(b"key");
        let token = tokens.issue(&grant());
        let (_, seal) = token.split_once('.').unwrap();
        let more = Grant {
            access: RepositoryAccess::Delete,
            ..grant()
        };
        let (body, _) = tokens
            .issue(&more)
            .split_once('.')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        assert!(tokens.check_at(&format!("{body}.{seal}"), 0).is_err());
    }

    #[test]
    fn it_allows_what_it_says() {
        let repository = |name| RepositoryName::parse(name).unwrap();
        for (access, name, allowed) in [
            (RepositoryAccess::Pull, "team/main/a", true),
            (RepositoryAccess::Push, "team/main", true),
            (RepositoryAccess::Delete, "team/main/a", false),
            (RepositoryAccess::Pull, "team/other/a", false),
            (RepositoryAccess::Pull, "team/mainly", false),
        ] {
            assert_eq!(grant().allows(access, &repository(name)), allowed, "{name}");
        }
    }

    #[test]
    fn a_steady_one_lasts() {
        let hour = Duration::from_secs(3600);
        let grant = Grant::steady(team_repository("main"), RepositoryAccess::Pull, hour);
        let left = grant.expires - clock::seconds();
        assert!((3600..=7200).contains(&left), "{left}");
        assert_eq!(grant.expires % 3600, 0);
    }
}
