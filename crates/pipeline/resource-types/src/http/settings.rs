//! Settings of `http` in `source` and `params`.

use std::collections::BTreeMap;

use airside_blocking_http::{Address, Client, Error, Trust};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Deserialize;

use crate::{
    Failure, Object, Part,
    inspect::{Form, Forms, field_names},
    lenient::{flag, text, texts},
    request::read,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    #[serde(deserialize_with = "text")]
    url: Option<String>,
    #[serde(deserialize_with = "text")]
    filename: Option<String>,
    #[serde(deserialize_with = "text")]
    username: Option<String>,
    #[serde(deserialize_with = "text")]
    password: Option<String>,
    headers: BTreeMap<String, String>,
    #[serde(deserialize_with = "flag")]
    skip_ssl_verification: bool,
    #[serde(deserialize_with = "texts")]
    ca_certs: Vec<String>,
}

/// A source that was understood.
pub(super) struct Source {
    pub(super) address: Address,
    pub(super) headers: Vec<(String, String)>,
    filename: Option<String>,
    trust: Trust,
}

impl Source {
    pub(super) fn read(object: Object) -> Result<Self, Failure> {
        let written: Written = read(Part::Source, object)?;
        let url = written.url.as_deref();
        let url = url.ok_or_else(|| Failure::source("url", "is missing"))?;
        let address = Address::parse(url).map_err(|error| {
            Failure::source(
                "url",
                format!("is not valid: {}", airside_model::chain(&error)),
            )
        })?;
        let mut headers = Vec::new();
        for (name, value) in written.headers {
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            if name.is_empty() || !name.bytes().all(word) || value.contains(['\r', '\n']) {
                return Err(Failure::source(
                    "headers",
                    format!("has {name:?}, which is not a header"),
                ));
            }
            headers.push((name, value));
        }
        if let Some(user) = written.username {
            let password = written.password.unwrap_or_default();
            let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
            headers.push(("Authorization".to_owned(), format!("Basic {encoded}")));
        }
        let filename = written.filename;
        if filename
            .as_ref()
            .is_some_and(|name| name.contains('/') || name == "." || name == "..")
        {
            return Err(Failure::source(
                "filename",
                "must be a name without folders",
            ));
        }
        let trust = match (written.skip_ssl_verification, written.ca_certs.is_empty()) {
            (true, _) => Trust::Anybody,
            (false, true) => Trust::Public,
            (false, false) => Trust::Also(written.ca_certs),
        };
        Ok(Self {
            address,
            headers,
            filename,
            trust,
        })
    }

    pub(super) fn client(&self) -> Result<Client, Failure> {
        Client::new(&self.trust).map_err(|error| match error {
            Error::Certificate(_) => Failure::source(
                "ca_certs",
                format!("is not valid: {}", airside_model::chain(&error)),
            ),
            other => Failure::from(other),
        })
    }

    /// Returns the address without its query, which may be secret.
    pub(super) fn shown(&self) -> String {
        self.address.to_string()
    }

    /// Returns the file's name: the source's, or the last part of the address.
    pub(super) fn file_name(&self) -> String {
        let path = self.address.target().split('?').next().unwrap_or_default();
        let last = path.rsplit('/').next().unwrap_or_default();
        let last = match last {
            "" | "." | ".." | "version" | "url" => "file",
            name => name,
        };
        self.filename.clone().unwrap_or_else(|| last.to_owned())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InParams {
    #[serde(deserialize_with = "flag")]
    pub(super) skip_download: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OutParams {
    #[serde(deserialize_with = "text")]
    pub(super) file: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) content_type: Option<String>,
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Written>,
        read: |object| Source::read(object).map(drop),
    },
    get: Form {
        keys: field_names::<InParams>,
        read: |object| read::<InParams>(Part::Params, object).map(drop),
    },
    put: Form {
        keys: field_names::<OutParams>,
        read: |object| read::<OutParams>(Part::Params, object).map(drop),
    },
};
