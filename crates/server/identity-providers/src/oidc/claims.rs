//! The claims by which a provider describes a user, and the user that they become here.

use airside_auth::{ConnectorName, Identity};
use serde_json::{Map, Value};

use crate::error::{Fault, Result};

pub(crate) struct ClaimNames {
    pub(crate) user_name: Option<String>,
    pub(crate) groups: Option<String>,
    pub(crate) skip_email_verified: bool,
}

type Claims = Map<String, Value>;

impl ClaimNames {
    /// Makes an identity of claims, as Concourse does: `preferred_username` before the claim that
    /// the settings name, and `groups` likewise.
    pub(crate) fn identity(&self, connector: ConnectorName, claims: &Claims) -> Result<Identity> {
        let user_id = match text(claims, "sub") {
            "" => return Err(missing("sub", claims)),
            subject => subject,
        };
        let given = match &self.user_name {
            Some(key) if text(claims, key).is_empty() => return Err(missing(key, claims)),
            Some(key) => key,
            None => "username",
        };
        // Never `name`, which users may choose as they like: teams must not know a user by it.
        let called = [
            text(claims, "preferred_username"),
            text(claims, given),
            user_id,
        ];
        let user_name = first(&called);
        let name = match self.user_name {
            Some(_) => text(claims, given),
            None => first(&[text(claims, "name"), user_name]),
        };
        Ok(Identity {
            connector,
            user_id: user_id.to_owned(),
            user_name: user_name.to_owned(),
            name: name.to_owned(),
            email: self.email(claims)?.to_owned(),
            groups: self.groups(claims)?,
        })
    }

    fn email<'a>(&self, claims: &'a Claims) -> Result<&'a str> {
        let email = text(claims, "email");
        // Some providers write a boolean as a word.
        let verified = match claims.get("email_verified") {
            Some(Value::Bool(verified)) => *verified,
            Some(Value::String(word)) => word == "true",
            _ => false,
        };
        if email.is_empty() || verified || self.skip_email_verified {
            Ok(email)
        } else {
            Err(Fault::EmailNotVerified)
        }
    }

    /// A list of names, or of objects with a name, or a single name.
    fn groups(&self, claims: &Claims) -> Result<Vec<String>> {
        let Some(key) = &self.groups else {
            return Ok(Vec::new());
        };
        let key = if claims.contains_key("groups") {
            "groups"
        } else {
            key
        };
        let bad = || Fault::BadClaim {
            claim: key.to_owned(),
        };
        match claims.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(group)) => Ok(vec![group.clone()]),
            Some(Value::Array(groups)) => groups
                .iter()
                .map(|group| group.get("name").unwrap_or(group).as_str())
                .map(|name| name.map(str::to_owned).ok_or_else(bad))
                .collect(),
            Some(_) => Err(bad()),
        }
    }
}

fn text<'a>(claims: &'a Claims, key: &str) -> &'a str {
    claims.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn first<'a>(texts: &[&'a str]) -> &'a str {
    let mut texts = texts.iter().copied();
    texts.find(|text| !text.is_empty()).unwrap_or_default()
}

/// Names the claims that are there, not what they say.
fn missing(claim: &str, claims: &Claims) -> Fault {
    let names: Vec<&str> = claims.keys().map(String::as_str).collect();
    Fault::MissingClaim {
        claim: claim.to_owned(),
        found: names.join(", "),
    }
}

#[cfg(test)]
mod tests;
