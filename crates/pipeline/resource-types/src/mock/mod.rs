//! `mock`: makes up versions and files, for trying pipelines (and this software) without the world.
//!
//! It talks to nothing. The one thing it looks at besides its request is the process it runs in:
//! the effective capabilities, and `MIRRORED_VERSION` in the environment.

mod files;
mod mirror;
mod settings;

use std::{fs, io::Write, path::Path, thread};

use airside_model::{Version, read_duration};

pub(crate) use self::settings::FORMS;
use self::settings::{InParams, OutParams, Source, version, version_text};
use crate::{
    CheckInput, Failure, InRequest, OutRequest, Part, Privilege, Produced, log::say, paths::inside,
    request::read,
};

pub(crate) fn check(
    request: CheckInput,
    privilege: Privilege,
    log: &mut dyn Write,
) -> Result<Vec<Version>, Failure> {
    let source = source(request.source, log)?;
    if let Some(delay) = &source.check_delay {
        let delay =
            read_duration(delay).map_err(|why| Failure::said(format!("{delay:?} {why}")))?;
        thread::sleep(delay);
    }
    if let Some(reason) = source.check_failure.filter(|reason| !reason.is_empty()) {
        return Err(Failure::Said(format!(
            "intentionally failing to check: {reason}"
        )));
    }
    let privileged = privilege == Privilege::Privileged;
    let found = if let Some(forced) = source.force_version {
        Some(forced)
    } else if let Some(given) = &request.version {
        Some(version_text(given)?.to_owned())
    } else if source.no_initial_version {
        None
    } else {
        Some(source.initial_version.unwrap_or_else(default_version))
    };
    Ok(found.iter().map(|text| version(text, privileged)).collect())
}

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = source(request.source, log)?;
    let params: InParams = read(Part::Params, request.params)?;
    let text = version_text(&request.version)?;
    let privileged = is_privileged();
    if privileged {
        say(log, "fetching in a privileged container");
    }
    say(log, &format!("fetching version: {text}"));

    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    files::write(dest, "version", &format!("{text}\n"))?;
    files::write(dest, "privileged", &format!("{privileged}\n"))?;
    if source.mirror_self || params.mirror_self_via_params {
        mirror::write(Path::new("/"), dest, text)?;
    }
    let mut wanted = source.create_files;
    wanted.extend(params.create_files_via_params);
    files::write_all(dest, &wanted)?;
    Ok(Produced {
        version: request.version,
        metadata: source.metadata,
    })
}

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = source(request.source, log)?;
    let params: OutParams = read(Part::Params, request.params)?;
    if params.print_env {
        for (key, value) in std::env::vars_os() {
            say(
                log,
                &format!("{}={}", key.to_string_lossy(), value.to_string_lossy()),
            );
        }
    }
    let text = match (params.version, params.file) {
        (Some(text), _) => text,
        (None, Some(file)) => {
            let path = inside(src, &file)?;
            fs::read_to_string(&path).map_err(Failure::io(&path))?
        }
        (None, None) => return Err(Failure::said("no version specified")),
    };
    let privileged = is_privileged();
    if privileged {
        say(log, "pushing in a privileged container");
    }
    say(log, &format!("pushing version: {text}"));
    Ok(Produced {
        version: version(&text, privileged),
        metadata: source.metadata,
    })
}

fn source(object: crate::Object, log: &mut dyn Write) -> Result<Source, Failure> {
    let source: Source = read(Part::Source, object)?;
    if let Some(text) = &source.log {
        say(log, text);
    }
    Ok(source)
}

/// An image that mirrors this one says in its environment which version of it was mirrored.
fn default_version() -> String {
    std::env::var("MIRRORED_VERSION").unwrap_or_else(|_| "mock".to_owned())
}

fn is_privileged() -> bool {
    Privilege::of_this_process() == Privilege::Privileged
}
