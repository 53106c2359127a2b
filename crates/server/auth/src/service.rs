//! Logging in and out, and recognising who comes back.

use std::{sync::Arc, time::Duration};

use airside_limits::Peer;
use airside_store::{Store, now};
use tokio::sync::Semaphore;

use crate::{
    ConnectorName, Directory, DirectoryError, Identity, LocalUser, Principal, Providers,
    limiter::{Limiter, Rate},
    principal::Claims,
    token,
};

/// Largest credential that is looked at: longer than any token or password that could be meant
/// seriously.
const MAX_CREDENTIAL_BYTES: usize = 1024;

/// The name under which all names are counted that no user has: no user can be called this.
const NOBODY: &str = "";

/// Wrong passwords for one name from one address. Those of other addresses keep no user out.
const BY_NAME: Rate = Rate {
    burst: 10,
    refill: Duration::from_secs(6),
    line: 2,
};

/// Wrong passwords from one address, whatever the names. It may be that of a proxy, with many
/// people behind it.
const BY_ADDRESS: Rate = Rate {
    burst: 60,
    refill: Duration::from_secs(1),
    line: 10,
};

/// Passwords that are checked at once: each check keeps a core busy for a while, by intent.
const CHECKS: usize = 4;

/// Clones share the users and the count of wrong passwords.
#[derive(Clone)]
pub struct Auth(Arc<Inner>);

struct Inner {
    store: Store,
    users: Vec<LocalUser>,
    providers: Providers,
    duration: Duration,
    by_name: Limiter<(String, Peer)>,
    by_address: Limiter<Peer>,
    checks: Semaphore,
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
    #[error("passwords cannot be checked now: the directory does not answer as it should")]
    Directory(#[source] DirectoryError),
    #[error("cannot store the token")]
    Store(#[from] airside_store::Error),
}

impl Auth {
    /// `duration` is how long a token is good for.
    pub fn new(store: Store, users: Vec<LocalUser>, duration: Duration) -> Self {
        Self::with_providers(store, users, Providers::default(), duration)
    }

    /// Creates the service with identity providers, which vouch for further users.
    pub fn with_providers(
        store: Store,
        users: Vec<LocalUser>,
        providers: Providers,
        duration: Duration,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            users,
            providers,
            duration,
            by_name: Limiter::new(BY_NAME),
            by_address: Limiter::new(BY_ADDRESS),
            checks: Semaphore::new(CHECKS),
        }))
    }

    /// Returns the lifetime of a token.
    pub fn duration(&self) -> Duration {
        self.0.duration
    }

    /// Returns true if any user could log in with a password.
    pub fn takes_passwords(&self) -> bool {
        !self.0.users.is_empty() || self.0.providers.directory.is_some()
    }

    /// Returns the connector that checks the password of a user of this name. A local user's
    /// password is never shown to a directory, and a directory cannot vouch for a user with a local
    /// user's name.
    pub fn connector_of(&self, name: &str) -> ConnectorName {
        match self.directory_for(name) {
            Some(directory) => directory.connector(),
            None => ConnectorName::Local,
        }
    }

    fn directory_for(&self, name: &str) -> Option<&Arc<dyn Directory>> {
        let directory = self.0.providers.directory.as_ref();
        directory.filter(|_| self.local_user(name).is_none())
    }

    fn local_user(&self, name: &str) -> Option<&LocalUser> {
        self.0.users.iter().find(|user| user.name() == name)
    }

    /// Exchanges a password for a token. After many wrong ones from the same peer it waits before
    /// it looks.
    pub async fn login(&self, name: &str, password: &str, from: Peer) -> Result<Issued, Denied> {
        let identity = match self.directory_for(name) {
            Some(directory) => self.ask_directory(directory, name, password, from).await?,
            None => self.check_local(name, password, from).await?,
        };
        Ok(self.admit(identity).await?)
    }

    async fn check_local(
        &self,
        name: &str,
        password: &str,
        from: Peer,
    ) -> Result<Identity, Denied> {
        let user = self.local_user(name);
        let counted_as = (user.map_or(NOBODY, LocalUser::name).to_owned(), from);
        self.wait_for_turn(&counted_as).await?;
        if !self.accepts(user, password).await {
            return Err(Denied::WrongPassword);
        }
        self.succeeded(&counted_as);
        Ok(Identity::local(name))
    }

    async fn ask_directory(
        &self,
        directory: &Arc<dyn Directory>,
        name: &str,
        password: &str,
        from: Peer,
    ) -> Result<Identity, Denied> {
        if name.is_empty()
            || password.is_empty()
            || name.len().max(password.len()) > MAX_CREDENTIAL_BYTES
        {
            return Err(Denied::WrongPassword);
        }
        // Directories take many spellings for the same name.
        let words: Vec<&str> = name.split_whitespace().collect();
        let counted_as = format!(
            "{}:{}",
            directory.connector(),
            words.join(" ").to_lowercase()
        );
        let counted_as = (counted_as, from);
        self.wait_for_turn(&counted_as).await?;
        let found = directory.check(name, password).await;
        let identity = found
            .map_err(Denied::Directory)?
            .ok_or(Denied::WrongPassword)?;
        self.succeeded(&counted_as);
        Ok(identity)
    }

    /// Counts a try, and waits if there were many before it: guesses become slow, and a right
    /// password among them is let through all the same.
    async fn wait_for_turn(&self, counted_as: &(String, Peer)) -> Result<(), Denied> {
        let now = now();
        let refused = |retry_after| Denied::TooManyTries { retry_after };
        let by_name = self.0.by_name.try_once(counted_as, now).map_err(refused)?;
        let by_address = self.0.by_address.try_once(&counted_as.1, now);
        let wait = by_address.map_err(refused)?.max(by_name);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    fn succeeded(&self, counted_as: &(String, Peer)) {
        self.0.by_name.succeeded(counted_as);
        self.0.by_address.take_back(&counted_as.1);
    }

    /// Issues a token for a user, after a connector has vouched for them.
    pub async fn admit(&self, identity: Identity) -> airside_store::Result<Issued> {
        let expires_at = now().plus(self.0.duration);
        let token = token::make(expires_at);
        let shown = identity.display_name().to_owned();
        let claims = Claims::from(identity);
        let store = &self.0.store;
        store
            .user_logged_in(&claims.sub, &shown, claims.connector.as_str())
            .await?;
        let claims = serde_json::to_value(claims).expect("claims are plain text");
        store
            .save_token(&token::hash(&token), &claims, expires_at)
            .await?;
        Ok(Issued {
            token,
            expires_in: self.0.duration,
        })
    }

    /// Checks the password against another user's if there is no such user, so that the time it
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
        if password.len() > MAX_CREDENTIAL_BYTES {
            return false;
        }
        let Ok(_turn) = self.0.checks.acquire().await else {
            return false;
        };
        let password = password.to_owned();
        let check = airside_tasks::blocking("password", move || checked.accepts(&password));
        check.await.unwrap_or(false) && user.is_some()
    }

    /// Returns the holder of a token; `None` if it is not one, has expired, or its user or the
    /// provider that vouched for them is gone.
    pub async fn authenticate(&self, token: &str) -> airside_store::Result<Option<Principal>> {
        if token.is_empty() || token.len() > MAX_CREDENTIAL_BYTES {
            return Ok(None);
        }
        let Some((claims, _)) = self.0.store.token(&token::hash(token)).await? else {
            return Ok(None);
        };
        let Ok(claims) = serde_json::from_value::<Claims>(claims) else {
            return Ok(None);
        };
        let known = match claims.connector {
            ConnectorName::Local => self.local_user(&claims.user_id).is_some(),
            outside => self.0.providers.include(outside),
        };
        if !known {
            return Ok(None);
        }
        Ok(Some(Principal::new(claims, &self.0.store.teams().await?)))
    }

    /// Forgets a token.
    pub async fn logout(&self, token: &str) -> airside_store::Result<()> {
        self.0.store.delete_token(&token::hash(token)).await
    }
}
