//! Options for a directory.

use std::path::PathBuf;

use airside_identity_providers::{
    GroupSearch, LdapConfig, LdapTls, REQUEST_TIMEOUT, SearchDepth, UserSearch,
};
use anyhow::{Result, bail};

use super::{needed, read, secret, unused};

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum Scope {
    /// The base's whole subtree
    #[default]
    Sub,
    /// Only entries directly below the base
    One,
}

impl From<Scope> for SearchDepth {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Sub => Self::Subtree,
            Scope::One => Self::OneLevel,
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct LdapOptions {
    /// Host and port of an LDAP directory; enables logging in with it. See docs/login.md [default
    /// port: 636, or 389 with --ldap-start-tls or --ldap-insecure-no-ssl]
    #[arg(long, value_name = "HOST[:PORT]")]
    ldap_host: Option<String>,

    /// Name of the LDAP directory on the login page
    #[arg(long, value_name = "NAME", default_value = "LDAP")]
    ldap_display_name: String,

    /// Connect without TLS and switch to it before anything is sent (StartTLS)
    #[arg(long)]
    ldap_start_tls: bool,

    /// Connect without TLS: passwords travel in clear text
    #[arg(long)]
    ldap_insecure_no_ssl: bool,

    /// File with CA certificates (PEM) to trust for the directory, instead of this machine's
    #[arg(long, value_name = "FILE")]
    ldap_ca_cert: Option<PathBuf>,

    /// DN of the account that searches for users and groups [default: anonymous]
    #[arg(long, value_name = "DN")]
    ldap_bind_dn: Option<String>,

    /// Password of the account that searches; visible to other users of this machine, so prefer the
    /// file
    #[arg(long, value_name = "PASSWORD", hide_env_values = true)]
    ldap_bind_pw: Option<String>,

    /// File with the password of the account that searches
    #[arg(long, value_name = "FILE")]
    ldap_bind_pw_file: Option<PathBuf>,

    /// DN below which users are searched, for example ou=people,dc=example,dc=com
    #[arg(long, value_name = "DN")]
    ldap_user_search_base_dn: Option<String>,

    /// Filter that user entries must match, for example (objectClass=person)
    #[arg(long, value_name = "FILTER")]
    ldap_user_search_filter: Option<String>,

    /// Attribute that users enter as their name
    #[arg(long, value_name = "ATTRIBUTE", default_value = "uid")]
    ldap_user_search_username: String,

    /// Depth of the search for users
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t)]
    ldap_user_search_scope: Scope,

    /// Attribute by which teams refer to a user
    #[arg(long, value_name = "ATTRIBUTE", default_value = "uid")]
    ldap_user_search_id_attr: String,

    /// Attribute with the user's email address
    #[arg(long, value_name = "ATTRIBUTE", default_value = "mail")]
    ldap_user_search_email_attr: String,

    /// Additional attribute by which teams refer to a user; choose one that users cannot change
    #[arg(long, value_name = "ATTRIBUTE")]
    ldap_user_search_name_attr: Option<String>,

    /// DN below which groups are searched [default: groups are not searched]
    #[arg(long, value_name = "DN")]
    ldap_group_search_base_dn: Option<String>,

    /// Filter that group entries must match, for example (objectClass=groupOfNames)
    #[arg(long, value_name = "FILTER")]
    ldap_group_search_filter: Option<String>,

    /// Depth of the search for groups
    #[arg(long, value_enum, value_name = "SCOPE", default_value_t)]
    ldap_group_search_scope: Scope,

    /// Attribute of a user that groups list; DN means the entry's own name
    #[arg(long, value_name = "ATTRIBUTE", default_value = "DN")]
    ldap_group_search_user_attr: String,

    /// Attribute of a group that lists its users
    #[arg(long, value_name = "ATTRIBUTE", default_value = "member")]
    ldap_group_search_group_attr: String,

    /// Attribute by which teams refer to a group
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
