//! The storage of a mirror as an option: a folder, or `s3://BUCKET/PREFIX`.

use std::{convert::Infallible, path::PathBuf, str::FromStr};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoragePlace {
    Folder(PathBuf),
    Bucket { name: String, prefix: String },
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} does not name a bucket: give s3://BUCKET or s3://BUCKET/PREFIX")]
pub struct BadStoragePlace(String);

impl FromStr for StoragePlace {
    type Err = BadStoragePlace;

    fn from_str(text: &str) -> Result<Self, BadStoragePlace> {
        let Some(rest) = text.strip_prefix("s3://") else {
            let folder: Result<PathBuf, Infallible> = text.parse();
            return folder.map(Self::Folder).map_err(|never| match never {});
        };
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/".contains(&byte);
        if !name.is_empty() && rest.bytes().all(plain) {
            Ok(Self::Bucket {
                name: name.to_owned(),
                prefix: prefix.trim_matches('/').to_owned(),
            })
        } else {
            Err(BadStoragePlace(text.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let bucket = |name: &str, prefix: &str| StoragePlace::Bucket {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        };
        for (text, place) in [
            ("/var/lib/x", StoragePlace::Folder("/var/lib/x".into())),
            ("s3://b", bucket("b", "")),
            ("s3://b/", bucket("b", "")),
            ("s3://b/c/d/", bucket("b", "c/d")),
        ] {
            assert_eq!(text.parse::<StoragePlace>().unwrap(), place, "{text}");
        }
        for bad in ["s3://", "s3:///x", "s3://a b", "s3://a\"b"] {
            assert!(bad.parse::<StoragePlace>().is_err(), "{bad}");
        }
    }
}
