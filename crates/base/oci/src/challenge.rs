//! Registries' requests for a login, and the tokens that answer them.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::{BadDocument, BadRealm, document::read_json, realm::check_realm};

/// Bytes of a token server's answer; beyond any in use.
pub const MAX_TOKEN_BYTES: usize = 1 << 20;
/// Bytes of one `WWW-Authenticate` header.
const MAX_CHALLENGE_BYTES: usize = 8 << 10;

/// A registry's request for a login: one value of `WWW-Authenticate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// Wants a user and a password with each request.
    Basic,
    /// Wants a token from another server.
    Bearer(BearerChallenge),
}

/// `Bearer realm="…",service="…",scope="…"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BearerChallenge {
    pub realm: String,
    pub service: Option<String>,
    pub scope: Option<String>,
}

/// A token server's answer without a usable token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadToken {
    #[error("the token server's answer cannot be read: {0}")]
    Unreadable(String),
    #[error("the token server answers without a token")]
    Missing,
}

impl Challenge {
    /// Reads the first challenge of a header. `None` for a scheme or a form that is not known.
    pub fn parse(header: &str) -> Option<Self> {
        if header.len() > MAX_CHALLENGE_BYTES {
            return None;
        }
        let header = header.trim();
        let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        for (name, value) in parameters(rest) {
            let field = match name.to_ascii_lowercase().as_str() {
                "realm" => &mut realm,
                "service" => &mut service,
                "scope" => &mut scope,
                _ => continue,
            };
            // Given twice, it could mean either.
            if field.replace(value).is_some() {
                return None;
            }
        }
        Some(Self::Bearer(BearerChallenge {
            realm: realm?,
            service,
            scope,
        }))
    }
}

impl BearerChallenge {
    /// Returns the URL that gives a token, for the registry at the URL `registry`. `scope` is asked
    /// for in place of the challenge's own.
    pub fn token_url(&self, registry: &str, scope: Option<&str>) -> Result<String, BadRealm> {
        check_realm(&self.realm, registry)?;
        let mut url = self.realm.clone();
        let mut mark = if url.contains('?') { '&' } else { '?' };
        let scope = scope.or(self.scope.as_deref());
        for (key, value) in [("service", self.service.as_deref()), ("scope", scope)] {
            if let Some(value) = value {
                let _ = write!(url, "{mark}{key}={}", percent_encoded(value));
                mark = '&';
            }
        }
        Ok(url)
    }
}

/// Returns the quoted parameters at the start of a text, up to the first thing that is none.
fn parameters(mut text: &str) -> impl Iterator<Item = (&str, String)> {
    std::iter::from_fn(move || {
        let rest = text.trim_start_matches([' ', '\t', ',']);
        let (name, rest) = rest.split_once("=\"")?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return None;
        }
        let (value, rest) = quoted(rest)?;
        text = rest;
        Some((name, value))
    })
}

/// Reads to the closing quote. A backslash stands before a character that is meant as it is.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

/// Returns a value as part of a query.
fn percent_encoded(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Reads a token server's answer: a token that is safe in a header.
pub fn read_token(answer: &[u8]) -> Result<String, BadToken> {
    #[derive(Deserialize)]
    struct TokenAnswer {
        token: Option<String>,
        access_token: Option<String>,
    }
    if answer.len() > MAX_TOKEN_BYTES {
        return Err(BadToken::Unreadable("it is too long".to_owned()));
    }
    let read: TokenAnswer = read_json(answer).map_err(|error| match error {
        BadDocument::Unreadable(words) => BadToken::Unreadable(words),
        other => BadToken::Unreadable(other.to_string()),
    })?;
    let is_given = |token: &String| !token.is_empty();
    let token = read.token.filter(is_given).or(read.access_token);
    let token = token.filter(is_given).ok_or(BadToken::Missing)?;
    if token.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(token)
    } else {
        let words = "the token has characters that no header has";
        Err(BadToken::Unreadable(words.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>, scope: Option<&str>) -> Challenge {
        Challenge::Bearer(BearerChallenge {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        })
    }

    #[test]
    fn challenges() {
        let all = r#"Bearer realm="https://a/token",service="s",scope="x""#;
        let long = format!("Bearer realm=\"{}\"", "a".repeat(MAX_CHALLENGE_BYTES));
        for (header, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (all, Some(bearer("https://a/token", Some("s"), Some("x")))),
            (
                r#" bearer realm="a" , error="e""#,
                Some(bearer("a", None, None)),
            ),
            (
                r#"Bearer scope="s", REALM="a""#,
                Some(bearer("a", None, Some("s"))),
            ),
            (r#"Bearer realm="a\"b""#, Some(bearer("a\"b", None, None))),
            (
                r#"Bearer realm="a", Basic realm="b""#,
                Some(bearer("a", None, None)),
            ),
            (
                r#"Bearer x="realm=",realm="a""#,
                Some(bearer("a", None, None)),
            ),
            (r#"Bearer realm="a",realm="b""#, None),
            (r#"Bearer xrealm="a""#, None),
            (r#"Bearer realm="a"#, None),
            (r#"Bearer realm="a\"#, None),
            ("Bearer realm=a", None),
            ("Bearer nothing", None),
            ("Bearer service=\"x\"", None),
            ("Bearer", None),
            ("Digest realm=\"x\"", None),
            ("", None),
            (&long, None),
        ] {
            assert_eq!(Challenge::parse(header), expected, "{header}");
        }
    }

    #[test]
    fn urls_of_tokens() {
        for (realm, scope, expected) in [
            (
                "https://a.example/t",
                None,
                "https://a.example/t?service=r%20x&scope=own",
            ),
            (
                "https://a.example?x=y",
                None,
                "https://a.example?x=y&service=r%20x&scope=own",
            ),
            (
                "https://a.example/t",
                Some("repository:a:pull"),
                "https://a.example/t?service=r%20x&scope=repository%3Aa%3Apull",
            ),
        ] {
            let Challenge::Bearer(challenge) = bearer(realm, Some("r x"), Some("own")) else {
                panic!("no challenge for a token");
            };
            let url = challenge.token_url("https://r.example", scope);
            assert_eq!(url.as_deref(), Ok(expected));
        }
    }

    #[test]
    fn tokens() {
        for (answer, expected) in [
            (r#"{"token": "a"}"#, Ok("a")),
            (r#"{"access_token": "b", "x": 1}"#, Ok("b")),
            (r#"{"token": "", "access_token": "b"}"#, Ok("b")),
            ("{}", Err("without a token")),
            (r#"{"token": ""}"#, Err("without a token")),
            (r#"{"token": "a\r\nb"}"#, Err("no header")),
            (r#"{"token": 1}"#, Err("cannot be read")),
            ("", Err("cannot be read")),
            ("[]", Err("cannot be read")),
        ] {
            match (read_token(answer.as_bytes()), expected) {
                (Ok(token), Ok(expected)) => assert_eq!(token, expected),
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (found, _) => panic!("{answer}: {found:?}"),
            }
        }
    }
}
