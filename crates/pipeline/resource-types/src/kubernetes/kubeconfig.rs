//! A kubeconfig, as text or as a map. Whatever would run a program or open a file of the machine
//! that reads it is refused by its key.

use airside_blocking_http::{ClientIdentity, Tls, Trust};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::{
    access::{AccessToken, ClusterAccess, trusting},
    names::text,
    settings::server_address,
};
use crate::Failure;

/// Longest kubeconfig that is read.
const MAX_BYTES: usize = 1 << 20;
const KEY: &str = "kubeconfig";

/// Keys of a user or cluster that would lead out of the text itself, with the advice for each.
const REFUSED: &[(&str, &str)] = &[
    (
        "exec",
        "programs are not run; give a token or a certificate",
    ),
    (
        "auth-provider",
        "providers are not run; give a token or a certificate",
    ),
    ("tokenFile", "files are not opened; give the token itself"),
    (
        "client-certificate",
        "files are not opened; give client-certificate-data",
    ),
    ("client-key", "files are not opened; give client-key-data"),
    (
        "certificate-authority",
        "files are not opened; give certificate-authority-data",
    ),
    ("proxy-url", "the proxy is the step's environment's to name"),
    (
        "username",
        "passwords are no way into an API server any more; give a token",
    ),
    (
        "password",
        "passwords are no way into an API server any more; give a token",
    ),
    ("as", "a request cannot act as another user"),
    ("as-groups", "a request cannot act as another user"),
];

/// Reads the text or map of a source.
pub(super) fn read(given: Value) -> Result<Value, Failure> {
    let config = match given {
        Value::String(text) if text.len() > MAX_BYTES => {
            return Err(Failure::source(
                KEY,
                format!("has more than {MAX_BYTES} bytes"),
            ));
        }
        Value::String(text) => {
            // The error could repeat a part of the text, which holds secrets: its place suffices.
            let bad = |error: airside_yaml::Error| {
                let words = format!("is no YAML: line {}", error.position.line);
                Failure::source(KEY, words)
            };
            let node = airside_yaml::parse(&text).map_err(bad)?;
            node.to_json().map_err(bad)?
        }
        map => map,
    };
    if config.is_object() {
        Ok(config)
    } else {
        Err(Failure::source(KEY, "is neither a map nor the text of one"))
    }
}

/// Returns the access of the current context.
pub(super) fn access(config: &Value) -> Result<ClusterAccess, Failure> {
    let current = text(config, "/current-context");
    let contexts = entries(config, "contexts");
    let name = match (current, contexts) {
        ("", [only]) => text(only, "/name"),
        ("", _) => return Err(Failure::source(KEY, "has no current-context")),
        (current, _) => current,
    };
    let context = named(config, "contexts", "context", name)?;
    let cluster = named(config, "clusters", "cluster", text(context, "/cluster"))?;
    let user = named(config, "users", "user", text(context, "/user"))?;
    refuse(cluster, "cluster")?;
    refuse(user, "user")?;
    let namespace = text(context, "/namespace");
    Ok(ClusterAccess {
        server: server_address("kubeconfig.server", text(cluster, "/server"))?,
        tls: tls(cluster, user)?,
        token: match text(user, "/token") {
            "" => AccessToken::Absent,
            token => AccessToken::Text(token.to_owned()),
        },
        namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
    })
}

fn entries<'a>(config: &'a Value, list: &str) -> &'a [Value] {
    let found = config.get(list).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}

fn named<'a>(config: &'a Value, list: &str, key: &str, name: &str) -> Result<&'a Value, Failure> {
    let found = entries(config, list)
        .iter()
        .find(|entry| text(entry, "/name") == name);
    found.and_then(|entry| entry.get(key)).ok_or_else(|| {
        let words = format!("has no {key} called {name:?} among its {list}");
        Failure::source(KEY, words)
    })
}

fn refuse(entry: &Value, place: &str) -> Result<(), Failure> {
    let is_there = |key: &str| entry.get(key).is_some_and(|value| !value.is_null());
    match REFUSED.iter().find(|(key, _)| is_there(key)) {
        Some((key, advice)) => {
            let words = format!("has the key {key:?} in its {place}: {advice}");
            Err(Failure::source(KEY, words))
        }
        None => Ok(()),
    }
}

fn tls(cluster: &Value, user: &Value) -> Result<Tls, Failure> {
    let authority = data(cluster, "certificate-authority-data")?;
    let mut tls = trusting(authority);
    if cluster.get("insecure-skip-tls-verify") == Some(&Value::Bool(true)) {
        tls.trust = Trust::Anybody;
    }
    let server_name = text(cluster, "/tls-server-name");
    tls.server_name = (!server_name.is_empty()).then(|| server_name.to_owned());
    let certificate = data(user, "client-certificate-data")?;
    let key = data(user, "client-key-data")?;
    tls.identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(ClientIdentity { certificate, key }),
        (None, None) => None,
        _ => {
            let words = "has a client certificate without its key, or the reverse";
            return Err(Failure::source(KEY, words));
        }
    };
    Ok(tls)
}

/// Reads PEM in base64.
fn data(entry: &Value, key: &str) -> Result<Option<String>, Failure> {
    let Some(written) = entry.get(key).and_then(Value::as_str) else {
        return Ok(None);
    };
    let compact: String = written.split_whitespace().collect();
    let decoded = BASE64_STANDARD.decode(compact).ok();
    let pem = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
    pem.map(Some)
        .ok_or_else(|| Failure::source(KEY, format!("has a {key} that is no PEM in base64")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(cluster: &Value, user: &Value) -> Value {
        json!({
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "k", "cluster": cluster}],
            "users": [{"name": "u", "user": user}, {"name": "other", "user": {"exec": {}}}],
        })
    }

    #[test]
    fn a_text_and_a_map_are_the_same() {
        let map = config(
            &json!({"server": "https://h:6443/"}),
            &json!({"token": "t"}),
        );
        for given in [map.clone(), Value::String(map.to_string())] {
            let access = access(&read(given).unwrap()).unwrap();
            assert_eq!(access.server, "https://h:6443");
            assert_eq!(access.namespace.as_deref(), Some("n"));
            assert_eq!(access.token.current().unwrap().as_deref(), Some("t"));
            assert!(!format!("{access:?}").contains("\"t\""));
        }
    }

    #[test]
    fn what_leads_out_of_the_text_is_refused_by_its_key() {
        let cluster = json!({"server": "https://h"});
        for (key, _) in REFUSED {
            let mut user = json!({"token": "t"});
            user[*key] = json!({"command": "sh"});
            let words = access(&config(&cluster, &user)).unwrap_err().to_string();
            assert!(words.contains(&format!("the key {key:?}")), "{words}");
        }
        let words = |cluster: Value| {
            let failure = access(&config(&cluster, &json!({})));
            failure.unwrap_err().to_string()
        };
        let file = json!({"server": "https://h", "certificate-authority": "/etc/ca"});
        assert!(words(file).contains("\"certificate-authority\" in its cluster"));
        let odd = json!({"server": "https://h", "certificate-authority-data": "%"});
        assert!(words(odd).contains("no PEM in base64"));
    }

    #[test]
    fn what_is_no_kubeconfig_is_refused() {
        for given in [json!("a: [b"), json!("text"), json!(["a"])] {
            assert!(read(given.clone()).is_err(), "{given}");
        }
        for config in [json!({}), json!({"current-context": "x", "contexts": [3]})] {
            assert!(access(&config).is_err(), "{config}");
        }
    }
}
