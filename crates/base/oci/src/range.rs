//! Parts of content that clients ask for and send.

/// A part of content, from its first byte to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub first: u64,
    pub last: u64,
}

/// A range outside the content, several ranges at once, or none that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only one part of {size} bytes can be asked for, and within them")]
pub struct OutsideRange {
    pub size: u64,
}

impl ByteRange {
    /// Reads a `Range` header for content of `size` bytes. Units other than bytes mean all of it,
    /// as HTTP wants it.
    pub fn parse(header: &str, size: u64) -> Result<Option<Self>, OutsideRange> {
        let Some(text) = header.strip_prefix("bytes=") else {
            return Ok(None);
        };
        let outside = OutsideRange { size };
        let (first, last) = text.split_once('-').ok_or(outside)?;
        let end = size.saturating_sub(1);
        let (first, last) = match (first, last) {
            ("", count) => (size.saturating_sub(number(count).ok_or(outside)?), end),
            (first, "") => (number(first).ok_or(outside)?, end),
            (first, last) => {
                let last = number(last).ok_or(outside)?;
                (number(first).ok_or(outside)?, last.min(end))
            }
        };
        if first <= last && first < size {
            Ok(Some(Self { first, last }))
        } else {
            Err(outside)
        }
    }

    /// Returns the number of bytes; at least one.
    pub fn length(self) -> u64 {
        self.last - self.first + 1
    }

    /// Returns the value of `Content-Range` for an answer with this part.
    pub fn content_range(self, size: u64) -> String {
        format!("bytes {}-{}/{size}", self.first, self.last)
    }
}

/// Reads the `Content-Range` of a piece that a client uploads: its first and its last byte, as in
/// `0-99` or `bytes 0-99/100`.
pub fn read_upload_range(header: &str) -> Option<(u64, u64)> {
    let text = header.strip_prefix("bytes ").unwrap_or(header);
    let (text, whole) = text.split_once('/').unwrap_or((text, "*"));
    let (first, last) = text.split_once('-')?;
    let (first, last) = (number(first)?, number(last)?);
    let is_within = whole == "*" || number(whole).is_some_and(|size| last < size);
    (first <= last && is_within).then_some((first, last))
}

/// Reads digits alone: the standard library takes a sign too.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        for (header, expected) in [
            ("bytes=0-0", Some((0, 0))),
            ("bytes=0-", Some((0, 9))),
            ("bytes=2-4", Some((2, 4))),
            ("bytes=2-", Some((2, 9))),
            ("bytes=-3", Some((7, 9))),
            ("bytes=-30", Some((0, 9))),
            ("bytes=2-40", Some((2, 9))),
            ("bytes=9-90", Some((9, 9))),
            ("bytes=0-18446744073709551615", Some((0, 9))),
            ("lines=1-2", None),
            ("", None),
        ] {
            let part = ByteRange::parse(header, 10).unwrap();
            let found = part.map(|part| (part.first, part.last));
            assert_eq!(found, expected, "{header}");
        }
        for header in [
            "bytes=10-",
            "bytes=4-2",
            "bytes=1-2,4-5",
            "bytes=a-b",
            "bytes=-",
            "bytes=-0",
            "bytes=",
            "bytes=1",
            "bytes=+1-2",
            "bytes=x-",
            "bytes=99999999999999999999-",
        ] {
            assert_eq!(
                ByteRange::parse(header, 10),
                Err(OutsideRange { size: 10 }),
                "{header}"
            );
        }
        assert!(ByteRange::parse("bytes=0-0", 0).is_err());
        let part = ByteRange { first: 2, last: 4 };
        assert_eq!(
            (part.length(), part.content_range(10).as_str()),
            (3, "bytes 2-4/10")
        );
    }

    #[test]
    fn uploaded_pieces() {
        for (header, expected) in [
            ("0-3", Some((0, 3))),
            ("bytes 7-9", Some((7, 9))),
            ("bytes 7-9/10", Some((7, 9))),
            ("bytes 7-9/*", Some((7, 9))),
            ("7-9/9", None),
            ("9-7", None),
            ("7", None),
            ("7-", None),
            ("-7", None),
            ("a-b", None),
            ("", None),
        ] {
            assert_eq!(read_upload_range(header), expected, "{header}");
        }
    }
}
