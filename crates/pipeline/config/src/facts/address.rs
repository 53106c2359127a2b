//! Addresses of sources, as policies see them: without user, password and query.
//!
//! A policy compares what stands here with what it allows, so that the host shown must be the host
//! that is used. An address whose host cannot be told with certainty is not shown at all.

use airside_model::facts::AddressFacts;
use serde_json::{Map, Value};

/// Stands for an address of which the host cannot be told.
const UNREADABLE: &str = "(unreadable)";
/// Stands for user and password if a variable is among them: its value may hold a `/`, which makes
/// another host of what is before it.
const VARIABLE_USER: &str = "((…))@";

/// Schemes whose slashes may be missing or too many: URL parsers read `https:host` as
/// `https://host`.
const LENIENT_SCHEMES: [&str; 5] = ["http", "https", "ftp", "ws", "wss"];

/// Returns the addresses of a source, and of the defaults behind it.
pub(super) fn address_facts(
    source: Option<&Map<String, Value>>,
    defaults: Option<&Map<String, Value>>,
) -> AddressFacts {
    let address = |key: &str| {
        let own = source.and_then(|source| source.get(key));
        let value = own.or_else(|| defaults.and_then(|defaults| defaults.get(key)));
        match value {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => clean_address(text),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => UNREADABLE.to_owned(),
        }
    };
    AddressFacts {
        uri: address("uri"),
        url: address("url"),
        repository: address("repository"),
        owner: address("owner"),
        bucket: address("bucket"),
        endpoint: address("endpoint"),
        server: address("server"),
        namespace: address("namespace"),
    }
}

/// Returns the address without user, password, query and fragment.
pub(super) fn clean_address(text: &str) -> String {
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
    if text.contains(odd) {
        return UNREADABLE.to_owned();
    }
    let (text, digest) = split_digest(text);
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = split_scheme(text);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = match authority.rfind('@') {
        Some(at) => authority.split_at(at + 1),
        None => ("", authority),
    };
    let user = if user.contains("((") {
        VARIABLE_USER
    } else {
        ""
    };
    format!("{scheme}{user}{host}{path}{digest}")
}

/// Splits off the digest of an image, whose `@` divides no user from a host.
fn split_digest(text: &str) -> (&str, &str) {
    let Some(at) = text.rfind('@') else {
        return (text, "");
    };
    let is_hex =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let digest = text.get(at + 1..).unwrap_or_default();
    let digits = ["sha256:", "sha512:"]
        .iter()
        .find_map(|algorithm| digest.strip_prefix(algorithm));
    match digits {
        Some(digits) if is_hex(digits) => text.split_at(at),
        _ => (text, ""),
    }
}

/// Splits `https://` off, with exactly two slashes; nothing if there is no scheme.
fn split_scheme(text: &str) -> (String, &str) {
    let Some((scheme, rest)) = text.split_once(':') else {
        return (String::new(), text);
    };
    let is_lenient = LENIENT_SCHEMES
        .iter()
        .any(|lenient| scheme.eq_ignore_ascii_case(lenient));
    if is_lenient {
        return (format!("{scheme}://"), rest.trim_start_matches('/'));
    }
    let in_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    match rest.strip_prefix("//") {
        Some(rest) if scheme.chars().all(in_scheme) => (format!("{scheme}://"), rest),
        _ => (String::new(), text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_shown_without_what_is_secret() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for (given, expected) in [
            ("https://git.example.com/app", "https://git.example.com/app"),
            (
                "https://ann:s3cret@git.example.com/app",
                "https://git.example.com/app",
            ),
            (
                "https://s3cret@git.example.com:8443/a@b",
                "https://git.example.com:8443/a@b",
            ),
            (
                "https://git.example.com/app?token=s3cret#s3cret",
                "https://git.example.com/app",
            ),
            (
                "https://git.example.com?token=s3cret@x/y",
                "https://git.example.com",
            ),
            (
                "HTTPS:ann:s3cret@git.example.com/app",
                "HTTPS://git.example.com/app",
            ),
            (
                "https:///ann:s3cret@git.example.com/app",
                "https://git.example.com/app",
            ),
            (
                "https://evil.example.com/@good.example.com/app",
                "https://evil.example.com/@good.example.com/app",
            ),
            (
                "https://evil.example.com\\@good.example.com/app",
                UNREADABLE,
            ),
            ("https://evil.example.com\t/app", UNREADABLE),
            (" https://ann:s3cret@git.example.com", UNREADABLE),
            ("ext::sh -c s3cret", UNREADABLE),
            ("git@github.com:org/app.git", "github.com:org/app.git"),
            ("ssh://git@host:22/app", "ssh://host:22/app"),
            ("file:///srv/git/app", "file:///srv/git/app"),
            ("/srv/git/app", "/srv/git/app"),
            ("golang", "golang"),
            ("host:5000/team/image:1", "host:5000/team/image:1"),
            (&format!("golang@{digest}"), &format!("golang@{digest}")),
            (
                &format!("host:5000/a/b:1@{digest}"),
                &format!("host:5000/a/b:1@{digest}"),
            ),
            (
                &format!("https://ann:s3cret@host/a@{digest}"),
                &format!("https://host/a@{digest}"),
            ),
            ("a@sha256:s3cret", "sha256:s3cret"),
            ("((repository))", "((repository))"),
            (
                "https://((user)):((password))@host/app",
                "https://((…))@host/app",
            ),
            (
                "https://((vars:evil))@good.example.com/",
                "https://((…))@good.example.com/",
            ),
            ("", ""),
            ("@", ""),
            ("://", "://"),
            ("é@ü:x", "ü:x"),
        ] {
            assert_eq!(clean_address(given), expected, "{given}");
        }
    }

    #[test]
    fn a_source_comes_before_the_defaults_of_its_type() {
        let source = json!({"uri": "https://a:b@own/x", "bucket": 5, "url": ["s3cret"], "password": "s3cret"});
        let defaults = json!({"uri": "https://other/", "endpoint": "https://s3.example.com", "repository": null});
        let facts = address_facts(source.as_object(), defaults.as_object());
        let shown = serde_json::to_value(facts).unwrap();
        let expected = json!({
            "uri": "https://own/x", "bucket": "5", "url": UNREADABLE, "endpoint": "https://s3.example.com",
        });
        assert_eq!(shown, expected);
        let nothing = serde_json::to_value(address_facts(None, None)).unwrap();
        assert_eq!(nothing, json!({}));
    }
}
