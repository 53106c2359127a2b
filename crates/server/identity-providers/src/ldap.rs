//! A directory that speaks LDAP.
//!
//! A login is: bind as the one who may search, find the user's entry, bind as the user with the
//! password that was given, and, as the first one again, find the user's groups. Each login has a
//! connection of its own.

mod ber;
mod connection;
mod entry;
mod filter;
mod message;
mod setup;

use std::{sync::Arc, time::Duration};

use airside_auth::{ConnectorName, Directory, DirectoryError, Identity};
use async_trait::async_trait;
use rustls::ClientConfig;

pub use self::setup::LdapSetupError;
use self::{
    connection::{Bound, Connection},
    entry::LdapEntry,
    filter::Filter,
    setup::LdapAddress,
};
use crate::{
    ConnectorError, Secret,
    error::{Fault, Result},
};

/// The protection of the connection against listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LdapTls {
    /// No protection at all.
    Plain,
    /// TLS on the plain port, agreed on before anything else is sent.
    StartTls,
    /// TLS from the first byte.
    Ldaps,
}

/// The depth below its base to which a search looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchDepth {
    #[default]
    Subtree,
    OneLevel,
}

#[derive(Clone, Debug)]
pub struct UserSearch {
    pub base: String,
    /// Filter that an entry must fit beside the name, for example `(objectClass=person)`.
    pub filter: Option<String>,
    /// The attribute that users type as their name.
    pub username: String,
    pub reach: SearchDepth,
    pub id: String,
    pub email: String,
    pub name: Option<String>,
}

#[derive(Clone, Debug)]
pub struct GroupSearch {
    pub base: String,
    pub filter: Option<String>,
    pub reach: SearchDepth,
    /// The user's attribute that groups list; `DN` for the entry's own name.
    pub user: String,
    /// The groups' attribute that lists it.
    pub group: String,
    /// The groups' attribute that teams know them by.
    pub name: String,
}

#[derive(Clone, Debug)]
pub struct LdapConfig {
    pub title: String,
    /// The host, and the port unless it is the usual one.
    pub host: String,
    pub tls: LdapTls,
    /// CA certificates in PEM form, trusted instead of the machine's.
    pub ca: Option<Vec<u8>>,
    /// Name and password for searching; `None` searches anonymously.
    pub bind: Option<(String, Secret)>,
    pub users: UserSearch,
    pub groups: Option<GroupSearch>,
    pub patience: Duration,
}

pub struct Ldap {
    config: LdapConfig,
    place: LdapAddress,
    tls: Option<Arc<ClientConfig>>,
    user_filter: Option<Filter>,
    group_filter: Option<Filter>,
}

impl Ldap {
    /// Connects to nothing yet.
    pub fn new(config: LdapConfig) -> Result<Self, LdapSetupError> {
        let tls = match config.tls {
            LdapTls::Plain => None,
            _ => Some(setup::tls(config.ca.as_deref())?),
        };
        let groups = config.groups.as_ref();
        Ok(Self {
            place: LdapAddress::parse(&config.host, config.tls)?,
            tls,
            user_filter: filter(config.users.filter.as_deref())?,
            group_filter: filter(groups.and_then(|groups| groups.filter.as_deref()))?,
            config,
        })
    }

    pub(crate) fn title(&self) -> &str {
        &self.config.title
    }

    async fn identify(&self, name: &str, password: &str) -> Result<Option<Identity>> {
        let patience = self.config.patience;
        let all = tokio::time::timeout(patience, self.converse(name, password));
        all.await.unwrap_or_else(|_| {
            Err(Fault::Slow {
                at: self.place.url.clone(),
                seconds: patience.as_secs(),
            })
        })
    }

    async fn converse(&self, name: &str, password: &str) -> Result<Option<Identity>> {
        let tls = self.tls.clone();
        let mut connection = Connection::open(&self.place, self.config.tls, tls).await?;
        let found = self.identify_over(&mut connection, name, password).await;
        connection.close().await;
        found
    }

    async fn identify_over(
        &self,
        connection: &mut Connection,
        name: &str,
        password: &str,
    ) -> Result<Option<Identity>> {
        self.bind_for_searching(connection).await?;
        let Some(user) = self.find(connection, name).await? else {
            return Ok(None);
        };
        if connection.bind(&user.dn, password).await? == Bound::No {
            return Ok(None);
        }
        // The user need not be allowed to search.
        self.bind_for_searching(connection).await?;
        let groups = self.groups(connection, &user).await?;
        self.identity(&user, groups).map(Some)
    }

    async fn bind_for_searching(&self, connection: &mut Connection) -> Result<()> {
        let (dn, password) = match &self.config.bind {
            Some((dn, secret)) => (dn.as_str(), secret.expose()),
            None => ("", ""),
        };
        match connection.bind(dn, password).await? {
            Bound::Yes => Ok(()),
            Bound::No => Err(Fault::Bind(dn.to_owned())),
        }
    }

    async fn find(&self, connection: &mut Connection, name: &str) -> Result<Option<LdapEntry>> {
        let users = &self.config.users;
        let filter = Filter::equal(&users.username, name, self.user_filter.as_ref());
        let mut attributes = vec![users.id.as_str(), &users.email];
        attributes.extend(users.name.as_deref());
        attributes.extend(self.config.groups.as_ref().map(|groups| &*groups.user));
        let mut found = connection
            .search(&users.base, users.reach, &filter, &attributes)
            .await?;
        match found.len() {
            0 | 1 => Ok(found.pop()),
            count => Err(Fault::Ambiguous { count }),
        }
    }

    async fn groups(&self, connection: &mut Connection, user: &LdapEntry) -> Result<Vec<String>> {
        let Some(groups) = &self.config.groups else {
            return Ok(Vec::new());
        };
        let mut names = Vec::new();
        for value in user.values(&groups.user) {
            let filter = Filter::equal(&groups.group, value, self.group_filter.as_ref());
            let found = connection
                .search(&groups.base, groups.reach, &filter, &[&groups.name])
                .await?;
            for group in found {
                names.push(required(&group, &groups.name)?.to_owned());
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn identity(&self, user: &LdapEntry, groups: Vec<String>) -> Result<Identity> {
        let users = &self.config.users;
        let name = match &users.name {
            Some(attribute) => required(user, attribute)?,
            None => "",
        };
        Ok(Identity {
            connector: ConnectorName::Ldap,
            user_id: required(user, &users.id)?.to_owned(),
            user_name: String::new(),
            name: name.to_owned(),
            email: user.first(&users.email).unwrap_or_default().to_owned(),
            groups,
        })
    }
}

fn filter(given: Option<&str>) -> Result<Option<Filter>, LdapSetupError> {
    let parse =
        |given: &str| Filter::parse(given).ok_or_else(|| LdapSetupError::Filter(given.to_owned()));
    given.map(parse).transpose()
}

fn required<'a>(entry: &'a LdapEntry, attribute: &str) -> Result<&'a str> {
    let missing = || Fault::MissingAttribute {
        dn: entry.dn.clone(),
        attribute: attribute.to_owned(),
    };
    let value = entry.first(attribute).filter(|value| !value.is_empty());
    value.ok_or_else(missing)
}

#[async_trait]
impl Directory for Ldap {
    fn connector(&self) -> ConnectorName {
        ConnectorName::Ldap
    }

    async fn check(&self, name: &str, password: &str) -> Result<Option<Identity>, DirectoryError> {
        // A bind without a password succeeds for every user: it is an anonymous one.
        if password.is_empty() || name.is_empty() {
            return Ok(None);
        }
        let identity = self.identify(name, password).await;
        identity.map_err(|fault| {
            DirectoryError::new(ConnectorError {
                connector: ConnectorName::Ldap,
                fault,
            })
        })
    }
}
