//! Some things are done in one place: image documents are read by `airside-oci`, connections are
//! accepted by `airside-serve`, manifests are written by `airside-kube-objects`. A second place
//! would be the lenient one of the two.

use airside_tidy::{crate_of, files, product, read, shown};

/// Texts that only their owner may have.
struct Owned {
    texts: &'static [&'static str],
    owner: &'static str,
    /// Other files that may have them, each with the reason.
    exceptions: &'static [(&'static str, &'static str)],
}

const OWNED: &[Owned] = &[
    Owned {
        texts: &["vnd.oci.", "vnd.docker.distribution"],
        owner: "crates/base/oci/",
        exceptions: &[],
    },
    Owned {
        texts: &["strip_prefix(\"bytes"],
        owner: "crates/base/oci/",
        exceptions: &[],
    },
    Owned {
        texts: &[".accept()"],
        owner: "crates/base/serve/",
        exceptions: &[
            (
                "crates/server/api/src/serve.rs",
                "the API has axum's routes, upgrades to web sockets, and places for people",
            ),
            (
                "crates/server/hub/src/server.rs",
                "the hub speaks frames and no HTTP, at a port and at sockets",
            ),
            (
                "crates/runtime/remote/src/relay.rs",
                "the relay passes the bytes of a socket on to the hub",
            ),
            (
                "crates/images/node-agent/src/images.rs",
                "the kubelet's probe wants an open port and nothing to read",
            ),
        ],
    },
    Owned {
        texts: &["apiVersion: "],
        owner: "crates/base/kube-objects/",
        exceptions: &[],
    },
];

/// Returns the lines of a source file that have a text of another owner.
fn foreign_lines(place: &str, text: &str) -> Vec<usize> {
    let text = product(text);
    let mut lines = Vec::new();
    for owned in OWNED {
        let is_exempt = owned.exceptions.iter().any(|(file, _)| *file == place);
        if place.starts_with(owned.owner) || is_exempt {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let is_code = !line.trim_start().starts_with("//");
            if is_code && owned.texts.iter().any(|text| line.contains(text)) {
                lines.push(number + 1);
            }
        }
    }
    lines
}

#[test]
fn each_of_these_is_done_in_one_place() {
    let mut foreign = Vec::new();
    for path in files("rs").unwrap_or_default() {
        let place = shown(&path);
        let is_product = crate_of(&place).is_some_and(|name| !name.starts_with("tests/"));
        if is_product {
            let lines = foreign_lines(&place, &read(&path).unwrap_or_default());
            foreign.extend(lines.iter().map(|line| format!("{place}:{line}")));
        }
    }
    assert!(
        foreign.is_empty(),
        "use the crate that does this already:\n  {}",
        foreign.join("\n  ")
    );
    for (file, _) in OWNED.iter().flat_map(|owned| owned.exceptions) {
        assert!(airside_tidy::root().join(file).exists(), "{file}");
    }
}

#[test]
fn foreign_texts_are_found() {
    let accepts = "fn a() {\n    let (stream, _) = listener.accept().await?;\n}\n";
    assert_eq!(foreign_lines("crates/server/x/src/lib.rs", accepts), [2]);
    assert!(foreign_lines("crates/base/serve/src/serve.rs", accepts).is_empty());
    let comment = "// listener.accept() is elsewhere\n";
    assert!(foreign_lines("crates/server/x/src/lib.rs", comment).is_empty());
}
