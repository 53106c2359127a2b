//! Times as versions: RFC 3339, in the zone of the resource.

use airside_model::{Version, chain};
use jiff::{Timestamp, fmt::strtime, tz::Offset, tz::TimeZone};

use crate::Failure;

const TIME: &str = "time";

pub(super) fn version(time: Timestamp, zone: &TimeZone) -> Version {
    let offset = zone.to_offset(time);
    let text = if offset == Offset::UTC {
        time.to_string()
    } else {
        time.display_with_offset(offset).to_string()
    };
    Version::from([(TIME, text.as_str())])
}

pub(super) fn time(version: &Version) -> Result<Timestamp, Failure> {
    let text = text(version)?;
    text.parse().map_err(|error| not_a_time(text, error))
}

/// `2006-01-02 15:04:05.999999999 -0700 MST`, where a zone without a name is named by its offset.
pub(super) fn for_people(version: &Version) -> Result<String, Failure> {
    let text = text(version)?;
    let read = || -> Result<String, jiff::Error> {
        let parts = strtime::parse("%Y-%m-%dT%H:%M:%S%.f%:z", text.replace('Z', "+00:00"))?;
        let zoned = text
            .parse::<Timestamp>()?
            .to_zoned(TimeZone::fixed(parts.offset().unwrap_or(Offset::UTC)));
        let clock = zoned.strftime("%Y-%m-%d %H:%M:%S%.f %z").to_string();
        let name = match zoned.offset() {
            Offset::UTC => "UTC".to_owned(),
            _ => zoned.strftime("%z").to_string(),
        };
        Ok(format!("{clock} {name}"))
    };
    read().map_err(|error| not_a_time(text, error))
}

fn text(version: &Version) -> Result<&str, Failure> {
    let found = version.0.get(TIME).map(String::as_str);
    found.ok_or_else(|| Failure::said("the version has no `time`"))
}

fn not_a_time(text: &str, error: jiff::Error) -> Failure {
    Failure::said(format!(
        "the version's time {text:?} cannot be read: {}",
        chain(&error)
    ))
}
