//! The code flow that OIDC and GitHub share.

use serde::Deserialize;
use url::Url;

use crate::{
    Attempt, Secret,
    error::{Fault, Result},
    http::Http,
};

/// The server's registration as a client of the provider.
#[derive(Clone, Debug)]
pub(crate) struct OauthClient {
    pub(crate) id: String,
    pub(crate) secret: Secret,
}

/// The form in which the provider wants to see the client's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientAuth {
    Basic,
    Form,
}

#[derive(Deserialize)]
pub(crate) struct Tokens {
    pub(crate) access_token: String,
    #[serde(default)]
    pub(crate) id_token: Option<String>,
}

/// The body of a token endpoint's refusal; GitHub sends it with status 200.
#[derive(Deserialize)]
struct Refusal {
    error: String,
    #[serde(default)]
    error_description: String,
}

pub(crate) fn authorization_url(
    endpoint: &Url,
    client: &OauthClient,
    scopes: &[String],
    attempt: &Attempt,
    state: &str,
    callback: &str,
) -> Url {
    let mut url = endpoint.clone();
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", callback)
        .append_pair("scope", &scopes.join(" "))
        .append_pair("state", state)
        .append_pair("code_challenge", &attempt.challenge())
        .append_pair("code_challenge_method", "S256");
    url
}

pub(crate) async fn exchange(
    http: &Http,
    endpoint: &Url,
    client: &OauthClient,
    auth: ClientAuth,
    attempt: &Attempt,
    code: &str,
    callback: &str,
) -> Result<Tokens> {
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", callback),
        ("code_verifier", attempt.verifier.as_str()),
    ];
    let basic = match auth {
        ClientAuth::Basic => Some((escape(&client.id), escape(client.secret.expose()))),
        ClientAuth::Form => {
            form.push(("client_id", &client.id));
            form.push(("client_secret", client.secret.expose()));
            None
        }
    };
    let answer = http.post(endpoint, &form, basic).await?;
    if let Ok(refusal) = serde_json::from_slice::<Refusal>(&answer.body) {
        let said = provider_error(&refusal.error, &refusal.error_description);
        return Err(Fault::ExchangeRefused(said));
    }
    if matches!(answer.status, 400 | 401 | 403) {
        let status = format!("status {}", answer.status);
        return Err(Fault::ExchangeRefused(status));
    }
    answer.json()
}

/// A provider's error code and its words for it, shortened.
pub(crate) fn provider_error(error: &str, description: &str) -> String {
    let short = |text: &str| -> String {
        let printable = text.chars().filter(|c| !c.is_control());
        printable.take(300).collect()
    };
    match description.trim() {
        "" => short(error),
        description => format!(
            "{} ({})",
            short(description.trim_end_matches('.')),
            short(error)
        ),
    }
}

/// Escapes as a form does: the standard wants it so before id and secret are joined by a colon.
fn escape(text: &str) -> String {
    let mut url = Url::parse("http://localhost").expect("a plain URL");
    url.query_pairs_mut().append_key_only(text);
    url.query().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_secrets_are_escaped_as_in_forms() {
        assert_eq!(escape("a:b c/ü"), "a%3Ab+c%2F%C3%BC");
        assert_eq!(escape("plain-._*"), "plain-._*");
    }

    #[test]
    fn what_a_provider_says_is_kept_short() {
        assert_eq!(provider_error("access_denied", ""), "access_denied");
        assert_eq!(provider_error("a", "You said no."), "You said no (a)");
        assert!(provider_error("a", &"x\n".repeat(999)).len() < 320);
    }
}
