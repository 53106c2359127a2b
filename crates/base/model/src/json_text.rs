//! Text as a JSON string, fast: most of what a server ever writes is output, and most of output
//! needs no escaping. Eight bytes are looked at in one go; the result is the same, byte for byte,
//! as `serde_json`'s.

/// A byte in each of a word's eight.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = ONES * 0x80;

/// Puts `text` behind what is in `out`, in quotes.
pub(crate) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + text.len() / 16 + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = first_special(rest) {
        out.extend_from_slice(&rest[..at]);
        escape(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Returns the index of the first byte that must be escaped.
fn first_special(bytes: &[u8]) -> Option<usize> {
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let special = |byte: &u8| matches!(byte, 0..0x20 | b'"' | b'\\');
    let inside = tail.iter().position(special)?;
    Some(words.len() * 8 + inside)
}

/// The high bit of each byte that is a control character, a quote or a backslash. Above the lowest
/// one there may be others that are wrong, as subtractions borrow.
fn specials(word: u64) -> u64 {
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    let zero_in = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero_in(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_in(word ^ (ONES * u64::from(b'\\')));
    (below_space | quote | backslash) & HIGHS
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.push(HEX[usize::from(byte >> 4)]);
            out.push(HEX[usize::from(byte & 0xf)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(text: &str) {
        let mut out = b"before ".to_vec();
        write_string(text, &mut out);
        let expected = format!("before {}", serde_json::Value::from(text));
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_character_at_every_place_is_written_as_serde_json_does() {
        let characters = (0..0x100).chain([0x7ff, 0x2028, 0xfffd, 0x1d11e]);
        for character in characters.filter_map(char::from_u32) {
            for before in 0..17 {
                same(&format!("{}{character}after it", "x".repeat(before)));
                same(&format!("{}{character}", "!".repeat(before)));
            }
        }
    }

    #[test]
    fn neighbours_of_special_characters_are_not_taken_for_them() {
        same("");
        same("!\"#[\\]\u{1f} \u{7f}\u{80}");
        same("\" ! \u{0}\u{1}\u{2}  \"\"\\\\\r\n\r\n0123456789\r\n");
        same("\u{1b}[0m é € 𝄞 \t\"end\"");
    }
}
