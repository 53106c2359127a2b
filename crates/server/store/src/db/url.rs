//! Addresses of databases.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// A file of our own.
    Sqlite(PathBuf),
    /// A server; the URL may hold a password and is never shown.
    Postgres(String),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a database is given as `postgres://user:password@host:port/name` or `sqlite:FILE`, not as \
     something that begins with `{0}`"
)]
pub struct DatabaseUrlError(String);

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, DatabaseUrlError> {
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        match scheme {
            "postgres" | "postgresql" if rest.starts_with("//") => Ok(Self::Postgres(text.into())),
            "sqlite" if !rest.is_empty() => {
                Ok(Self::Sqlite(rest.strip_prefix("//").unwrap_or(rest).into()))
            }
            // Whatever follows may be a password.
            _ => Err(DatabaseUrlError(scheme.chars().take(12).collect())),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => f.debug_tuple("Postgres").finish_non_exhaustive(),
        }
    }
}

impl From<&Path> for DatabaseUrl {
    fn from(path: &Path) -> Self {
        Self::Sqlite(path.to_owned())
    }
}

impl From<&PathBuf> for DatabaseUrl {
    fn from(path: &PathBuf) -> Self {
        Self::Sqlite(path.clone())
    }
}

impl From<PathBuf> for DatabaseUrl {
    fn from(path: PathBuf) -> Self {
        Self::Sqlite(path)
    }
}

impl From<&DatabaseUrl> for DatabaseUrl {
    fn from(url: &DatabaseUrl) -> Self {
        url.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_apart_and_passwords_stay_out_of_sight() {
        let postgres: DatabaseUrl = "postgres://u:secret@h/d".parse().unwrap();
        assert!(matches!(postgres, DatabaseUrl::Postgres(_)));
        assert!(!format!("{postgres:?}").contains("secret"));
        let file = |text: &str| text.parse::<DatabaseUrl>().unwrap();
        assert_eq!(file("sqlite:a/b.db"), DatabaseUrl::Sqlite("a/b.db".into()));
        assert_eq!(file("sqlite:///a.db"), DatabaseUrl::Sqlite("/a.db".into()));
        for bad in [
            "",
            "mysql://u:secret@h/d",
            "postgres:x",
            "sqlite:",
            "db.sqlite",
        ] {
            let error = bad.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
