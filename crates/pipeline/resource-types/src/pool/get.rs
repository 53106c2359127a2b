//! `get`: the lock that a commit changes.

use std::{fs, io::Write, path::Path};

use super::{
    REF,
    check::{commit_name, commit_version},
    locks::is_lock_name,
    metadata,
    repository::{CloneDepth, PoolRepository},
    settings::{InParams, Source},
};
use crate::{
    Failure, InRequest, Part, Produced, git::Purpose, log::say, paths::clear,
    request::read_with_warnings,
};

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source, log)?;
    let _: InParams = read_with_warnings(Part::Params, request.params, log)?;
    let wanted = request
        .version
        .0
        .get(REF)
        .map(|text| commit_name(text))
        .transpose()?;
    let repository = PoolRepository::new(source, Purpose::Step, log)?;
    repository.clone(CloneDepth::Whole, log)?;
    let tip = repository.tip(log)?;
    let commit = wanted.unwrap_or(&tip);
    if !repository.leads_to(commit, &tip)? {
        let words = format!("the commit {commit} is not in the branch any more");
        return Err(Failure::said(words));
    }
    let lock = changed_lock(&repository, commit, log)?;
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    match &lock {
        Some(name) => {
            write(&repository, (commit, &tip), name, dest, log).inspect_err(|_| clear(dest))?
        }
        None => say(log, "the commit changes no lock"),
    }
    Ok(Produced {
        version: commit_version(commit),
        metadata: metadata(lock.as_deref(), &repository.pool),
    })
}

/// Returns the lock that a commit changes, or the last commit before it that changes one.
fn changed_lock(
    repository: &PoolRepository,
    commit: &str,
    log: &mut dyn Write,
) -> Result<Option<String>, Failure> {
    let last = repository.changes(commit, Some(1), &repository.pool, log)?;
    let Some(last) = last.first() else {
        return Ok(None);
    };
    let paths = repository.changed(last, log)?;
    let mut names = paths.iter().filter_map(|path| path.rsplit('/').next());
    Ok(names.find(|name| is_lock_name(name)).map(str::to_owned))
}

/// Writes a lock's name and content, unless it was claimed and is not this claim any more.
fn write(
    repository: &PoolRepository,
    (commit, tip): (&str, &str),
    name: &str,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<(), Failure> {
    let locks = repository.locks(commit, log)?;
    if locks.claimed.contains_key(name) {
        let path = format!("{}/claimed/{name}", repository.pool);
        let since = repository.changes(&format!("{commit}..{tip}"), Some(1), &path, log)?;
        if !since.is_empty() {
            let words = format!("the lock {name} is not held by this version any more");
            return Err(Failure::said(words));
        }
    }
    let Some(file) = locks
        .claimed
        .get(name)
        .or_else(|| locks.unclaimed.get(name))
    else {
        say(log, &format!("the lock {name} was removed"));
        return Ok(());
    };
    let content = repository.content(file, log)?;
    for (file, bytes) in [
        ("metadata", content),
        ("name", format!("{name}\n").into_bytes()),
    ] {
        let path = dest.join(file);
        fs::write(&path, bytes).map_err(Failure::io(&path))?;
    }
    Ok(())
}
