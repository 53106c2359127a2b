//! The protocol between a node's agent and the operator about pulls.
//!
//! Agents may read no secret. Before a pull an agent asks the operator, which knows by the agent's
//! token which node it is on and by the sets what belongs there; the answer is a place among the
//! pulls of the whole cluster, and the login for this one image if it has one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Path of requests for pulls: a [`PullRequest`] is posted here, with the agent's token as bearer.
/// `200` comes with a [`PullGrant`], `429` with `Retry-After` says that other pulls go first, `403`
/// that the image does not belong on that node. A `DELETE` of the permit below this path gives it
/// back.
pub const PULLS_PATH: &str = "/v1/pulls";

/// Audience of an agent's token, so that the token is of no use elsewhere.
pub const AUDIENCE: &str = "images.airside.dev";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PullRequest {
    /// The whole name, with host and tag, as the set's status has it.
    pub image: String,
    /// Digest that the name resolves to.
    pub digest: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullGrant {
    /// Names the place among the pulls of the cluster.
    pub permit: String,
    /// Seconds after which a place that was not asked for again goes to another pull.
    pub seconds: u32,
    /// Logins to try in this order; none for images that need no login.
    #[serde(default)]
    pub logins: Vec<PullLogin>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PullLogin {
    pub username: String,
    pub password: String,
}

impl fmt::Debug for PullLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PullLogin")
            .field("username", &self.username)
            .finish_non_exhaustive()
    }
}
