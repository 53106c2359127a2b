//! Texts from strangers: every reader returns, and what it takes is safe where it goes.

use airside_oci::{
    ByteRange, Challenge, Digest, Document, ImageConfig, Platform, Reference, Repository,
    RepositoryName, TagOrDigest, is_registry_host, read_token, read_upload_range,
};
use proptest::prelude::*;

/// Characters that mean something in a path, a URL or a header beside those that names may have.
const DANGEROUS: &[char] = &['\\', '?', '#', '%', '"', ' ', '\r', '\n', '\0'];

fn is_safe(text: &str) -> bool {
    !text.contains(DANGEROUS) && text.is_ascii() && !text.split('/').any(|part| part == "..")
}

/// Texts that are close to what the readers take.
fn likely() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("sha256:".to_owned()),
        Just("bytes=".to_owned()),
        Just("Bearer realm=\"".to_owned()),
        Just("https://".to_owned()),
        Just("localhost".to_owned()),
        Just("{\"manifests\":[".to_owned()),
        Just("{\"digest\":\"".to_owned()),
        "[a-zA-Z0-9._:/@\\[\\]\"\\\\?#%{},=-]{0,12}",
        "\\PC{0,4}",
    ];
    proptest::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat())
}

fn read_all(text: &str) {
    let bytes = text.as_bytes();
    if let Ok(reference) = text.parse::<Reference>() {
        assert!(is_safe(&reference.to_string()), "{text:?}");
    }
    if let Ok(repository) = text.parse::<Repository>() {
        assert!(is_safe(&repository.to_string()), "{text:?}");
        assert_eq!(repository.to_string().parse(), Ok(repository.clone()));
        if let Some(moved) = repository.beneath("localhost:1") {
            assert_eq!(Repository::from_beneath(moved.name()), Some(repository));
        }
    }
    let _ = Repository::from_beneath(text);
    if let Ok(name) = RepositoryName::parse(text) {
        assert!(is_safe(name.as_str()), "{text:?}");
    }
    if let Ok(which) = TagOrDigest::parse(text) {
        assert!(is_safe(&which.to_string()), "{text:?}");
    }
    assert!(!is_registry_host(text) || is_safe(text), "{text:?}");
    let _ = (Digest::parse(text), text.parse::<Platform>());
    let _ = (Document::parse(bytes), ImageConfig::parse(bytes));
    if let Some(Challenge::Bearer(challenge)) = Challenge::parse(text)
        && let Ok(url) = challenge.token_url("https://r.example", None)
    {
        assert!(url.starts_with(&challenge.realm) && !url.contains(['#', ' ', '\\', '\r', '\n']));
        assert!(!url.to_ascii_lowercase().starts_with("http:"), "{url}");
    }
    if let Ok(token) = read_token(bytes) {
        assert!(token.bytes().all(|byte| byte.is_ascii_graphic()));
    }
    let _ = read_upload_range(text);
}

proptest! {
    #[test]
    fn hostile_texts_are_read_or_refused(text in likely()) {
        read_all(&text);
    }

    #[test]
    fn hostile_characters_are_read_or_refused(text in "\\PC{0,80}") {
        read_all(&text);
    }

    #[test]
    fn hostile_ranges_stay_inside(first in any::<u64>(), last in any::<u64>(), size in any::<u64>()) {
        for header in [
            format!("bytes={first}-{last}"),
            format!("bytes={first}-"),
            format!("bytes=-{last}"),
        ] {
            if let Ok(Some(part)) = ByteRange::parse(&header, size) {
                prop_assert!(part.first <= part.last && part.last < size);
                prop_assert!(part.length() <= size);
            }
        }
    }
}
