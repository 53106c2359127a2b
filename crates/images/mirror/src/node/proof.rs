//! Proof between agents: the token of an agent's pod, which the API server reviews.
//!
//! The token has an audience of its own, so an agent that receives one can do no more with it than
//! read blobs from agents. Another pod has no token of the agents' account, and gets nothing.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use airside_model::chain;
use http::{HeaderMap, HeaderValue, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::{Api, Client, api::PostParams};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

/// Audience of the agents' tokens for each other.
pub const PEERS_AUDIENCE: &str = "peers.images.airside.dev";

/// Time for which a review of the API server counts.
const GOOD: Duration = Duration::from_secs(60);
const MAX_TOKENS: usize = 10_000;

pub(crate) struct Proof {
    /// The kubelet renews it.
    token: PathBuf,
    reviews: Api<TokenReview>,
    /// `system:serviceaccount:NAMESPACE:NAME`.
    account: String,
    known: Mutex<HashMap<[u8; 32], (bool, Instant)>>,
}

impl Proof {
    pub(crate) fn new(client: Client, token: &Path, account: &str) -> Self {
        Self {
            token: token.to_owned(),
            reviews: Api::all(client),
            account: account.to_owned(),
            known: Mutex::default(),
        }
    }

    /// Returns the header of a request to another agent; none if there is no token.
    pub(crate) async fn own(&self) -> Option<HeaderValue> {
        let token = tokio::fs::read_to_string(&self.token).await.ok()?;
        HeaderValue::from_str(&format!("Bearer {}", token.trim())).ok()
    }

    /// Returns true if a request is from another agent.
    pub(crate) async fn is_agent(&self, headers: &HeaderMap) -> bool {
        let sent = headers.get(header::AUTHORIZATION);
        let token = sent.and_then(|sent| sent.to_str().ok()?.strip_prefix("Bearer "));
        let Some(token) = token else {
            return false;
        };
        let key: [u8; 32] = Sha256::digest(token).into();
        let known = self.known.lock().get(&key).copied();
        if let Some((is_agent, at)) = known
            && at.elapsed() < GOOD
        {
            return is_agent;
        }
        let Some(is_agent) = self.review(token).await else {
            return false;
        };
        let mut known = self.known.lock();
        known.retain(|_, (_, at)| at.elapsed() < GOOD);
        if known.len() < MAX_TOKENS {
            known.insert(key, (is_agent, Instant::now()));
        }
        is_agent
    }

    /// Asks the API server if the token is good; none if it does not answer.
    async fn review(&self, token: &str) -> Option<bool> {
        let asked = TokenReview {
            spec: TokenReviewSpec {
                audiences: Some(vec![PEERS_AUDIENCE.to_owned()]),
                token: token.to_owned(),
            },
            ..TokenReview::default()
        };
        match self.reviews.create(&PostParams::default(), &asked).await {
            Ok(review) => Some(self.is_fine(&review)),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "token of a blob request not reviewed");
                None
            }
        }
    }

    fn is_fine(&self, review: &TokenReview) -> bool {
        let Some(status) = &review.status else {
            return false;
        };
        let audiences = status.audiences.iter().flatten();
        let user = status.user.as_ref().and_then(|user| user.username.as_ref());
        status.authenticated == Some(true)
            && audiences.into_iter().any(|it| it == PEERS_AUDIENCE)
            && user == Some(&self.account)
    }
}
