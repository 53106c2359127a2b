//! No bytes may panic the reader of frames, and where they are cut makes no difference.
#![no_main]

use airside_protocol::{
    ToHub, ToShim,
    codec::{self, Message},
};
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;

/// Everything that comes out of the bytes when they arrive in pieces of this size, and whether
/// they end in an error.
fn read<M: Message>(data: &[u8], piece: usize) -> (Vec<M>, bool) {
    let (mut buffer, mut messages) = (BytesMut::new(), Vec::new());
    for piece in data.chunks(piece.max(1)) {
        buffer.extend_from_slice(piece);
        loop {
            match codec::decode::<M>(&mut buffer) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(_) => return (messages, true),
            }
        }
    }
    (messages, false)
}

fn check<M: Message + std::fmt::Debug>(data: &[u8], piece: usize) {
    let (whole, failed) = read::<M>(data, data.len());
    let (cut, cut_failed) = read::<M>(data, piece);
    assert_eq!((format!("{whole:?}"), failed), (format!("{cut:?}"), cut_failed));
    for message in whole {
        let again = codec::decode::<M>(&mut BytesMut::from(&message.encode()[..]));
        let again = again.expect("what we write can be read").expect("and is whole");
        assert_eq!(format!("{message:?}"), format!("{again:?}"));
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, data)) = data.split_first() else {
        return;
    };
    check::<ToHub>(data, (*piece).into());
    check::<ToShim>(data, (*piece).into());
});
