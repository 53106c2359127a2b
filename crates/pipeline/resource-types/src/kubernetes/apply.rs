//! Applies one document: server-side apply, or one creation for `generateName`.

use std::{
    io::Write,
    thread,
    time::{Duration, Instant},
};

use airside_blocking_http::encode;
use airside_object_status::printable;
use serde_json::Value;

use super::{
    api::{ApiCall, ApiClient, ApiError, ApiRefusal},
    kinds::{ObjectAddress, Resource},
    manifests::Document,
    names::{generate, generated_from, text},
};
use crate::{Failure, log::say};

/// Name under which the API server notes which fields are ours.
pub(super) const FIELD_MANAGER: &str = "airside";
/// Pause before the first further try; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Number of names that are tried if others have them.
const MAX_NAMES: u32 = 5;

/// An object as the API server has it after it was applied.
#[derive(Clone, Debug)]
pub(super) struct AppliedObject {
    pub(super) address: ObjectAddress,
    pub(super) object: Value,
    /// True if it was not there before.
    pub(super) is_new: bool,
}

/// Applies documents, one after the other.
pub(super) struct Applier<'a> {
    pub(super) client: &'a ApiClient,
    pub(super) force: bool,
    /// Until then, an API server that is away is asked again.
    pub(super) deadline: Instant,
}

impl Applier<'_> {
    pub(super) fn apply(
        &self,
        document: &Document,
        resource: &Resource,
        namespace: &str,
        log: &mut dyn Write,
    ) -> Result<AppliedObject, Failure> {
        let address = |name: &str| ObjectAddress {
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        if let Some(prefix) = generated_from(&document.body) {
            let mut body = document.body.clone();
            let prefix = prefix.to_owned();
            for _ in 0..MAX_NAMES {
                let address = address(&generate(&prefix, &mut body));
                if let Some(object) = self.create(&address, &body, log)? {
                    let is_new = true;
                    return Ok(AppliedObject {
                        address,
                        object,
                        is_new,
                    });
                }
            }
            return Err(Failure::said(format!(
                "no name that begins with {prefix} is free"
            )));
        }
        let address = address(document.name().unwrap_or_default());
        let force = if self.force { "&force=true" } else { "" };
        let path = format!("{}?fieldManager={FIELD_MANAGER}{force}", address.path());
        let answer = self.persist(log, || {
            self.client
                .call_with_status(&path, ApiCall::Apply(&document.body))
        });
        let (status, object) = answer.map_err(|error| refused(error, &address, &document.place))?;
        let is_new = status == 201;
        say(
            log,
            &format!("{} {address}", if is_new { "created" } else { "applied" }),
        );
        Ok(AppliedObject {
            address,
            object,
            is_new,
        })
    }

    /// Creates an object under a name that only this put can have chosen, so that one which is
    /// there after an answer was lost is the one that was asked for. Returns none if another
    /// object had the name before.
    fn create(
        &self,
        address: &ObjectAddress,
        body: &Value,
        log: &mut dyn Write,
    ) -> Result<Option<Value>, Failure> {
        let collection = address.resource.collection(&address.namespace);
        let path = format!("{collection}?fieldManager={FIELD_MANAGER}");
        let mut tries = 0;
        let created = self.persist(log, || {
            tries += 1;
            match self.client.call(&path, ApiCall::Create(body)) {
                Err(error) if error.status() == Some(409) && tries > 1 => {
                    self.client.call(&address.path(), ApiCall::Get)
                }
                other => other,
            }
        });
        match created {
            Ok(object) => {
                say(log, &format!("created {address}"));
                Ok(Some(object))
            }
            Err(error) if error.status() == Some(409) => Ok(None),
            Err(error) => Err(error.into_failure(&format!("create {address}"))),
        }
    }

    /// Makes a request again while the API server is away.
    pub(super) fn persist<T>(
        &self,
        log: &mut dyn Write,
        mut request: impl FnMut() -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let mut pause = FIRST_PAUSE;
        let mut is_said = false;
        loop {
            let why = match request() {
                Err(ApiError::Away(why)) => why,
                other => return other,
            };
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ApiError::Away(why));
            }
            if !is_said {
                say(log, &format!("{why}; trying again until the put's timeout"));
                is_said = true;
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Says why an object was not applied: another manager's fields, or the API server's own words.
fn refused(error: ApiError, address: &ObjectAddress, place: &str) -> Failure {
    if let ApiError::Refused(refusal) = &error
        && let Some(words) = conflicts(refusal)
    {
        return Failure::said(format!(
            "cannot apply {address}: {words}. Take these fields out of the manifest, or take them over with \
             params.force_conflicts: true"
        ));
    }
    error.into_failure(&format!("apply {address} ({place})"))
}

/// Returns the fields that belong to other managers, with their names.
fn conflicts(refusal: &ApiRefusal) -> Option<String> {
    let causes = refusal.body.pointer("/details/causes")?.as_array()?;
    let of_managers = causes
        .iter()
        .filter(|cause| text(cause, "/reason") == "FieldManagerConflict");
    let words: Vec<String> = of_managers
        .take(10)
        .map(|cause| {
            let (field, message) = (text(cause, "/field"), text(cause, "/message"));
            format!("{} has a {}", printable(field), printable(message))
        })
        .collect();
    (refusal.status == 409 && !words.is_empty()).then(|| words.join(", "))
}

/// Returns the query that selects an object by its name.
pub(super) fn by_name(name: &str) -> String {
    format!(
        "fieldSelector={}",
        encode(&format!("metadata.name={name}"), b"")
    )
}
