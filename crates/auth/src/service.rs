//! Logging in and out, and recognising who comes back.

use std::{sync::Arc, time::Duration};

use airside_store::{Store, now};

use crate::{LocalUser, Principal, limiter::Limiter, principal::Claims, token};

/// Longer than any token or password that could be meant seriously.
const LONGEST: usize = 1024;

/// The limiter's one bucket for all names that nobody has: no user can be called this.
const NOBODY: &str = "";

/// Clones share the users and the count of wrong passwords.
#[derive(Clone)]
pub struct Auth(Arc<Inner>);

struct Inner {
    store: Store,
    users: Vec<LocalUser>,
    duration: Duration,
    limiter: Limiter,
}

/// A token that was just made. It is not stored: this is the only time it is seen.
#[derive(Clone)]
pub struct Issued {
    pub token: String,
    pub expires_in: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum Denied {
    #[error("Invalid username or password")]
    WrongPassword,
    #[error("too many wrong passwords: try again in {} seconds", retry_after.as_secs() + 1)]
    TooManyTries { retry_after: Duration },
    #[error("cannot keep the token")]
    Store(#[from] airside_store::Error),
}

impl Auth {
    /// `duration` is how long a token is good for.
    pub fn new(store: Store, users: Vec<LocalUser>, duration: Duration) -> Self {
        Self(Arc::new(Inner {
            store,
            users,
            duration,
            limiter: Limiter::default(),
        }))
    }

    /// How long a token is good for.
    pub fn duration(&self) -> Duration {
        self.0.duration
    }

    /// Exchanges a local user's password for a token.
    pub async fn login(&self, name: &str, password: &str) -> Result<Issued, Denied> {
        let user = self.0.users.iter().find(|user| user.name() == name);
        let counted_as = user.map_or(NOBODY, LocalUser::name);
        self.0
            .limiter
            .try_once(counted_as, now())
            .map_err(|retry_after| Denied::TooManyTries { retry_after })?;
        if !self.accepts(user, password).await {
            return Err(Denied::WrongPassword);
        }
        self.0.limiter.succeeded(counted_as);
        let expires_at = now().plus(self.0.duration);
        let token = token::make(expires_at);
        let claims = Claims::local(name);
        let user = (&claims.sub, &claims.user_name, &claims.connector);
        self.0.store.user_logged_in(user.0, user.1, user.2).await?;
        let claims = serde_json::to_value(claims).expect("claims are plain text");
        self.0
            .store
            .save_token(&token::hash(&token), &claims, expires_at)
            .await?;
        Ok(Issued {
            token,
            expires_in: self.0.duration,
        })
    }

    /// Checks the password against somebody else's if there is no such user, so that the time it
    /// takes does not tell which users exist.
    async fn accepts(&self, user: Option<&LocalUser>, password: &str) -> bool {
        let users = &self.0.users;
        let stand_in = || {
            users
                .iter()
                .find(|user| user.has_hash())
                .or_else(|| users.first())
        };
        let Some(checked) = user.or_else(stand_in).cloned() else {
            return false;
        };
        if password.len() > LONGEST {
            return false;
        }
        let password = password.to_owned();
        let check = tokio::task::spawn_blocking(move || checked.accepts(&password));
        check.await.unwrap_or(false) && user.is_some()
    }

    /// Whose token this is; `None` if it is not one, has expired, or its user is gone.
    pub async fn authenticate(&self, token: &str) -> airside_store::Result<Option<Principal>> {
        if token.is_empty() || token.len() > LONGEST {
            return Ok(None);
        }
        let Some((claims, _)) = self.0.store.token(&token::hash(token)).await? else {
            return Ok(None);
        };
        let Ok(claims) = serde_json::from_value::<Claims>(claims) else {
            return Ok(None);
        };
        let known = self
            .0
            .users
            .iter()
            .any(|user| user.name() == claims.user_id);
        if claims.connector == "local" && !known {
            return Ok(None);
        }
        Ok(Some(Principal::new(claims, &self.0.store.teams().await?)))
    }

    /// Forgets a token.
    pub async fn logout(&self, token: &str) -> airside_store::Result<()> {
        self.0.store.delete_token(&token::hash(token)).await
    }
}
