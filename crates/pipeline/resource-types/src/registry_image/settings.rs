//! Settings of `registry-image` in `source` and `params`.

use std::io::Write;

use airside_oci::{Platform, Repository};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Failure, Object, Part,
    aws::{self, Keys},
    inspect::{Form, Forms, field_names},
    lenient::{flag, text, texts},
    log::say,
    registry::{Access, Registry, at_registry, read_repository},
    request::read,
};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Source {
    #[serde(deserialize_with = "text")]
    repository: Option<String>,
    #[serde(deserialize_with = "flag")]
    insecure: bool,
    #[serde(deserialize_with = "text")]
    pub(super) tag: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) variant: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) semver_constraint: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) pre_releases: bool,
    #[serde(deserialize_with = "texts")]
    pub(super) pre_release_prefixes: Vec<String>,
    #[serde(deserialize_with = "text")]
    pub(super) tag_regex: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) created_at_sort: bool,
    #[serde(deserialize_with = "text")]
    pub(super) label_regex: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) annotation_regex: Option<String>,
    #[serde(deserialize_with = "text")]
    username: Option<String>,
    #[serde(deserialize_with = "text")]
    password: Option<String>,
    #[serde(deserialize_with = "text")]
    aws_access_key_id: Option<String>,
    #[serde(deserialize_with = "text")]
    aws_secret_access_key: Option<String>,
    #[serde(deserialize_with = "text")]
    aws_session_token: Option<String>,
    #[serde(deserialize_with = "text")]
    aws_region: Option<String>,
    #[serde(deserialize_with = "text")]
    aws_ecr_registry_id: Option<String>,
    #[serde(deserialize_with = "text")]
    aws_role_arn: Option<String>,
    #[serde(deserialize_with = "texts")]
    aws_role_arns: Vec<String>,
    #[serde(deserialize_with = "text")]
    aws_account_id: Option<String>,
    registry_mirror: Option<Mirror>,
    #[serde(deserialize_with = "texts")]
    ca_certs: Vec<String>,
    platform: Option<PlatformField>,
    content_trust: Option<Value>,
    azure_acr: Option<Value>,
    #[serde(deserialize_with = "flag")]
    #[allow(
        dead_code,
        reason = "pipelines have it; the type prints no more with it"
    )]
    debug: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PlatformField {
    #[serde(deserialize_with = "text")]
    architecture: Option<String>,
    #[serde(deserialize_with = "text")]
    os: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Mirror {
    #[serde(deserialize_with = "text")]
    host: Option<String>,
    #[serde(deserialize_with = "text")]
    username: Option<String>,
    #[serde(deserialize_with = "text")]
    password: Option<String>,
}

/// The intent of a request: to read or to write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    Pull,
    Push,
}

impl Source {
    pub(super) fn read(object: Object) -> Result<Self, Failure> {
        let source: Self = read(Part::Source, object)?;
        for (key, given) in [
            ("content_trust", source.content_trust.is_some()),
            (
                "azure_acr",
                source
                    .azure_acr
                    .as_ref()
                    .is_some_and(|value| value != false),
            ),
        ] {
            if given {
                return Err(Failure::source(key, "is not supported by the native type"));
            }
        }
        if let Some(account) = &source.aws_account_id {
            aws::host_part("aws_account_id", account)?;
        }
        if source.aws_role_arn.is_some() && !source.aws_role_arns.is_empty() {
            let words = "and source.aws_role_arns exclude each other: leave one out";
            return Err(Failure::source("aws_role_arn", words));
        }
        if let Some(Mirror { host: None, .. }) = &source.registry_mirror {
            return Err(Failure::source("registry_mirror.host", "is missing"));
        }
        read_repository(source.repository.as_deref().unwrap_or_default())?;
        Ok(source)
    }

    pub(super) fn repository(&self) -> Result<Repository, Failure> {
        read_repository(self.repository.as_deref().unwrap_or_default())
    }

    /// Returns the repository as it is written, for metadata and files.
    pub(super) fn name(&self) -> &str {
        self.repository.as_deref().unwrap_or_default()
    }

    pub(super) fn platform(&self, stronger: Option<&PlatformField>) -> Platform {
        let mut platform = Platform::here();
        if let Some(asked) = stronger.or(self.platform.as_ref()) {
            if let Some(architecture) = &asked.architecture {
                platform.architecture.clone_from(architecture);
            }
            if let Some(os) = &asked.os {
                platform.os.clone_from(os);
            }
        }
        platform
    }

    /// The registry, and before it its mirror if there is one for this image.
    pub(super) fn registry(&self, intent: Intent) -> Result<Registry, Failure> {
        let mut repository = self.repository()?;
        let mut user = pair(self.username.as_ref(), self.password.as_ref());
        if let Some(region) = &self.aws_region {
            let login = aws::ecr_login(&self.aws_keys(), region, &self.roles())?;
            let host = login.host_of(self.aws_account_id.as_deref())?;
            // As it is written: the host comes from the login.
            repository = read_repository(&format!("{host}/{}", self.name()))?;
            user = Some((login.user, login.password));
        }
        self.connect(repository, user, intent)
    }

    pub(super) fn mirror(&self) -> Result<Option<Registry>, Failure> {
        let Some(mirror) = &self.registry_mirror else {
            return Ok(None);
        };
        let host = mirror.host.as_deref().unwrap_or_default();
        let repository = self.repository()?;
        if !repository.is_on_docker_hub() || self.aws_region.is_some() {
            return Ok(None);
        }
        let user = pair(mirror.username.as_ref(), mirror.password.as_ref());
        let repository = at_registry(&repository, host)?;
        self.connect(repository, user, Intent::Pull).map(Some)
    }

    /// Asks the mirror, and the registry itself if that has no answer.
    pub(super) fn ask<T>(
        &self,
        log: &mut dyn Write,
        mut question: impl FnMut(&Registry, &mut dyn Write) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        let mirrored = match self.mirror() {
            Ok(None) => Ok(None),
            Ok(Some(mirror)) => question(&mirror, log),
            Err(failure) => Err(failure),
        };
        match mirrored {
            Ok(Some(answer)) => return Ok(Some(answer)),
            Ok(None) => {}
            Err(failure) => say(
                log,
                &format!(
                    "the mirror does not help: {}",
                    airside_model::chain(&failure)
                ),
            ),
        }
        question(&self.registry(Intent::Pull)?, log)
    }

    fn connect(
        &self,
        repository: Repository,
        user: Option<(String, String)>,
        intent: Intent,
    ) -> Result<Registry, Failure> {
        let access = Access {
            user,
            certificates: self.ca_certs.clone(),
            insecure: self.insecure,
            push: intent == Intent::Push,
            ..Access::default()
        };
        Registry::connect(repository, access)
    }

    fn aws_keys(&self) -> Option<Keys> {
        Some(Keys {
            id: self.aws_access_key_id.clone()?,
            secret: self.aws_secret_access_key.clone()?,
            token: self.aws_session_token.clone(),
        })
    }

    fn roles(&self) -> Vec<String> {
        let one = self.aws_role_arn.iter();
        one.chain(&self.aws_role_arns).cloned().collect()
    }
}

fn pair(user: Option<&String>, password: Option<&String>) -> Option<(String, String)> {
    Some((user?.clone(), password?.clone()))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    #[default]
    Rootfs,
    Oci,
    OciLayout,
    /// A description of the image, and none of its files.
    Description,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct InParams {
    pub(super) format: Format,
    pub(super) platform: Option<PlatformField>,
    #[serde(deserialize_with = "flag")]
    pub(super) skip_download: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct OutParams {
    #[serde(deserialize_with = "text")]
    pub(super) image: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) version: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) bump_aliases: bool,
    #[serde(deserialize_with = "text")]
    pub(super) additional_tags: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) tag_prefix: Option<String>,
}

/// A tag is part of an address, and so is not just any text.
pub(super) fn tag_is_fine(tag: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let rest = |byte: u8| first(byte) || byte == b'.' || byte == b'-';
    !tag.is_empty() && tag.len() <= 128 && first(tag.as_bytes()[0]) && tag.bytes().all(rest)
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Source>,
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
