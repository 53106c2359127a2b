//! The little of ASN.1's BER that LDAP needs. Reading trusts nothing and never panics.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const ENUMERATED: u8 = 0x0a;
pub(crate) const BOOLEAN: u8 = 0x01;
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;

/// A value with its tag and length before it.
pub(crate) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => bytes.push(short),
        _ => {
            let length = (content.len() as u64).to_be_bytes();
            let used: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
            bytes.push(0x80 | used.len() as u8);
            bytes.extend(used);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

/// A value of several, one after the other.
pub(crate) fn joined(tag: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    tagged(tag, &parts.concat())
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    tagged(OCTETS, text.as_bytes())
}

pub(crate) fn number(tag: u8, value: u32) -> Vec<u8> {
    // A number whose first bit is set would be negative: a zero goes before it.
    let bytes = u64::from(value).to_be_bytes();
    let first = (0..7).find(|&index| bytes[index] != 0 || bytes[index + 1] >= 0x80);
    tagged(tag, &bytes[first.unwrap_or(7)..])
}

/// Returns the number of bytes that follow in a length that begins with this byte; `None` for forms
/// that LDAP does not allow.
pub(crate) fn more_length_bytes(first: u8) -> Option<usize> {
    match first {
        0..=0x7f => Some(0),
        0x81..=0x84 => Some(usize::from(first & 0x7f)),
        _ => None,
    }
}

pub(crate) fn length(first: u8, more: &[u8]) -> usize {
    match more {
        [] => usize::from(first),
        more => more
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
    }
}

/// Values one after the other.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next value and its tag; `None` at the end, or if there is no whole one.
    pub(crate) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        let (more, rest) = rest.split_at_checked(more_length_bytes(first)?)?;
        let (content, rest) = rest.split_at_checked(length(first, more))?;
        self.0 = rest;
        Some((tag, content))
    }

    pub(crate) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, content) = self.next()?;
        (found == tag).then_some(content)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.expect(OCTETS)?).ok()
    }

    pub(crate) fn number(&mut self, tag: u8) -> Option<u32> {
        let content = self.expect(tag)?;
        let positive = content.first().is_some_and(|first| *first < 0x80);
        (positive && content.len() <= 4).then(|| length(0, content) as u32)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_have_their_shortest_form() {
        for (value, bytes) in [
            (0, &[2, 1, 0][..]),
            (127, &[2, 1, 127]),
            (128, &[2, 2, 0, 128]),
            (256, &[2, 2, 1, 0]),
            (65_535, &[2, 3, 0, 255, 255]),
        ] {
            assert_eq!(number(INTEGER, value), bytes, "{value}");
            assert_eq!(Reader(bytes).number(INTEGER), Some(value));
        }
        for size in [0, 127, 128, 255, 256, 70_000] {
            let bytes = tagged(OCTETS, &vec![b'x'; size]);
            let mut reader = Reader(&bytes);
            assert_eq!(reader.text().map(str::len), Some(size));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn what_is_no_value_is_none() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 5, 1],
            &[0x30, 0x80, 0, 0],
            &[0x30, 0x85, 0, 0, 0, 0, 0],
            &[0x30, 0x84, 255, 255, 255, 255],
        ] {
            assert!(Reader(bytes).next().is_none(), "{bytes:?}");
        }
        assert_eq!(Reader(&[2, 0]).number(INTEGER), None);
        assert_eq!(Reader(&[2, 1, 255]).number(INTEGER), None);
        assert_eq!(Reader(&[2, 5, 1, 1, 1, 1, 1]).number(INTEGER), None);
    }
}
