//! The messages between server and checker: frames of JSON, each behind its length in four bytes.

use std::io::{self, Read};

use airside_model::Version;
use airside_resource_types::ServedImage;
use airside_secret_managers::{Error, Secret};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Maximum length of a frame: fifty thousand versions are a tenth of it.
pub(crate) const MAX_FRAME: usize = 64 << 20;

/// Maximum output of one check; the rest is counted and left out.
pub(crate) const MAX_OUTPUT: usize = 1 << 20;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkRequest {
    pub(crate) id: u64,
    pub(crate) what: What,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    Check {
        #[serde(rename = "type")]
        type_: String,
        source: Map<String, Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<Version>,
    },
    /// A request to read a path of a secret manager that a tenant named.
    Secret {
        #[serde(rename = "type")]
        type_: String,
        config: Value,
        path: String,
    },
    /// A request to read the documents of an image, named by a tag or a digest.
    Image {
        source: Map<String, Value>,
        reference: String,
    },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Say {
    /// Confined, and listening. What it could not be confined with is named.
    Ready {
        without: Vec<String>,
    },
    /// Part of what a check prints.
    Output {
        id: u64,
        text: String,
    },
    Found {
        id: u64,
        versions: Vec<Version>,
    },
    /// The reason was printed.
    Failed {
        id: u64,
    },
    /// The answer of a secret manager.
    Secret {
        id: u64,
        said: Result<Option<Secret>, Error>,
    },
    /// A registry served the documents of an image.
    Image {
        id: u64,
        image: ServedImage,
    },
}

/// A frame with its length before it.
pub(crate) fn encode(frame: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, frame)?;
    let length = bytes.len() - 4;
    if length > MAX_FRAME {
        let words = format!("{length} bytes are more than a frame holds");
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    let length = u32::try_from(length).expect("a frame is shorter than that");
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// The next frame; `None` at the end.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_FRAME {
        let words = format!("a frame of {length} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, words));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_as_they_went_in() {
        let asks = [
            WorkRequest {
                id: 1,
                what: What::Check {
                    type_: "mock".to_owned(),
                    source: Map::new(),
                    version: None,
                },
            },
            WorkRequest {
                id: 2,
                what: What::Check {
                    type_: "time".to_owned(),
                    source: Map::from_iter([("a".to_owned(), Value::Bool(true))]),
                    version: Some(Version::from([("v", "1")])),
                },
            },
            WorkRequest {
                id: 3,
                what: What::Secret {
                    type_: "vault".to_owned(),
                    config: Value::Null,
                    path: "a/b".to_owned(),
                },
            },
            WorkRequest {
                id: 4,
                what: What::Image {
                    source: Map::new(),
                    reference: "latest".to_owned(),
                },
            },
        ];
        let mut bytes = Vec::new();
        for ask in &asks {
            bytes.extend(encode(ask).unwrap());
        }
        let mut from = bytes.as_slice();
        for ask in &asks {
            assert_eq!(read::<WorkRequest>(&mut from).unwrap().as_ref(), Some(ask));
        }
        assert_eq!(read::<WorkRequest>(&mut from).unwrap(), None);
    }

    #[test]
    fn garbage_is_refused() {
        for bytes in [
            &b"\xff\xff\xff\xff{}"[..],
            b"\x00\x00\x00\x02no",
            b"\x00\x00\x00\x09{}",
        ] {
            assert!(read::<WorkRequest>(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }
}
