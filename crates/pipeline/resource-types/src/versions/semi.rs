//! Versions with any number of numbers and words: `1`, `1.2.3.4-rc.1`, `2026.01b+dev.2`.

use std::cmp::Ordering;

/// A version with up to three segments: release, pre-release behind a hyphen, post-release behind a
/// plus.
#[derive(Clone, Debug)]
pub(crate) struct SemiSemantic<'t> {
    release: &'t str,
    pre: Option<&'t str>,
    post: Option<&'t str>,
}

impl<'t> SemiSemantic<'t> {
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let (text, post) = match text.split_once('+') {
            Some((text, post)) => (text, Some(post)),
            None => (text, None),
        };
        let (release, pre) = match text.split_once('-') {
            Some((release, pre)) => (release, Some(pre)),
            None => (text, None),
        };
        let is_fine = |segment: &str, hyphen: bool| {
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            segment.split('.').all(|part| {
                !part.is_empty() && part.bytes().all(|b| fine(b) || hyphen && b == b'-')
            })
        };
        let all_fine = is_fine(release, false)
            && pre.is_none_or(|pre| is_fine(pre, true))
            && post.is_none_or(|post| is_fine(post, true));
        all_fine.then_some(Self { release, pre, post })
    }

    /// Compares two versions by age: one with a pre-release is older than one without, one with a
    /// post-release is newer.
    pub(crate) fn precedence(&self, other: &Self) -> Ordering {
        let pre = match (self.pre, other.pre) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(ours), Some(theirs)) => segments(ours, theirs),
        };
        let post = match (self.post, other.post) {
            (Some(ours), Some(theirs)) => segments(ours, theirs),
            (ours, theirs) => ours.is_some().cmp(&theirs.is_some()),
        };
        segments(self.release, other.release).then(pre).then(post)
    }
}

/// A part that is missing counts as zero.
fn segments(ours: &str, theirs: &str) -> Ordering {
    let (mut ours, mut theirs) = (ours.split('.'), theirs.split('.'));
    loop {
        let (our, their) = (ours.next(), theirs.next());
        if our.is_none() && their.is_none() {
            return Ordering::Equal;
        }
        let order = parts(our.unwrap_or("0"), their.unwrap_or("0"));
        if order.is_ne() {
            return order;
        }
    }
}

/// Numbers come before words; numbers of any length are compared by value.
fn parts(ours: &str, theirs: &str) -> Ordering {
    let number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    match (number(ours), number(theirs)) {
        (true, true) => {
            let (ours, theirs) = (ours.trim_start_matches('0'), theirs.trim_start_matches('0'));
            ours.len().cmp(&theirs.len()).then_with(|| ours.cmp(theirs))
        }
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => ours.cmp(theirs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_any_length_have_an_order() {
        let order = [
            "0",
            "0.9",
            "1.2-alpha",
            "1.2-rc.2",
            "1.2-rc.10",
            "1.2",
            "1.2+dev.1",
            "1.2.0.1",
            "1.10",
            "1.a",
            "2026.01.2",
            "2026.1.18446744073709551616000",
        ];
        for pair in order.windows(2) {
            let [old, new] = [pair[0], pair[1]].map(|text| SemiSemantic::parse(text).unwrap());
            assert_eq!(old.precedence(&new), Ordering::Less, "{pair:?}");
            assert_eq!(new.precedence(&old), Ordering::Greater, "{pair:?}");
        }
        let same = ["1.2", "1.2.0.0"].map(|text| SemiSemantic::parse(text).unwrap());
        assert_eq!(same[0].precedence(&same[1]), Ordering::Equal);
        for bad in ["", "1..2", "1-", "1+", "a b", "ü", "1+a+b", "-1"] {
            assert!(SemiSemantic::parse(bad).is_none(), "{bad}");
        }
    }
}
