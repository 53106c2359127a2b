//! Review of agents' tokens: the API server says whose a token is, and on which node its pod runs.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use airside_image_rules::{AUDIENCE, NODE_AGENT};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

const NODE: &str = "authentication.kubernetes.io/node-name";
/// Time for which an accepted token stays accepted; a refused one is reviewed each time.
const FINE_FOR: Duration = Duration::from_secs(30);
/// Number of tokens that are remembered: more than a big cluster has nodes.
const MAX_TOKENS: usize = 20_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the token is not valid for {AUDIENCE}")]
    Token,
    #[error("the token is not one of an agent: it belongs to {0}")]
    Account(String),
    #[error("the token is bound to no node")]
    Node,
    #[error("the token cannot be reviewed now")]
    Unknown(#[from] Box<kube::Error>),
}

pub(crate) struct Reviewer {
    reviews: Api<TokenReview>,
    /// The only account that is let in.
    account: String,
    /// Tokens that were accepted, by their hashes.
    fine: Mutex<HashMap<[u8; 32], (String, Instant)>>,
}

impl Reviewer {
    pub(crate) fn new(client: Client, namespace: &str) -> Self {
        Self {
            reviews: Api::all(client),
            account: format!("system:serviceaccount:{namespace}:{NODE_AGENT}"),
            fine: Mutex::default(),
        }
    }

    /// The node that the token is bound to.
    pub(crate) async fn node(&self, token: &str) -> Result<String, Refusal> {
        let key: [u8; 32] = Sha256::digest(token).into();
        if let Some((node, since)) = self.fine.lock().get(&key)
            && since.elapsed() < FINE_FOR
        {
            return Ok(node.clone());
        }
        let review = TokenReview {
            spec: TokenReviewSpec {
                audiences: Some(vec![AUDIENCE.to_owned()]),
                token: token.to_owned(),
            },
            ..TokenReview::default()
        };
        let reviewed = self.reviews.create(&PostParams::default(), &review).await;
        let status = reviewed.map_err(Box::new)?.status.unwrap_or_default();
        let node = judge(&status, &self.account)?;
        let mut fine = self.fine.lock();
        fine.retain(|_, (_, since)| since.elapsed() < FINE_FOR);
        if fine.len() < MAX_TOKENS {
            fine.insert(key, (node.clone(), Instant::now()));
        }
        Ok(node)
    }
}

fn judge(status: &TokenReviewStatus, account: &str) -> Result<String, Refusal> {
    let audiences = status.audiences.as_deref().unwrap_or_default();
    if status.authenticated != Some(true) || !audiences.iter().any(|it| it == AUDIENCE) {
        return Err(Refusal::Token);
    }
    let user = status.user.clone().unwrap_or_default();
    let name = user.username.unwrap_or_default();
    if name != account {
        return Err(Refusal::Account(name));
    }
    let node = user
        .extra
        .as_ref()
        .and_then(|extra| extra.get(NODE)?.first());
    node.cloned().ok_or(Refusal::Node)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_agents_with_a_token_for_this_and_of_a_node() {
        let judge = |authenticated: bool, audience: &str, name: &str, node: Option<&str>| {
            let extra = node.map(|node| json!({NODE: [node]}));
            let status = json!({
                "authenticated": authenticated, "audiences": [audience],
                "user": {"username": name, "extra": extra},
            });
            super::judge(&serde_json::from_value(status).unwrap(), "agent")
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            judge(true, AUDIENCE, "agent", Some("n1")),
            Ok("n1".to_owned())
        );
        for (authenticated, audience, name, node) in [
            (false, AUDIENCE, "agent", Some("n1")),
            (true, "https://kubernetes.default.svc", "agent", Some("n1")),
            (true, AUDIENCE, "other", Some("n1")),
            (true, AUDIENCE, "agent", None),
        ] {
            assert!(
                judge(authenticated, audience, name, node).is_err(),
                "{authenticated} {audience} {name} {node:?}"
            );
        }
    }
}
