//! Frames: a 4-byte big-endian length, a kind byte, and that many bytes less one.

use airside_model::event::Source;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::{HubSays, Output, ShimSays, ToHub, ToShim};

/// Longest frame; longer ones are refused unread. Orders carry whole environments, hence not
/// smaller.
pub const MAX_FRAME: usize = 8 * 1024 * 1024;

/// The longest frame of a peer that has not shown yet who it is. Claims and joins are far shorter.
pub const MAX_FIRST_FRAME: usize = 64 * 1024;

/// The most payload that one `Output` or `Chunk` should carry.
pub const MAX_PAYLOAD: usize = 64 * 1024;

const CONTROL: u8 = 0;
const OUTPUT: u8 = 1;
const CHUNK: u8 = 2;

/// Bytes before those of an output: its offset and its stream.
const OUTPUT_HEAD: usize = 9;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("frame of {length} bytes is empty or longer than {longest}")]
    Length { length: usize, longest: usize },
    #[error("frame of unknown kind {0}")]
    Kind(u8),
    #[error("output frame is cut short or names no stream")]
    Output,
    #[error("message cannot be read")]
    Json(#[from] serde_json::Error),
}

/// A message that has a form on the wire.
pub trait Message: Sized {
    fn encode(&self) -> Bytes;
    fn decode(kind: u8, body: Bytes) -> Result<Self, Error>;
}

/// Takes the next whole message from `buffer`, or nothing if there is none yet.
pub fn decode<M: Message>(buffer: &mut BytesMut) -> Result<Option<M>, Error> {
    decode_within(MAX_FRAME, buffer)
}

/// Takes the next whole message from `buffer`, and refuses frames that are longer than `longest` by
/// their first bytes.
pub fn decode_within<M: Message>(
    longest: usize,
    buffer: &mut BytesMut,
) -> Result<Option<M>, Error> {
    let Some(head) = buffer.first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*head) as usize;
    if length == 0 || length > longest {
        return Err(Error::Length { length, longest });
    }
    if buffer.len() < 4 + length {
        return Ok(None);
    }
    buffer.advance(4);
    let mut body = buffer.split_to(length).freeze();
    let kind = body.get_u8();
    M::decode(kind, body).map(Some)
}

/// Returns how many bytes of the message that `buffer` begins with have not come yet, as far as it
/// says.
pub fn missing(buffer: &[u8]) -> usize {
    let Some(head) = buffer.first_chunk::<4>() else {
        return 0;
    };
    let length = u32::from_be_bytes(*head) as usize;
    (4 + length.min(MAX_FRAME)).saturating_sub(buffer.len())
}

impl Message for ToHub {
    fn encode(&self) -> Bytes {
        match self {
            Self::Control(says) => control(says),
            Self::Chunk(data) => frame(CHUNK, data),
            Self::Output(output) => {
                let mut frame = Vec::new();
                put_output(&mut frame, output.offset, output.source, &output.data);
                frame.into()
            }
        }
    }

    fn decode(kind: u8, mut body: Bytes) -> Result<Self, Error> {
        match kind {
            CONTROL => Ok(Self::Control(serde_json::from_slice::<ShimSays>(&body)?)),
            CHUNK => Ok(Self::Chunk(body)),
            OUTPUT => {
                if body.len() < OUTPUT_HEAD {
                    return Err(Error::Output);
                }
                let offset = body.get_u64();
                let source = match body.get_u8() {
                    1 => Source::Stdout,
                    2 => Source::Stderr,
                    _ => return Err(Error::Output),
                };
                Ok(Self::Output(Output {
                    offset,
                    source,
                    data: body,
                }))
            }
            other => Err(Error::Kind(other)),
        }
    }
}

impl Message for ToShim {
    fn encode(&self) -> Bytes {
        match self {
            Self::Control(says) => control(says),
            Self::Chunk(data) => frame(CHUNK, data),
        }
    }

    fn decode(kind: u8, body: Bytes) -> Result<Self, Error> {
        match kind {
            CONTROL => Ok(Self::Control(serde_json::from_slice::<HubSays>(&body)?)),
            CHUNK => Ok(Self::Chunk(body)),
            other => Err(Error::Kind(other)),
        }
    }
}

/// A message that is nothing but JSON.
pub struct Json<T>(pub T);

impl<T: serde::Serialize + serde::de::DeserializeOwned> Message for Json<T> {
    fn encode(&self) -> Bytes {
        control(&self.0)
    }

    fn decode(kind: u8, body: Bytes) -> Result<Self, Error> {
        match kind {
            CONTROL => Ok(Self(serde_json::from_slice(&body)?)),
            other => Err(Error::Kind(other)),
        }
    }
}

fn control(says: &impl serde::Serialize) -> Bytes {
    let body = serde_json::to_vec(says).expect("messages are always JSON");
    frame(CONTROL, &body)
}

fn frame(kind: u8, body: &[u8]) -> Bytes {
    let length = 1 + body.len();
    let mut frame = BytesMut::with_capacity(4 + length);
    frame.put_u32(length as u32);
    frame.put_u8(kind);
    frame.put_slice(body);
    frame.freeze()
}

/// Appends the frame of an [`Output`] to `frame`, for callers that send many from the same memory.
pub fn put_output(frame: &mut Vec<u8>, offset: u64, source: Source, data: &[u8]) {
    let length = 1 + OUTPUT_HEAD + data.len();
    frame.reserve(4 + length);
    frame.put_u32(length as u32);
    frame.put_u8(OUTPUT);
    frame.put_u64(offset);
    frame.put_u8(match source {
        Source::Stdout => 1,
        Source::Stderr => 2,
    });
    frame.put_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, Exit, Tty};

    fn round_trip<M: Message + PartialEq + std::fmt::Debug>(message: M) {
        let bytes = message.encode();
        let mut buffer = BytesMut::new();
        for (index, byte) in bytes.iter().enumerate() {
            buffer.put_u8(*byte);
            let decoded = decode::<M>(&mut buffer).unwrap();
            assert_eq!(decoded.is_some(), index + 1 == bytes.len());
            if let Some(decoded) = decoded {
                assert_eq!(decoded, message);
            }
        }
    }

    #[test]
    fn messages_survive_byte_by_byte() {
        round_trip(ToHub::Control(ShimSays::Finished {
            exit: Exit::Code(3),
        }));
        round_trip(ToHub::Control(ShimSays::End(End {
            sha256: "ab".into(),
            bytes: 4,
        })));
        round_trip(ToHub::Output(Output {
            offset: 1 << 40,
            source: Source::Stderr,
            data: Bytes::from_static(b"\xff\0 text"),
        }));
        round_trip(ToHub::Chunk(Bytes::from_static(b"")));
        round_trip(ToShim::Control(HubSays::Refused {
            reason: "no".into(),
            retry: false,
        }));
        round_trip(ToShim::Chunk(Bytes::from_static(b"data")));
        round_trip(ToShim::Control(HubSays::Resize(Tty {
            columns: 80,
            rows: 24,
        })));
    }

    #[test]
    fn what_is_missing_is_known_from_the_head_on() {
        let bytes = ToShim::Chunk(Bytes::from_static(b"data")).encode();
        for (there, missing) in [(0, 0), (3, 0), (4, 5), (8, 1), (9, 0)] {
            assert_eq!(super::missing(&bytes[..there]), missing, "{there}");
        }
        assert!(super::missing(&[255; 8]) <= MAX_FRAME);
    }

    #[test]
    fn hostile_lengths_are_refused_by_the_head_alone() {
        let head = |length: usize| BytesMut::from(&(length as u32).to_be_bytes()[..]);
        let mut allowed = head(MAX_FIRST_FRAME);
        assert!(matches!(
            decode_within::<ToHub>(MAX_FIRST_FRAME, &mut allowed),
            Ok(None)
        ));
        let mut longer = head(MAX_FIRST_FRAME + 1);
        assert!(decode_within::<ToHub>(MAX_FIRST_FRAME, &mut longer).is_err());
        assert!(decode::<ToHub>(&mut longer).is_ok());
    }

    #[test]
    fn nonsense_is_refused() {
        for bytes in [
            &[0, 0, 0, 0][..],
            &[255, 255, 255, 255],
            &[0, 0, 0, 1, 9],
            &[0, 0, 0, 2, 1, 0],
        ] {
            assert!(
                decode::<ToHub>(&mut BytesMut::from(bytes)).is_err(),
                "{bytes:?}"
            );
        }
    }
}
