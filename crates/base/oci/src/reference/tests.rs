use proptest::prelude::*;

use super::*;

const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn whole(text: &str) -> String {
    text.parse::<Reference>().unwrap().to_string()
}

#[test]
fn names_are_completed_as_runtimes_do() {
    for (given, expected) in [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1.36", "docker.io/library/busybox:1.36"),
        ("library/busybox", "docker.io/library/busybox:latest"),
        (
            "index.docker.io/busybox",
            "docker.io/library/busybox:latest",
        ),
        ("someone/app:v1", "docker.io/someone/app:v1"),
        ("docker.io/someone/app", "docker.io/someone/app:latest"),
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
        (
            "registry:5000/group/sub/app:x",
            "registry:5000/group/sub/app:x",
        ),
        ("[::1]:5000/app", "[::1]:5000/app:latest"),
        ("r.example/a__b/c-d.e", "r.example/a__b/c-d.e:latest"),
    ] {
        assert_eq!(whole(given), expected, "{given}");
    }
}

#[test]
fn a_digest_wins_over_a_tag() {
    let text = format!("busybox:1.36@sha256:{HEX}");
    assert_eq!(
        whole(&text),
        format!("docker.io/library/busybox@sha256:{HEX}")
    );
    let tagged: Reference = "busybox:1.36".parse().unwrap();
    let digest = Digest::parse(&format!("sha256:{HEX}")).unwrap();
    assert_eq!(tagged.at(&digest), text.parse().unwrap());
    assert_eq!(
        (tagged.digest(), tagged.at(&digest).digest()),
        (None, Some(&digest))
    );
}

#[test]
fn what_names_no_image_says_why() {
    for (given, why) in [
        ("", "empty"),
        ("Busybox", "lower-case"),
        ("a//b", "lower-case"),
        ("a/../b", "lower-case"),
        ("-a", "lower-case"),
        ("a..b", "lower-case"),
        ("r.example/", "lower-case"),
        ("r example.com/a", "its host is none"),
        ("r..example/a", "its host is none"),
        ("r.example:99999/a", "its host is none"),
        ("a:", "a tag has"),
        ("a:-x", "a tag has"),
        ("a@sha256:00", "64 hexadecimal"),
        ("a@md5:00", "64 hexadecimal"),
    ] {
        let error = given.parse::<Reference>().unwrap_err().to_string();
        assert!(error.contains(why), "{given:?}: {error}");
    }
    let long = "a".repeat(256);
    assert!(long.parse::<Reference>().is_err());
}

#[test]
fn repositories_beneath_another_registry() {
    for (given, beneath) in [
        ("busybox", "localhost:5001/docker.io/library/busybox"),
        ("r.example:5000/a/b", "localhost:5001/r.example__5000/a/b"),
        ("localhost/a", "localhost:5001/localhost/a"),
    ] {
        let repository: Repository = given.parse().unwrap();
        let moved = repository.beneath("localhost:5001").unwrap();
        assert_eq!(moved.to_string(), beneath);
        assert_eq!(Repository::from_beneath(moved.name()), Some(repository));
    }
    let sixth: Repository = "[::1]:5000/a".parse().unwrap();
    assert_eq!(sixth.beneath("localhost:5001"), None);
    for none in [
        "a",
        "library/busybox",
        "r.example",
        "r.example/",
        "r.example/A",
    ] {
        assert_eq!(Repository::from_beneath(none), None, "{none}");
    }
}

#[test]
fn registries_of_names() {
    for (given, host, api_host, familiar, is_local) in [
        ("busybox", "docker.io", "index.docker.io", "busybox", false),
        ("a/b", "docker.io", "index.docker.io", "a/b", false),
        (
            "docker.io/a/b",
            "docker.io",
            "index.docker.io",
            "a/b",
            false,
        ),
        ("gcr.io/p/i", "gcr.io", "gcr.io", "gcr.io/p/i", false),
        ("10.0.0.1/a", "10.0.0.1", "10.0.0.1", "10.0.0.1/a", false),
        (
            "127.0.0.1:5000/a",
            "127.0.0.1:5000",
            "127.0.0.1:5000",
            "127.0.0.1:5000/a",
            true,
        ),
        ("[::1]:1/a", "[::1]:1", "[::1]:1", "[::1]:1/a", true),
        ("localhost/a", "localhost", "localhost", "localhost/a", true),
    ] {
        let repository: Repository = given.parse().unwrap();
        assert_eq!(repository.host(), host);
        assert_eq!(repository.api_host(), api_host);
        assert_eq!(repository.familiar(), familiar);
        assert_eq!(repository.is_local(), is_local, "{given}");
    }
    let mirrored = Repository::new("mirror", "library/busybox").unwrap();
    assert_eq!(mirrored.host(), "mirror");
    assert!(Repository::new("mir/ror", "a").is_err());
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(text in "\\PC{0,80}") {
        let _ = text.parse::<Reference>();
    }

    #[test]
    fn what_is_printed_is_read_again(text in "([a-z]{1,5}\\.[a-z]{2}(:[1-9][0-9]{1,3})?/)?[a-z0-9]{1,9}(/[a-z0-9]{1,5}){0,2}(:[a-z0-9_]{1,9})?") {
        let read: Reference = text.parse().unwrap();
        prop_assert_eq!(read.to_string().parse::<Reference>().unwrap(), read);
    }
}
