//! Options for a directory.

use std::path::PathBuf;

use airside_identity_providers::{
    GroupSearch, LdapConfig, LdapTls, REQUEST_TIMEOUT, Reach, UserSearch,
};
use anyhow::{Result, bail};

use super::{needed, read, secret, unused};

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Scope {
    /// Everything below the base
    #[default]
    Sub,
    /// Only what is directly below it
    One,
}

impl From<Scope> for Reach {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Sub => Self::Subtree,
            Scope::One => Self::OneLevel,
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct LdapOptions {
    /// LDAP: host and port of the directory [default port: 636, or 389 with --ldap-start-tls or
    /// --ldap-insecure-no-ssl]
    #[arg(long, value_name = "HOST[:PORT]")]
    ldap_host: Option<String>,

    /// What the login page calls the directory
    #[arg(long, value_name = "NAME", default_value = "LDAP")]
    ldap_display_name: String,

    /// Begin without TLS and change to it before anything is said
    #[arg(long)]
    ldap_start_tls: bool,

    /// Use no TLS at all: everybody on the way can read passwords
    #[arg(long)]
    ldap_insecure_no_ssl: bool,

    /// File with CA certificates to trust for the directory, instead of the machine's
    #[arg(long, value_name = "FILE")]
    ldap_ca_cert: Option<PathBuf>,

    /// Who searches for users and groups; anonymous unless given
    #[arg(long, value_name = "DN")]
    ldap_bind_dn: Option<String>,

    /// The password of the one who searches; better in a file
    #[arg(long, value_name = "PASSWORD", hide_env_values = true)]
    ldap_bind_pw: Option<String>,

    /// File with the password of the one who searches
    #[arg(long, value_name = "FILE")]
    ldap_bind_pw_file: Option<PathBuf>,

    /// Where users are, for example ou=people,dc=example,dc=com
    #[arg(long, value_name = "DN")]
    ldap_user_search_base_dn: Option<String>,

    /// What a user's entry must fit, for example (objectClass=person)
    #[arg(long, value_name = "FILTER")]
    ldap_user_search_filter: Option<String>,

    /// The attribute that users type as their name
    #[arg(long, value_name = "ATTRIBUTE", default_value = "uid")]
    ldap_user_search_username: String,

    /// How far below the base users are
    #[arg(long, value_enum, default_value_t)]
    ldap_user_search_scope: Scope,

    /// The attribute that teams know a user by
    #[arg(long, value_name = "ATTRIBUTE", default_value = "uid")]
    ldap_user_search_id_attr: String,

    /// The attribute with the email address
    #[arg(long, value_name = "ATTRIBUTE", default_value = "mail")]
    ldap_user_search_email_attr: String,

    /// An attribute that teams know a user by as well: one that users cannot change themselves
    #[arg(long, value_name = "ATTRIBUTE")]
    ldap_user_search_name_attr: Option<String>,

    /// Where groups are; none are looked for unless given
    #[arg(long, value_name = "DN")]
    ldap_group_search_base_dn: Option<String>,

    /// What a group's entry must fit, for example (objectClass=groupOfNames)
    #[arg(long, value_name = "FILTER")]
    ldap_group_search_filter: Option<String>,

    /// How far below the base groups are
    #[arg(long, value_enum, default_value_t)]
    ldap_group_search_scope: Scope,

    /// The users' attribute that groups list; DN for the entry's own name
    #[arg(long, value_name = "ATTRIBUTE", default_value = "DN")]
    ldap_group_search_user_attr: String,

    /// The groups' attribute that lists their users
    #[arg(long, value_name = "ATTRIBUTE", default_value = "member")]
    ldap_group_search_group_attr: String,

    /// The groups' attribute that teams know them by
    #[arg(long, value_name = "ATTRIBUTE", default_value = "cn")]
    ldap_group_search_name_attr: String,
}

impl LdapOptions {
    pub(crate) fn config(&self) -> Result<Option<LdapConfig>> {
        let Some(host) = &self.ldap_host else {
            return unused("--ldap-host", "--ldap-bind-dn", &self.ldap_bind_dn);
        };
        let file = self.ldap_bind_pw_file.as_deref();
        let bind = match &self.ldap_bind_dn {
            Some(dn) => Some((
                dn.clone(),
                secret("--ldap-bind-pw", &self.ldap_bind_pw, file)?,
            )),
            None => None,
        };
        let base = needed("--ldap-user-search-base-dn", &self.ldap_user_search_base_dn)?;
        Ok(Some(LdapConfig {
            title: self.ldap_display_name.clone(),
            host: host.clone(),
            tls: self.tls()?,
            ca: read("--ldap-ca-cert", self.ldap_ca_cert.as_deref())?,
            bind,
            users: UserSearch {
                base: base.to_owned(),
                filter: self.ldap_user_search_filter.clone(),
                username: self.ldap_user_search_username.clone(),
                reach: self.ldap_user_search_scope.into(),
                id: self.ldap_user_search_id_attr.clone(),
                email: self.ldap_user_search_email_attr.clone(),
                name: self.ldap_user_search_name_attr.clone(),
            },
            groups: self.groups(),
            patience: REQUEST_TIMEOUT,
        }))
    }

    fn tls(&self) -> Result<LdapTls> {
        match (self.ldap_start_tls, self.ldap_insecure_no_ssl) {
            (true, true) => bail!("--ldap-start-tls and --ldap-insecure-no-ssl exclude each other"),
            (true, false) => Ok(LdapTls::StartTls),
            (false, true) => Ok(LdapTls::Plain),
            (false, false) => Ok(LdapTls::Ldaps),
        }
    }

    fn groups(&self) -> Option<GroupSearch> {
        Some(GroupSearch {
            base: self.ldap_group_search_base_dn.clone()?,
            filter: self.ldap_group_search_filter.clone(),
            reach: self.ldap_group_search_scope.into(),
            user: self.ldap_group_search_user_attr.clone(),
            group: self.ldap_group_search_group_attr.clone(),
            name: self.ldap_group_search_name_attr.clone(),
        })
    }
}
