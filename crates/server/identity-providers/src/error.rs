//! Errors of identity providers.

use std::{error::Error, fmt};

use airside_auth::ConnectorName;

use crate::oidc::IdTokenError;

type Source = Box<dyn Error + Send + Sync>;

/// An error of a connector. It holds no secret, password, code or token.
#[derive(Debug)]
pub struct ConnectorError {
    pub connector: ConnectorName,
    pub fault: Fault,
}

impl fmt::Display for ConnectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.connector, self.fault)
    }
}

impl Error for ConnectorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.source()
    }
}

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("cannot reach {at}; check the address, the network and the CA certificate")]
    Unreachable { at: String, source: Source },
    #[error("{at} did not answer within {seconds} seconds")]
    Slow { at: String, seconds: u64 },
    #[error("{at} is neither https nor on this machine; secrets and tokens do not go there")]
    Insecure { at: String },
    #[error("{at} answered with status {status}")]
    Status { at: String, status: u16 },
    #[error("the answer of {at} cannot be understood: {why}")]
    Garbage { at: String, why: String },
    #[error(
        "the provider calls itself {found:?}, not {expected:?}; give its own name as the issuer"
    )]
    Issuer { expected: String, found: String },
    /// The provider, or the user there, refused.
    #[error("the provider refused the login: {0}")]
    Refused(String),
    #[error(
        "the provider refused to exchange the code: {0}; check the client id, the client secret and \
         the callback URL that are registered there"
    )]
    ExchangeRefused(String),
    #[error("the id token is refused: {0}")]
    IdToken(#[source] IdTokenError),
    #[error(
        "the provider does not say {claim:?} of the user, only {found}; check the scopes and which \
         claim has the user name"
    )]
    MissingClaim { claim: String, found: String },
    #[error("the claim {claim:?} has something else than names in it")]
    BadClaim { claim: String },
    #[error("the provider has not verified the user's email address")]
    EmailNotVerified,
    #[error("the provider's user info is about another user than the id token")]
    OtherSubject,
    #[error("the directory does not let {0} search; check the bind DN and its password")]
    Bind(String),
    #[error("the directory failed to {doing}: {why}")]
    Directory { doing: &'static str, why: String },
    #[error(
        "{count} entries of the directory fit the name; choose a user name attribute or filter that \
         tells users apart"
    )]
    Ambiguous { count: usize },
    #[error("the entry {dn:?} of the directory has no {attribute:?}")]
    MissingAttribute { dn: String, attribute: String },
}

impl Fault {
    /// Makes the error from the words in which the provider sent the user back.
    pub fn refused(error: &str, description: &str) -> Self {
        Self::Refused(crate::oauth::provider_error(error, description))
    }
}

impl ConnectorError {
    /// Returns the text for the page that the user sees, who may be a stranger: without the parts
    /// that only the administrator should read. `title` is the name under which they know the
    /// provider.
    pub fn for_users(&self, title: &str) -> String {
        match &self.fault {
            Fault::Refused(why) => format!("{title} refused the login: {why}."),
            Fault::EmailNotVerified => {
                format!("{title} has not verified your email address. Verify it there first.")
            }
            Fault::Unreachable { .. } | Fault::Slow { .. } | Fault::Status { .. } => {
                format!("{title} does not answer as it should. Try again in a moment.")
            }
            _ => format!(
                "What {title} said about you was not accepted. If it goes on, ask the \
                 administrator of this server: its log says why."
            ),
        }
    }
}
