//! Identities of users, as their identity provider states them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An identity provider that can vouch for a user. Teams name their members with it: `github:ann`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConnectorName {
    /// The server's own settings.
    Local,
    Oidc,
    Github,
    Gitlab,
    Ldap,
}

impl ConnectorName {
    pub const ALL: [Self; 5] = [
        Self::Local,
        Self::Oidc,
        Self::Github,
        Self::Gitlab,
        Self::Ldap,
    ];

    /// Returns the connector's name, as `fly set-team` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Oidc => "oidc",
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Ldap => "ldap",
        }
    }
}

impl fmt::Display for ConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("there is no connector of this name")]
pub struct UnknownConnector;

impl FromStr for ConnectorName {
    type Err = UnknownConnector;

    fn from_str(text: &str) -> Result<Self, UnknownConnector> {
        let mut all = Self::ALL.into_iter();
        all.find(|name| name.as_str() == text)
            .ok_or(UnknownConnector)
    }
}

/// A user, vouched for by an identity provider. Teams know a user by `user_id` or by
/// `user_name`; where there is no user name, `name` stands for it, as in Concourse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub connector: ConnectorName,
    /// Id that never changes and is never given to another user.
    pub user_id: String,
    /// Login name of the user; may be empty.
    pub user_name: String,
    /// Full name of the user; may be empty.
    pub name: String,
    /// Email address; may be empty.
    pub email: String,
    pub groups: Vec<String>,
}

impl Identity {
    pub fn local(name: &str) -> Self {
        Self {
            connector: ConnectorName::Local,
            user_id: name.to_owned(),
            user_name: name.to_owned(),
            name: name.to_owned(),
            email: name.to_owned(),
            groups: Vec::new(),
        }
    }

    /// Returns the name that other users are shown for this user.
    pub fn display_name(&self) -> &str {
        display_name(&self.user_name, &self.user_id, &self.name)
    }
}

pub(crate) fn display_name<'a>(user_name: &'a str, user_id: &'a str, name: &'a str) -> &'a str {
    let mut names = [user_name, user_id].into_iter();
    names.find(|text| !text.is_empty()).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connectors_are_called_as_fly_calls_them() {
        for name in ConnectorName::ALL {
            assert_eq!(name.as_str().parse::<ConnectorName>().unwrap(), name);
            assert_eq!(serde_json::to_value(name).unwrap(), name.as_str());
        }
        assert!("saml".parse::<ConnectorName>().is_err());
    }

    #[test]
    fn the_first_name_there_is_is_shown() {
        for (user_name, user_id, name, expected) in [
            ("ann", "7", "Ann Lee", "ann"),
            ("", "7", "Ann Lee", "7"),
            ("", "", "Ann Lee", "Ann Lee"),
        ] {
            assert_eq!(display_name(user_name, user_id, name), expected);
        }
    }
}
