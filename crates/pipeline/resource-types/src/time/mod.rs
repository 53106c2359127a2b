//! `time`: a new version every so often, or once a day, within hours and on days that one chooses.
//!
//! It talks to nothing and reads nothing but the clock, and that in one place: everything below
//! takes the time as an argument.

mod schedule;
mod settings;
mod stamp;

use std::{fs, io::Write, path::Path};

use airside_model::Version;
use jiff::Timestamp;
use serde_json::json;

use self::{
    schedule::Schedule,
    settings::{NoParams, Source},
};
use crate::{
    CheckInput, Failure, InRequest, OutRequest, Part, Produced,
    inspect::{Form, Forms, field_names},
    request::{read, read_with_warnings},
};

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    versions(request, Timestamp::now(), log)
}

fn versions(
    request: CheckInput,
    now: Timestamp,
    log: &mut dyn Write,
) -> Result<Vec<Version>, Failure> {
    let source: Source = read_with_warnings(Part::Source, request.source, log)?;
    let initial = source.initial_version;
    let schedule = Schedule::new(source)?;
    let fresh = || stamp::version(now, schedule.zone());
    let Some(given) = request.version else {
        let due = initial || schedule.is_due(now, None);
        return Ok(due.then(fresh).into_iter().collect());
    };
    let previous = stamp::time(&given)?;
    let due = schedule.is_due(now, Some(previous));
    Ok([given].into_iter().chain(due.then(fresh)).collect())
}

pub(crate) fn fetch(
    request: InRequest,
    dest: &Path,
    log: &mut dyn Write,
) -> Result<Produced, Failure> {
    let asked = json!({"source": request.source, "version": request.version});
    let _: Source = read_with_warnings(Part::Source, request.source, log)?;
    let _: NoParams = read_with_warnings(Part::Params, request.params, log)?;
    let time = stamp::time(&request.version)?;
    fs::create_dir_all(dest).map_err(Failure::io(dest))?;
    let write = |name: &str, text: String| {
        let path = dest.join(name);
        fs::write(&path, text).map_err(Failure::io(&path))
    };
    write("input", format!("{asked}\n"))?;
    write("timestamp", stamp::for_people(&request.version)?)?;
    write("epoch", time.as_second().to_string())?;
    Ok(Produced {
        version: request.version,
        metadata: Vec::new(),
    })
}

pub(crate) fn push(request: OutRequest, log: &mut dyn Write) -> Result<Produced, Failure> {
    let source: Source = read_with_warnings(Part::Source, request.source, log)?;
    let _: NoParams = read_with_warnings(Part::Params, request.params, log)?;
    let schedule = Schedule::new(source)?;
    Ok(Produced {
        version: stamp::version(Timestamp::now(), schedule.zone()),
        metadata: Vec::new(),
    })
}

/// Reads the settings of the type.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<Source>,
        read: |object| {
            let source: Source = read(Part::Source, object)?;
            Schedule::new(source).map(drop)
        },
    },
    get: Form {
        keys: field_names::<NoParams>,
        read: |object| read::<NoParams>(Part::Params, object).map(drop),
    },
    put: Form {
        keys: field_names::<NoParams>,
        read: |object| read::<NoParams>(Part::Params, object).map(drop),
    },
};

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn check_at(now: &str, source: Value, given: Option<&str>) -> Result<Vec<String>, String> {
        let request = CheckInput {
            source: source.as_object().expect("an object").clone(),
            version: given.map(|time| Version::from([("time", time)])),
        };
        versions(request, now.parse().expect("a time"), &mut std::io::sink())
            .map(|found| found.iter().map(|one| one.0["time"].clone()).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_interval_counts_from_the_given_version() {
        let every = json!({"interval": "10m"});
        let now = "2026-03-01T12:00:00.5Z";
        let check = |given| check_at(now, every.clone(), given).unwrap();
        assert_eq!(check(None), [now]);
        let long_ago = "2026-03-01T11:50:00.5Z";
        assert_eq!(check(Some(long_ago)), [long_ago, now]);
        let just_now = "2026-03-01T11:50:01Z";
        assert_eq!(check(Some(just_now)), [just_now]);
    }

    #[test]
    fn without_an_interval_there_is_one_version_a_day() {
        let window = json!({"start": "8:00 PM", "stop": "9:00 PM"});
        let check = |now, given| check_at(now, window.clone(), given).unwrap();
        let evening = "2026-03-01T20:30:00Z";
        assert_eq!(check(evening, None), [evening]);
        let seven = "2026-03-01T19:59:59Z";
        assert!(check(seven, None).is_empty());
        assert!(check("2026-03-01T21:00:00Z", None).is_empty());
        let earlier = "2026-03-01T20:10:00Z";
        assert_eq!(check(evening, Some(earlier)), [earlier], "today's is there");
        let yesterday = "2026-02-28T20:10:00Z";
        assert_eq!(check(evening, Some(yesterday)), [yesterday, evening]);
    }

    #[test]
    fn an_initial_version_does_not_wait_for_the_window() {
        let source = json!({"start": "1AM", "stop": "2AM", "initial_version": true});
        let noon = "2026-03-01T12:00:00Z";
        assert_eq!(check_at(noon, source.clone(), None).unwrap(), [noon]);
        assert_eq!(check_at(noon, source, Some(noon)).unwrap(), [noon]);
    }

    #[test]
    fn a_location_gives_its_offset_to_versions() {
        let source = json!({"interval": "1m", "location": "Asia/Tokyo"});
        let found = check_at("2026-03-01T12:00:00Z", source, None).unwrap();
        assert_eq!(found, ["2026-03-01T21:00:00+09:00"]);
    }

    #[test]
    fn mistakes_are_named() {
        let now = "2026-03-01T12:00:00Z";
        for (source, words) in [
            (json!({"interval": "often"}), "\"often\" is not a duration"),
            (json!({"start": "1PM"}), "`stop` is missing beside `start`"),
            (json!({"stop": "1PM"}), "`start` is missing beside `stop`"),
            (
                json!({"start": "25:00", "stop": "1PM"}),
                "\"25:00\" is not a time of day",
            ),
            (
                json!({"days": ["Someday"]}),
                "\"Someday\" is not a day of the week",
            ),
            (
                json!({"location": "Moon/Base"}),
                "\"Moon/Base\" is not a time zone",
            ),
            (json!({"start_after": "soon"}), "\"soon\" is not a date"),
        ] {
            let said = check_at(now, source.clone(), None).unwrap_err();
            assert!(said.contains(words), "{source}: {said}");
        }
        let said = check_at(now, json!({}), Some("yesterday")).unwrap_err();
        assert!(said.contains("yesterday"), "{said}");
    }

    #[test]
    fn fetching_writes_the_time_in_three_forms() {
        let folder = tempfile::tempdir().unwrap();
        let request = InRequest {
            source: json!({"interval": "1m"}).as_object().unwrap().clone(),
            params: Default::default(),
            version: Version::from([("time", "2026-03-01T12:00:00.25+02:00")]),
        };
        let produced = fetch(request.clone(), folder.path(), &mut Vec::new()).unwrap();
        assert_eq!(produced.version, request.version);
        let file = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(file("timestamp"), "2026-03-01 12:00:00.25 +0200 +0200");
        assert_eq!(file("epoch"), "1772359200");
        let input: Value = serde_json::from_str(&file("input")).unwrap();
        assert_eq!(input["source"]["interval"], "1m");
    }
}
