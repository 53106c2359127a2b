//! Verifies that a commit is signed by one of the keys of the source.

use std::{fs, io::Write, os::unix::fs::DirBuilderExt, path::Path};

use super::{Git, settings::Source};
use crate::Failure;

const KEYSERVER: &str = "hkp://keyserver.ubuntu.com/";

pub(super) fn commit(
    git: &mut Git,
    source: &Source,
    dest: &Path,
    wanted: &str,
    log: &mut dyn Write,
) -> Result<(), Failure> {
    let (keys, ids) = (
        &source.commit_verification_keys,
        &source.commit_verification_key_ids,
    );
    if keys.is_empty() && ids.is_empty() {
        return Ok(());
    }
    let ring = git.home().scratch.path().join("gnupg");
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&ring)
        .map_err(Failure::io(&ring))?;
    let mut gpg = |args: &[&str], input: &str, key: &str, words: &str| {
        let ended = git.program("gpg", dest, args, input.as_bytes(), log)?;
        if ended.ok {
            Ok(())
        } else {
            Err(Failure::source(key, words))
        }
    };
    for key in keys {
        let (name, words) = ("commit_verification_keys", "has a key that gpg cannot read");
        gpg(&["--batch", "--no-autostart", "--import"], key, name, words)?;
    }
    let server = source.gpg_keyserver.as_deref().unwrap_or(KEYSERVER);
    for id in ids {
        let name = "commit_verification_key_ids";
        if id.starts_with('-') {
            return Err(Failure::source(
                name,
                format!("has {id:?}, which is not an id"),
            ));
        }
        let args = ["--batch", "--keyserver", server, "--recv-keys", id];
        let words = format!("has {id}, which {server} does not give");
        gpg(&args, "", name, &words)?;
    }
    let args = ["verify-commit", "--", wanted];
    let signed = git.attempt(dest, &args, b"", log)?;
    if signed.ok {
        return Ok(());
    }
    Err(Failure::said(format!(
        "the commit {wanted} is not signed by a key of the source"
    )))
}
