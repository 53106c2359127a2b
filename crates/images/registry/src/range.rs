//! Which part of a blob is asked for.

use crate::Error;

/// From its first byte to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Part {
    /// From a `Range` header. What is not understood means all of it, as HTTP wants it; what is outside is an error.
    pub(crate) fn parse(header: &str, size: u64) -> Result<Option<Self>, Error> {
        let Some(text) = header.strip_prefix("bytes=") else {
            return Ok(None);
        };
        let Some((first, last)) = text.split_once('-') else {
            return Ok(None);
        };
        let outside = Error::Range { size };
        let (first, last) = match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) => (first, last.min(size.saturating_sub(1))),
            (Ok(first), Err(_)) if last.is_empty() => (first, size.saturating_sub(1)),
            (Err(_), Ok(count)) if first.is_empty() => {
                (size.saturating_sub(count), size.saturating_sub(1))
            }
            _ => return Err(outside),
        };
        match first <= last && first < size {
            true => Ok(Some(Self { first, last })),
            false => Err(outside),
        }
    }

    pub(crate) fn length(self) -> u64 {
        self.last - self.first + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        for (header, expected) in [
            ("bytes=0-0", Some((0, 0))),
            ("bytes=2-4", Some((2, 4))),
            ("bytes=2-", Some((2, 9))),
            ("bytes=-3", Some((7, 9))),
            ("bytes=-30", Some((0, 9))),
            ("bytes=2-40", Some((2, 9))),
            ("lines=1-2", None),
        ] {
            let part = Part::parse(header, 10).unwrap();
            assert_eq!(
                part.map(|part| (part.first, part.last)),
                expected,
                "{header}"
            );
        }
        for header in [
            "bytes=10-",
            "bytes=4-2",
            "bytes=1-2,4-5",
            "bytes=a-b",
            "bytes=-",
        ] {
            assert!(Part::parse(header, 10).is_err(), "{header}");
        }
        assert!(Part::parse("bytes=0-0", 0).is_err());
    }
}
