//! Text of bytes that come in pieces.

/// The beginning of a character whose end is in the next piece.
#[derive(Default)]
pub(crate) struct Utf8 {
    held: Vec<u8>,
}

const REPLACEMENT: &str = "\u{fffd}";

impl Utf8 {
    /// Returns true if the last piece ended inside a character.
    pub(crate) fn is_inside(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gives the text of a piece. What is not UTF-8 is replaced, the same wherever pieces end.
    pub(crate) fn push(&mut self, bytes: &[u8], mut text: impl FnMut(&str)) {
        let rest = self.complete(bytes, &mut text);
        let mut chunks = rest.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            if !chunk.valid().is_empty() {
                text(chunk.valid());
            }
            match chunk.invalid() {
                [] => {}
                cut if chunks.peek().is_none() && is_beginning(cut) => self.held.extend(cut),
                _ => text(REPLACEMENT),
            }
        }
    }

    /// Gives the character that an earlier piece began, and returns the bytes after it.
    fn complete<'a>(&mut self, mut bytes: &'a [u8], text: &mut impl FnMut(&str)) -> &'a [u8] {
        while self.is_inside()
            && let Some((&byte, rest)) = bytes.split_first()
        {
            self.held.push(byte);
            match str::from_utf8(&self.held) {
                Ok(character) => {
                    text(character);
                    self.held.clear();
                }
                Err(_) if is_beginning(&self.held) => {}
                // The byte belongs to what follows.
                Err(_) => {
                    text(REPLACEMENT);
                    self.held.clear();
                    continue;
                }
            }
            bytes = rest;
        }
        bytes
    }

    /// Gives what stands for a character that never ended.
    pub(crate) fn end(&mut self, mut text: impl FnMut(&str)) {
        if self.is_inside() {
            text(REPLACEMENT);
            self.held.clear();
        }
    }
}

/// Returns true if more bytes could make a character of these.
fn is_beginning(bytes: &[u8]) -> bool {
    str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn text_of(pieces: &[Vec<u8>]) -> String {
        let (mut utf8, mut all) = (Utf8::default(), String::new());
        for piece in pieces {
            utf8.push(piece, |text| all.push_str(text));
        }
        utf8.end(|text| all.push_str(text));
        all
    }

    #[test]
    fn characters_are_whole_wherever_pieces_end() {
        let text = "aé€😀b".as_bytes();
        for piece in 1..text.len() {
            let pieces: Vec<Vec<u8>> = text.chunks(piece).map(<[u8]>::to_vec).collect();
            assert_eq!(text_of(&pieces), "aé€😀b");
        }
        assert_eq!(
            text_of(&[vec![0xf0, 0x9f], vec![b'x', 0xe2]]),
            "\u{fffd}x\u{fffd}"
        );
    }

    proptest! {
        #[test]
        fn pieces_are_read_as_the_whole(pieces in vec(vec(any::<u8>(), 0..6), 0..12)) {
            let whole = pieces.concat();
            prop_assert_eq!(text_of(&pieces), String::from_utf8_lossy(&whole));
        }
    }
}
