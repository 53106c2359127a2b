//! The name of an image as people know it.

/// Characters of a digest that are enough to distinguish images.
const SHOWN_DIGEST: usize = 12;

/// Returns `repository:tag` if the tag is known, else the reference with a short digest.
pub fn shown_name(reference: &str, tag: Option<&str>) -> String {
    let Some((name, digest)) = reference.split_once('@') else {
        return reference.to_owned();
    };
    let last = name.rsplit('/').next().unwrap_or(name);
    match tag {
        _ if last.contains(':') => name.to_owned(),
        Some(tag) => format!("{name}:{tag}"),
        None => {
            let (kind, hex) = digest.split_once(':').unwrap_or(("sha256", digest));
            let short: String = hex.chars().take(SHOWN_DIGEST).collect();
            format!("{name}@{kind}:{short}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_more_than_a_digest() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let pinned = |name: &str| format!("{name}@{digest}");
        for (reference, tag, expected) in [
            (pinned("busybox"), Some("1"), "busybox:1"),
            (pinned("h:5000/a"), Some("1"), "h:5000/a:1"),
            (pinned("h:5000/a:2"), Some("1"), "h:5000/a:2"),
            (pinned("h/a"), None, "h/a@sha256:abababababab"),
            ("h/a:3".to_owned(), Some("1"), "h/a:3"),
            ("a@é".to_owned(), None, "a@sha256:é"),
        ] {
            assert_eq!(shown_name(&reference, tag), expected);
        }
    }
}
