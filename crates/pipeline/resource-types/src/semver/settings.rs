//! Settings of `semver` in `source` and `params`.

use std::io::Write;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    Driver,
    bump::{Bump, Bumped},
    gcs_driver::{GcsDriver, GcsLogin, GcsObject},
    git_driver::GitDriver,
    s3_driver::S3Driver,
    service_account::ServiceAccount,
    strict,
};
use crate::{
    Failure, Object, Part,
    aws::{Keys, keys_of_environment},
    git::{self, Purpose},
    inspect::{Form, Forms, field_names},
    lenient::{flag, text},
    request::{read, read_with_warnings},
    s3,
    versions::Semver,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    #[serde(deserialize_with = "text")]
    driver: Option<String>,
    #[serde(deserialize_with = "text")]
    initial_version: Option<String>,
    #[serde(deserialize_with = "text")]
    uri: Option<String>,
    #[serde(deserialize_with = "text")]
    branch: Option<String>,
    #[serde(deserialize_with = "text")]
    file: Option<String>,
    #[serde(deserialize_with = "text")]
    private_key: Option<String>,
    #[serde(deserialize_with = "text")]
    username: Option<String>,
    #[serde(deserialize_with = "text")]
    password: Option<String>,
    #[serde(deserialize_with = "text")]
    git_user: Option<String>,
    #[serde(deserialize_with = "text")]
    commit_message: Option<String>,
    #[serde(deserialize_with = "flag")]
    skip_ssl_verification: bool,
    #[serde(deserialize_with = "text")]
    bucket: Option<String>,
    #[serde(deserialize_with = "text")]
    key: Option<String>,
    #[serde(deserialize_with = "text")]
    access_key_id: Option<String>,
    #[serde(deserialize_with = "text")]
    secret_access_key: Option<String>,
    #[serde(deserialize_with = "text")]
    session_token: Option<String>,
    #[serde(deserialize_with = "text")]
    assume_role_arn: Option<String>,
    #[serde(deserialize_with = "text")]
    region_name: Option<String>,
    #[serde(deserialize_with = "text")]
    endpoint: Option<String>,
    #[serde(deserialize_with = "flag")]
    disable_ssl: bool,
    #[serde(deserialize_with = "text")]
    server_side_encryption: Option<String>,
    #[serde(deserialize_with = "json_text")]
    json_key: Option<String>,
    #[serde(deserialize_with = "text")]
    token: Option<String>,
    #[serde(deserialize_with = "flag")]
    #[allow(dead_code, reason = "pipelines have it")]
    skip_s3_checksums: bool,
    #[serde(deserialize_with = "text")]
    #[allow(dead_code, reason = "pipelines have it")]
    checksum_algorithm: Option<String>,
}

/// A source that was understood.
pub(super) struct Source {
    pub(super) initial: Semver,
    place: Place,
}

enum Place {
    Git(Box<git::Access>, GitFile),
    S3(Box<s3::Access>, S3Key),
    Gcs(Box<GcsObject>),
}

pub(super) struct GitFile {
    pub(super) branch: String,
    pub(super) file: String,
    pub(super) commit_message: Option<String>,
}

pub(super) struct S3Key {
    pub(super) key: String,
    pub(super) server_side_encryption: Option<String>,
}

impl Source {
    pub(super) fn read(object: Object, log: &mut dyn Write) -> Result<Self, Failure> {
        let mut written: Written = read_with_warnings(Part::Source, object, log)?;
        let initial = match &written.initial_version {
            Some(text) => strict(text).ok_or_else(|| {
                Failure::source(
                    "initial_version",
                    format!("is {text:?}, which is not a version"),
                )
            })?,
            None => Semver::of(0, 0, 0),
        };
        let place = match written.driver.as_deref() {
            None | Some("s3") => written.s3()?,
            Some("git") => written.git()?,
            Some("gcs") => written.gcs()?,
            Some(other) => {
                let words = format!("is {other:?}; the native type has git, s3 and gcs");
                return Err(Failure::source("driver", words));
            }
        };
        Ok(Self { initial, place })
    }

    pub(super) fn driver(
        self,
        purpose: Purpose,
        log: &mut dyn Write,
    ) -> Result<Box<dyn Driver>, Failure> {
        Ok(match self.place {
            Place::Git(access, file) => Box::new(GitDriver::new(*access, file, purpose, log)?),
            Place::S3(access, key) => Box::new(S3Driver::new(*access, key)?),
            Place::Gcs(object) => Box::new(GcsDriver::new(*object)?),
        })
    }
}

fn needed(key: &str, value: Option<String>) -> Result<String, Failure> {
    value.ok_or_else(|| Failure::source(key, "is missing"))
}

impl Written {
    fn git(&mut self) -> Result<Place, Failure> {
        let mut settings = Vec::new();
        if let Some(user) = &self.git_user {
            let (name, address) = match user.split_once('<') {
                Some((name, rest)) => (name.trim().trim_matches('"'), rest.trim_end_matches('>')),
                None => ("", user.as_str()),
            };
            if !address.contains('@') {
                let words = "is not like \"Name <name@example.com>\"";
                return Err(Failure::source("git_user", words));
            }
            let setting = |name: &str, value: &str| git::Setting {
                name: name.to_owned(),
                value: Some(value.to_owned()),
            };
            settings.push(setting("user.email", address.trim()));
            if !name.is_empty() {
                settings.push(setting("user.name", name));
            }
        }
        let access = git::Access {
            uri: Some(needed("uri", self.uri.take())?),
            private_key: self.private_key.take(),
            username: self.username.take(),
            password: self.password.take(),
            skip_ssl_verification: self.skip_ssl_verification,
            git_config: settings,
            ..git::Access::default()
        };
        let file = GitFile {
            branch: needed("branch", self.branch.take())?,
            file: needed("file", self.file.take())?,
            commit_message: self.commit_message.take(),
        };
        if file.branch.starts_with('-') {
            return Err(Failure::source("branch", "is not a name of a branch"));
        }
        Ok(Place::Git(Box::new(access), file))
    }

    fn s3(&mut self) -> Result<Place, Failure> {
        let keys = match (self.access_key_id.take(), self.secret_access_key.take()) {
            (Some(id), Some(secret)) => Some(Keys {
                id,
                secret,
                token: self.session_token.take(),
            }),
            _ => keys_of_environment(),
        };
        let access = s3::Access {
            bucket: needed("bucket", self.bucket.take())?,
            keys,
            role: self.assume_role_arn.take(),
            region: self.region_name.take(),
            endpoint: self.endpoint.take(),
            disable_ssl: self.disable_ssl,
            skip_ssl_verification: self.skip_ssl_verification,
            ca_bundle: None,
            path_style: true,
        };
        let key = S3Key {
            key: needed("key", self.key.take())?,
            server_side_encryption: self.server_side_encryption.take(),
        };
        Ok(Place::S3(Box::new(access), key))
    }

    fn gcs(&mut self) -> Result<Place, Failure> {
        let login = match (self.json_key.take(), self.token.take()) {
            (Some(_), Some(_)) => {
                let words = "and source.token exclude each other: leave one out";
                return Err(Failure::source("json_key", words));
            }
            (Some(key), None) => GcsLogin::Key(ServiceAccount::read(&key)?),
            (None, Some(token)) => GcsLogin::Token(token),
            (None, None) => return Err(Failure::source("json_key", "or source.token is missing")),
        };
        let bucket = needed("bucket", self.bucket.take())?;
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !bucket.bytes().all(fine) || bucket.bytes().all(|byte| byte == b'.') {
            return Err(Failure::source("bucket", "is not a name of a bucket"));
        }
        Ok(Place::Gcs(Box::new(GcsObject {
            bucket,
            key: needed("key", self.key.take())?,
            endpoint: self.endpoint.take(),
            login,
            skip_ssl_verification: self.skip_ssl_verification,
        })))
    }
}

/// Reads a key that is a text of JSON, or that variables have made a map of. The errors do not
/// repeat it.
fn json_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        value @ Value::Object(_) => Ok(Some(value.to_string())),
        _ => Err(serde::de::Error::custom("it is neither a text nor a map")),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Bumping {
    #[serde(deserialize_with = "part")]
    bump: Option<Bumped>,
    #[serde(deserialize_with = "text")]
    pre: Option<String>,
    #[serde(deserialize_with = "flag")]
    pre_without_version: bool,
    #[serde(deserialize_with = "text")]
    build: Option<String>,
    #[serde(deserialize_with = "flag")]
    build_without_version: bool,
    #[serde(deserialize_with = "text")]
    file: Option<String>,
    #[serde(deserialize_with = "flag")]
    get_latest: bool,
}

/// An empty word asks for nothing.
fn part<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bumped>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(word) if word.is_empty() => Ok(None),
        value => serde_json::from_value(value)
            .map(Some)
            .map_err(serde::de::Error::custom),
    }
}

impl Bumping {
    fn bump(self) -> Result<Bump, String> {
        for (key, word) in [("pre", &self.pre), ("build", &self.build)] {
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            if word.as_ref().is_some_and(|word| !word.bytes().all(fine)) {
                return Err(format!("{key} may have letters, digits and hyphens only"));
            }
        }
        Ok(Bump {
            part: self.bump,
            pre: self.pre,
            pre_without_version: self.pre_without_version,
            build: self.build,
            build_without_version: self.build_without_version,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Bumping")]
pub(super) struct InParams {
    pub(super) bump: Bump,
}

impl TryFrom<Bumping> for InParams {
    type Error = String;

    fn try_from(written: Bumping) -> Result<Self, String> {
        if written.file.is_some() || written.get_latest {
            return Err("`file` and `get_latest` are for puts".to_owned());
        }
        Ok(Self {
            bump: written.bump()?,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "Bumping")]
pub(super) struct OutParams {
    pub(super) bump: Bump,
    pub(super) file: Option<String>,
    pub(super) get_latest: bool,
}

impl TryFrom<Bumping> for OutParams {
    type Error = String;

    fn try_from(mut written: Bumping) -> Result<Self, String> {
        let (file, get_latest) = (written.file.take(), written.get_latest);
        Ok(Self {
            file,
            get_latest,
            bump: written.bump()?,
        })
    }
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Written>,
        read: |object| Source::read(object, &mut std::io::sink()).map(drop),
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
