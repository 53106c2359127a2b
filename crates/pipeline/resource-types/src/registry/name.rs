//! Repositories as pipelines name them.

use airside_oci::Repository;

use crate::Failure;

/// Reads the `repository` of a source: a name without a tag. A host has a dot or a port, as in
/// Concourse.
pub(crate) fn read_repository(text: &str) -> Result<Repository, Failure> {
    let bad = |words: &str| Failure::source("repository", format!("is {text:?}: {words}"));
    if text.is_empty() {
        let words = "is missing: give the image's name, without a tag";
        return Err(Failure::source("repository", words));
    }
    let (first, rest) = text.split_once('/').unwrap_or(("", text));
    if rest.contains([':', '@']) {
        return Err(bad("a tag or digest does not belong there"));
    }
    if first.bytes().any(|byte| byte.is_ascii_uppercase()) && !first.contains(['.', ':']) {
        return Err(bad("that is not a name of an image"));
    }
    text.parse()
        .map_err(|error: airside_oci::BadReference| bad(error.why()))
}

/// Returns the same name in another registry.
pub(crate) fn at_registry(repository: &Repository, host: &str) -> Result<Repository, Failure> {
    Repository::new(host, repository.name()).map_err(|error| {
        Failure::source(
            "registry_mirror.host",
            format!("is {host:?}: {}", error.why()),
        )
    })
}

/// Returns the scope of a token.
pub(super) fn scope(repository: &Repository, push: bool) -> String {
    let actions = if push { "pull,push" } else { "pull" };
    format!("repository:{}:{actions}", repository.name())
}

/// Returns the familiar name with a tag or digest.
pub(crate) fn with_reference(repository: &Repository, reference: &str) -> String {
    let mark = if reference.starts_with("sha256:") {
        '@'
    } else {
        ':'
    };
    format!("{}{mark}{reference}", repository.familiar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_host_or_get_one() {
        for (text, host, name) in [
            ("busybox", "index.docker.io", "library/busybox"),
            ("a/b", "index.docker.io", "a/b"),
            ("docker.io/a/b", "index.docker.io", "a/b"),
            ("localhost/a", "localhost", "a"),
            ("h:5000/a/b_c", "h:5000", "a/b_c"),
            ("gcr.io/p/i", "gcr.io", "p/i"),
        ] {
            let repository = read_repository(text).unwrap();
            let found = (repository.api_host(), repository.name());
            assert_eq!(found, (host, name), "{text}");
        }
        for bad in [
            "",
            "A",
            "A/b",
            "a:tag",
            "a@sha256:1",
            "a//b",
            "h.x/",
            "../a",
            "h x.y/a",
            "a/..",
        ] {
            let words = read_repository(bad).unwrap_err().to_string();
            assert!(words.starts_with("source.repository "), "{words}");
        }
        let busybox = read_repository("busybox").unwrap();
        assert_eq!(with_reference(&busybox, "1"), "busybox:1");
        assert_eq!(with_reference(&busybox, "sha256:1"), "busybox@sha256:1");
        let mirrored = at_registry(&busybox, "m.x").unwrap();
        assert_eq!(mirrored.familiar(), "m.x/library/busybox");
        assert!(at_registry(&busybox, "m.x/y").is_err());
    }
}
