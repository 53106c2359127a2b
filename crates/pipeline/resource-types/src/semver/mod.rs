//! `semver`: a version number that is kept somewhere and bumped.

mod bump;
mod gcs_driver;
mod git_driver;
mod s3_driver;
mod service_account;
mod settings;

use std::{fs, io::Write, path::Path};

use airside_model::{MetadataField, Version, chain};

pub(crate) use self::settings::FORMS;
use self::settings::{InParams, OutParams, Source};
use crate::{
    CheckInput, Failure, InRequest, OutRequest, Part, Produced, git::Purpose, log::say,
    paths::inside, request::read_with_warnings, versions::Semver,
};

const NUMBER: &str = "number";

/// A place that keeps the number.
trait Driver {
    /// The number, if there is one yet.
    fn current(&mut self, log: &mut dyn Write) -> Result<Option<Semver>, Failure>;

    /// Replaces the last answer of `current`; `false` if another change came first.
    fn replace(&mut self, new: &Semver, log: &mut dyn Write) -> Result<bool, Failure>;
}

/// Number of tries of a bump while other changes come first.
const TRIES: u32 = 10;

fn version(number: &Semver) -> Version {
    Version::from([(NUMBER, number.to_string())])
}

/// A whole version, as this type keeps them: three numbers and no letter before.
fn strict(text: &str) -> Option<Semver> {
    let number = Semver::parse(text)?;
    (number.to_string() == text).then_some(number)
}

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let source = Source::read(request.source, log)?;
    let initial = source.initial.clone();
    let mut driver = source.driver(Purpose::Check, log)?;
    let now = driver.current(log)?.unwrap_or(initial);
    // The given one too: a caller that asks from there wants to see it, if it is not ahead.
    let given = request
        .version
        .as_ref()
        .and_then(|version| version.0.get(NUMBER));
    let given = given.and_then(|text| strict(text));
    let given = given.filter(|given| given.precedence(&now).is_lt());
    Ok(given.iter().chain([&now]).map(version).collect())
}

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    Source::read(request.source, log)?;
    let params: InParams = read_with_warnings(Part::Params, request.params, log)?;
    let text = request.version.0.get(NUMBER).map_or("", String::as_str);
    let number = strict(text)
        .ok_or_else(|| Failure::said(format!("the version's number {text:?} is not a version")))?;
    let bumped = params.bump.apply(number.clone())?;
    if bumped != number {
        say(log, &format!("bumped here from {number} to {bumped}"));
    }
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    for name in ["number", "version"] {
        let path = dest.join(name);
        fs::write(&path, bumped.to_string()).map_err(Failure::io(&path))?;
    }
    let metadata = metadata(&number);
    Ok(Produced {
        version: request.version,
        metadata,
    })
}

pub(crate) fn push(
    request: OutRequest,
    src: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let source = Source::read(request.source, log)?;
    let params: OutParams = read_with_warnings(Part::Params, request.params, log)?;
    let initial = source.initial.clone();
    let wanted = match &params.file {
        Some(name) => Some(number_in(&inside(src, name)?, name)?),
        None if params.bump.is_nothing() && !params.get_latest => {
            return Err(Failure::params(
                "file",
                "or params.bump or params.pre is needed",
            ));
        }
        None => None,
    };
    let mut driver = source.driver(Purpose::Step, log)?;
    for _ in 0..TRIES {
        let found = driver.current(log)?;
        if params.get_latest {
            return Ok(produced(&found.unwrap_or(initial)));
        }
        let now = found.unwrap_or_else(|| initial.clone());
        let new = match &wanted {
            Some(wanted) => wanted.clone(),
            None => params.bump.apply(now)?,
        };
        if driver.replace(&new, log)? {
            return Ok(produced(&new));
        }
        say(log, "the version was changed in the meantime; trying again");
    }
    Err(Failure::said(format!(
        "gave up after {TRIES} tries: each time the version was changed in the meantime"
    )))
}

fn number_in(path: &Path, name: &str) -> Result<Semver, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::params(
            "file",
            format!("is {name:?}, which cannot be read: {}", chain(&error)),
        )
    })?;
    let word = text.split_whitespace().next().unwrap_or_default();
    strict(word).ok_or_else(|| {
        Failure::params(
            "file",
            format!("is a file with {word:?} in it, which is not a version"),
        )
    })
}

fn produced(number: &Semver) -> Produced {
    Produced {
        version: version(number),
        metadata: metadata(number),
    }
}

fn metadata(number: &Semver) -> Vec<MetadataField> {
    vec![MetadataField {
        name: NUMBER.to_owned(),
        value: number.to_string(),
    }]
}
