//! The look of a piece of text.

use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalColor {
    /// A colour of xterm's palette: sixteen with names, a cube of 216, and 24 greys.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// A set of attributes, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalAttributes(u8);

impl TerminalAttributes {
    pub const BOLD: Self = Self(1);
    pub const FAINT: Self = Self(2);
    pub const ITALIC: Self = Self(4);
    pub const UNDERLINE: Self = Self(8);
    pub const INVERSE: Self = Self(16);
    pub const STRUCK: Self = Self(32);

    pub fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn set(&mut self, attributes: Self, on: bool) {
        if on {
            self.0 |= attributes.0;
        } else {
            self.0 &= !attributes.0;
        }
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalStyle {
    /// The colour of the text; none is the default.
    pub foreground: Option<TerminalColor>,
    pub background: Option<TerminalColor>,
    pub attributes: TerminalAttributes,
    /// An address that begins with `http://` or `https://`, in visible ASCII.
    pub link: Option<Arc<str>>,
}

/// The longest address of a link. A longer one would come shortened out of the parser.
const MAX_LINK: usize = 1000;

/// Returns the address of a link if it may be shown as one.
pub(crate) fn checked_link(address: &[u8]) -> Option<Arc<str>> {
    let begins = |scheme: &[u8]| {
        address
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let web = begins(b"https://") || begins(b"http://");
    let plain = address.len() <= MAX_LINK && address.iter().all(u8::is_ascii_graphic);
    let address = str::from_utf8(address).ok()?;
    (web && plain).then(|| address.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_web_only() {
        for good in ["http://a", "HTTPS://a/b?c=d;e#f"] {
            assert_eq!(checked_link(good.as_bytes()).as_deref(), Some(good));
        }
        let long = format!("https://{}", "a".repeat(MAX_LINK));
        let bad = [
            "",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "https:/a",
            "https://a b",
            "https://é",
            "https://a\u{7f}",
            &long,
        ];
        for bad in bad {
            assert_eq!(checked_link(bad.as_bytes()), None, "{bad}");
        }
    }
}
