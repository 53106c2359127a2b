//! Metadata of a commit, for people.

use std::{io::Write, path::Path};

use airside_model::MetadataField;

use super::{Git, files::AskGit};
use crate::Failure;

/// Longest part of a message that a page shows.
const MAX_MESSAGE: usize = 10 << 10;

/// Describes the commit that is checked out in a folder of ours.
pub(super) fn of_head(
    git: &Git,
    dir: &Path,
    log: &mut dyn Write,
) -> Result<Vec<MetadataField>, Failure> {
    let mut ask = |args: &[&str], _| git.read(dir, args, log).map(Some);
    describe(&mut ask, git.uri())
}

/// Describes the commit that is checked out; `uri` is the repository's address without credentials.
pub(super) fn describe(ask: &mut AskGit<'_>, uri: &str) -> Result<Vec<MetadataField>, Failure> {
    let mut read = |args: &[&str]| ask(args, false).map(Option::unwrap_or_default);
    let format = "--format=format:%H%x00%an%x00%ai%x00%cn%x00%ci%x00%B";
    let text = read(&["--no-pager", "log", "-1", format])?;
    let mut parts = text.splitn(6, '\0').map(str::to_owned);
    let mut fields = Vec::new();
    let mut add = |name: &str, value: String| {
        let name = name.to_owned();
        fields.push(MetadataField { name, value });
    };
    let commit = parts.next().unwrap_or_default();
    add("commit", commit.clone());
    for name in ["author", "author_date", "committer", "committer_date"] {
        add(name, parts.next().unwrap_or_default());
    }
    let heads = [
        "for-each-ref",
        "--points-at=HEAD",
        "--format=%(refname:strip=2)",
        "refs/heads",
    ];
    for (name, args) in [
        ("branch", &heads[..]),
        ("tags", &["tag", "--points-at", "HEAD"]),
    ] {
        let found = read(args)?;
        if !found.is_empty() {
            add(name, found.lines().collect::<Vec<_>>().join(","));
        }
    }
    let mut message = parts.next().unwrap_or_default();
    message.truncate(message.floor_char_boundary(MAX_MESSAGE));
    add("message", message);
    if let Some(url) = url(uri, &commit) {
        add("url", url);
    }
    Ok(fields)
}

/// Returns the address of a commit's page, for hosts whose pages are known.
fn url(uri: &str, commit: &str) -> Option<String> {
    let rest = ["https://", "http://", "ssh://git@", "git@"]
        .iter()
        .find_map(|prefix| uri.strip_prefix(prefix))?;
    // `git@host:path` has a colon where addresses have a slash; a port is none of a web page's.
    let end = rest.find(['/', ':'])?;
    let (host, path) = (&rest[..end], &rest[end + 1..]);
    let path = match path.split_once('/') {
        Some((port, path)) if port.parse::<u16>().is_ok() && !uri.starts_with("git@") => path,
        _ => path,
    };
    let path = path.strip_suffix(".git").unwrap_or(path);
    let between = match host {
        _ if host.contains("github") || host.contains("gogs") => "commit",
        _ if host.contains("gitlab") => "-/commit",
        _ if host.contains("bitbucket") => "commits",
        _ => return None,
    };
    Some(format!("https://{host}/{path}/{between}/{commit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_known_hosts() {
        for (uri, page) in [
            (
                "https://github.com/a/b.git",
                Some("https://github.com/a/b/commit/1"),
            ),
            (
                "git@github.com:a/b.git",
                Some("https://github.com/a/b/commit/1"),
            ),
            (
                "ssh://git@gitlab.x:2222/a/b",
                Some("https://gitlab.x/a/b/-/commit/1"),
            ),
            (
                "https://bitbucket.org/a/b",
                Some("https://bitbucket.org/a/b/commits/1"),
            ),
            ("https://example.com/a/b", None),
            ("/a/b", None),
        ] {
            assert_eq!(url(uri, "1").as_deref(), page, "{uri}");
        }
    }
}
