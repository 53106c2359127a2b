//! Which part of content is asked for.

use http::HeaderValue;

/// From a byte, and to one if that was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u64,
    last: Option<u64>,
}

impl Range {
    /// What is not understood means all of it, as HTTP wants it.
    pub(crate) fn parse(header: Option<&HeaderValue>) -> Option<Self> {
        let text = header?.to_str().ok()?.strip_prefix("bytes=")?;
        let (first, last) = text.split_once('-')?;
        let first = first.parse().ok()?;
        let last = match last {
            "" => None,
            last => Some(last.parse().ok().filter(|last| *last >= first)?),
        };
        Some(Self { first, last })
    }

    /// How many bytes of so many it is; nothing if it is outside.
    pub(crate) fn length(self, size: u64) -> Option<u64> {
        let end = self
            .last
            .map_or(size, |last| size.min(last.saturating_add(1)));
        end.checked_sub(self.first).filter(|length| *length > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        for (text, expected) in [
            ("bytes=0-", Some(10)),
            ("bytes=2-4", Some(3)),
            ("bytes=9-90", Some(1)),
            ("bytes=10-", None),
        ] {
            let header = HeaderValue::from_static(text);
            let range = Range::parse(Some(&header)).unwrap();
            assert_eq!(range.length(10), expected, "{text}");
        }
        for text in [
            "",
            "lines=1-2",
            "bytes=4-2",
            "bytes=-3",
            "bytes=1-2,4-5",
            "bytes=x-",
        ] {
            assert_eq!(
                Range::parse(Some(&HeaderValue::from_static(text))),
                None,
                "{text}"
            );
        }
    }
}
