//! Users that the server's own settings name.

use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A user's name and how to recognise the password. Shows neither in debug output.
#[derive(Clone)]
pub struct LocalUser {
    name: String,
    password: Password,
}

#[derive(Clone)]
enum Password {
    /// Hash of a password that was given in clear: comparing hashes takes the same time however
    /// many characters are right.
    Plain([u8; 32]),
    Bcrypt(String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    #[error("a local user is written `name:password`, and this one has no `:`")]
    NoPassword,
    #[error("a local user is written `name:password`, and this one has an empty name")]
    EmptyName,
    #[error("local user `{0}` has an empty password")]
    EmptyPassword(String),
    #[error("the password of local user `{0}` looks like a bcrypt hash but is not a whole one")]
    BadHash(String),
}

impl std::fmt::Debug for LocalUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalUser")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl FromStr for LocalUser {
    type Err = UserError;

    fn from_str(text: &str) -> Result<Self, UserError> {
        let (name, password) = text.split_once(':').ok_or(UserError::NoPassword)?;
        if name.is_empty() {
            return Err(UserError::EmptyName);
        }
        if password.is_empty() {
            return Err(UserError::EmptyPassword(name.to_owned()));
        }
        let password = if password.starts_with("$2") {
            bcrypt::HashParts::from_str(password)
                .map_err(|_| UserError::BadHash(name.to_owned()))?;
            Password::Bcrypt(password.to_owned())
        } else {
            Password::Plain(digest(password))
        };
        Ok(Self {
            name: name.to_owned(),
            password,
        })
    }
}

impl LocalUser {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn has_hash(&self) -> bool {
        matches!(self.password, Password::Bcrypt(_))
    }

    /// Slow by design for a hashed password: not for an async thread.
    pub(crate) fn accepts(&self, password: &str) -> bool {
        match &self.password {
            Password::Plain(expected) => {
                let given = digest(password);
                expected
                    .iter()
                    .zip(given)
                    .fold(0, |diff, (a, b)| diff | (a ^ b))
                    == 0
            }
            Password::Bcrypt(hash) => bcrypt::verify(password, hash).unwrap_or(false),
        }
    }
}

fn digest(password: &str) -> [u8; 32] {
    Sha256::digest(password.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_hashed_passwords_are_recognised() {
        let hash = bcrypt::hash("se:cret", 4).unwrap();
        for text in ["ann:se:cret".to_owned(), format!("ann:{hash}")] {
            let user: LocalUser = text.parse().unwrap();
            assert_eq!(user.name(), "ann");
            assert!(user.accepts("se:cret"));
            assert!(!user.accepts("se:cre") && !user.accepts("") && !user.accepts(&hash));
            assert!(!format!("{user:?}").contains("cret"));
        }
    }

    #[test]
    fn what_is_not_a_user_is_refused_without_showing_the_password() {
        for (text, expected) in [
            ("ann", UserError::NoPassword),
            (":x", UserError::EmptyName),
            ("ann:", UserError::EmptyPassword("ann".into())),
            ("ann:$2a$10$short", UserError::BadHash("ann".into())),
        ] {
            let error = text.parse::<LocalUser>().unwrap_err();
            assert_eq!(error, expected);
            assert!(!error.to_string().contains("short"));
        }
    }
}
