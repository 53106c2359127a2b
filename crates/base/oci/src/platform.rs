//! Platforms that images are made for.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::shortened;

/// An operating system and an architecture, such as `linux/amd64` or `linux/arm/v7`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Platform {
    pub architecture: String,
    pub os: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// A text that is not a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a platform such as linux/amd64")]
pub struct BadPlatform(String);

/// Returns this machine's architecture by the name that images use.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

impl Platform {
    /// Returns this machine's platform for containers.
    pub fn here() -> Self {
        Self {
            architecture: architecture().to_owned(),
            os: "linux".to_owned(),
            variant: None,
        }
    }

    /// Returns true if both have the same system and architecture, whatever their variants.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.os, &self.architecture) == (&other.os, &other.architecture)
    }

    /// Returns true if an image for `self` is what `wanted` asks for. A platform without a variant
    /// asks for any.
    pub fn satisfies(&self, wanted: &Self) -> bool {
        self.is_like(wanted) && (wanted.variant.is_none() || wanted.variant == self.variant)
    }
}

impl FromStr for Platform {
    type Err = BadPlatform;

    fn from_str(text: &str) -> Result<Self, BadPlatform> {
        let parts: Vec<&str> = text.splitn(4, '/').collect();
        let (os, architecture, variant) = match parts[..] {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some(variant)),
            _ => return Err(BadPlatform(shortened(text))),
        };
        if parts.contains(&"") {
            return Err(BadPlatform(shortened(text)));
        }
        Ok(Self {
            architecture: architecture.to_owned(),
            os: os.to_owned(),
            variant: variant.map(str::to_owned),
        })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_read_and_compared() {
        for (found, wanted, expected) in [
            ("linux/amd64", "linux/amd64", true),
            ("linux/arm/v7", "linux/arm", true),
            ("linux/arm/v7", "linux/arm/v7", true),
            ("linux/arm/v7", "linux/arm/v6", false),
            ("linux/arm", "linux/arm/v7", false),
            ("windows/amd64", "linux/amd64", false),
        ] {
            let read = |text: &str| text.parse::<Platform>().unwrap();
            assert_eq!(read(found).to_string(), found);
            assert_eq!(
                read(found).satisfies(&read(wanted)),
                expected,
                "{found} {wanted}"
            );
        }
        for bad in [
            "",
            "linux",
            "linux/",
            "/amd64",
            "linux/arm/",
            "a/b/c/d",
            "//",
        ] {
            assert!(bad.parse::<Platform>().is_err(), "{bad}");
        }
        assert!(Platform::here().to_string().starts_with("linux/"));
    }
}
