//! `check`: the commits that change the pool.

use std::io::Write;

use airside_model::Version;

use super::{
    REF,
    repository::{CloneDepth, PoolRepository},
    settings::Source,
};
use crate::{CheckInput, Failure, Part, git::Purpose};

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let source = Source::read(request.source, log)?;
    let version = request.version.unwrap_or_default();
    let from = version
        .0
        .get(REF)
        .map(|text| commit_name(text))
        .transpose()?;
    let repository = PoolRepository::new(source, Purpose::Check, log)?;
    if let Some(from) = from
        && repository.remote_tip(log)?.as_deref() == Some(from)
    {
        return Ok(vec![commit_version(from)]);
    }
    repository.clone(CloneDepth::Commits, log)?;
    let tip = repository.tip(log)?;
    let pool = repository.pool.as_str();
    let commits = match from {
        Some(from) if repository.leads_to(from, &tip)? => {
            let mut since = repository.changes(&format!("{from}..{tip}"), None, pool, log)?;
            since.push(from.to_owned());
            since
        }
        _ => repository.changes(&tip, Some(1), pool, log)?,
    };
    Ok(commits
        .iter()
        .rev()
        .map(|commit| commit_version(commit))
        .collect())
}

pub(super) fn commit_version(commit: &str) -> Version {
    Version::from([(REF, commit)])
}

/// Returns a version's commit, if it is the whole name of one.
pub(super) fn commit_name(text: &str) -> Result<&str, Failure> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex && (7..=64).contains(&text.len()) {
        return Ok(text);
    }
    Err(Failure::Key {
        part: Part::Version,
        key: REF.to_owned(),
        words: "is not a commit".to_owned(),
    })
}
