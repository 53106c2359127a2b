//! The subject of a check: the version it looks from, the known result that spares it, and the
//! place where its versions go.

use std::time::Duration;

use airside_checks::IMAGE_INTERVAL;
use airside_model::{ResourceId, Version, plan::CheckPlan};
use airside_store::{CheckFrom, ImageCheck, LastCheck, Micros, now};
use serde_json::{Map, Value, json};
use tracing::warn;

use crate::{Result, StepError, leaf::Leaf};

pub(super) enum Subject {
    /// A resource of the pipeline: what is found becomes its history.
    Resource {
        id: ResourceId,
        from: CheckFrom,
        last: Option<LastCheck>,
        interval: Option<Duration>,
    },
    /// The image of a type, a prototype or a task: only the newest version counts.
    Image {
        /// The name of the type, if it is one's.
        type_: String,
        digest: String,
        given: Option<Version>,
        newest: Option<Version>,
    },
}

impl Subject {
    /// Reads from the store what a check is about.
    pub(super) async fn find(leaf: Leaf<'_>, check: &CheckPlan) -> Result<Self, StepError> {
        if check.resource.is_empty() {
            return Ok(Self::Image {
                type_: check.resource_type.clone(),
                digest: String::new(),
                given: check.from_version.clone(),
                newest: None,
            });
        }
        let store = &leaf.interpreter.engine.parts.store;
        let row = match leaf.interpreter.build.pipeline {
            Some(pipeline) => store.resource(pipeline, &check.resource).await?,
            None => None,
        };
        let gone = || format!("resource '{}' deleted", check.resource);
        let row = row.ok_or_else(gone)?;
        let mut from = store.check_from(row.id).await?.ok_or_else(gone)?;
        if check.from_version.is_some() {
            from.version = check.from_version.clone();
        }
        Ok(Self::Resource {
            id: row.id,
            from,
            last: store.last_check(row.id).await?,
            interval: airside_config::parse_duration(&check.interval),
        })
    }

    /// The check runs in this image of its type, which may not be that of the last time.
    pub(super) async fn in_image(
        &mut self,
        leaf: Leaf<'_>,
        check: &CheckPlan,
        image: &Version,
    ) -> Result<()> {
        let Self::Resource { id, from, last, .. } = self else {
            return Ok(());
        };
        let store = &leaf.interpreter.engine.parts.store;
        if let Some(now) = store.check_from_image(*id, image).await? {
            *from = now;
            *last = store.last_check(*id).await?;
        }
        if check.from_version.is_some() {
            from.version.clone_from(&check.from_version);
        }
        Ok(())
    }

    /// Returns the version from which the check looks for newer ones.
    pub(super) fn from(&self) -> Option<&Version> {
        match self {
            Self::Resource { from, .. } => from.version.as_ref(),
            Self::Image { given, newest, .. } => given.as_ref().or(newest.as_ref()),
        }
    }

    /// Returns the known version, if no new check is needed. `image` is the version of the type's
    /// own image.
    pub(super) async fn known(
        &mut self,
        leaf: Leaf<'_>,
        check: &CheckPlan,
        source: &Map<String, Value>,
        image: Option<Version>,
    ) -> Result<Option<Option<Version>>> {
        let build = leaf.interpreter.build;
        let store = &leaf.interpreter.engine.parts.store;
        match self {
            Self::Resource { id, last, .. } => {
                // A check that was asked for needs a look that began after the request; a due one,
                // any look that ended since.
                let will_do = last.is_some_and(|last| {
                    let seen = if check.skip_interval {
                        last.started_at
                    } else {
                        last.ended_at
                    };
                    last.failures == 0 && seen > build.created_at
                });
                if check.from_version.is_some() || !will_do {
                    return Ok(None);
                }
                let latest = store.latest_version(*id).await?;
                Ok(Some(latest.map(|(_, version)| version)))
            }
            Self::Image {
                digest,
                given,
                newest,
                ..
            } => {
                *digest = store.image_check_key(&identity_of(check, source, image));
                let Some(last) = store.image_check(build.team, digest).await? else {
                    return Ok(None);
                };
                newest.clone_from(&last.version);
                let will_do = given.is_none() && is_fresh(check, &last, build.started_at, now());
                Ok(will_do.then_some(last.version))
            }
        }
    }

    pub(super) async fn found(
        &self,
        leaf: Leaf<'_>,
        started_at: Micros,
        versions: Vec<Version>,
    ) -> Result<()> {
        let store = &leaf.interpreter.engine.parts.store;
        let newest = versions.last().cloned();
        if let Self::Resource { id, from, .. } = self {
            let versions = versions.into_iter().map(|version| (version, Vec::new()));
            let versions: Vec<_> = versions.collect();
            let saved = store.save_versions(*id, from, &versions).await?;
            if saved == airside_store::SavedVersions::Outdated {
                warn!(
                    resource = id.0,
                    "the resource changed during its check; what was found is not saved"
                );
            }
        }
        self.note(leaf, started_at, Ok(newest)).await
    }

    pub(super) async fn failed(&self, leaf: Leaf<'_>, started_at: Micros) -> Result<()> {
        self.note(leaf, started_at, Err(())).await
    }

    async fn note(
        &self,
        leaf: Leaf<'_>,
        started_at: Micros,
        newest: Result<Option<Version>, ()>,
    ) -> Result<()> {
        let store = &leaf.interpreter.engine.parts.store;
        match self {
            Self::Resource {
                id,
                from,
                last,
                interval,
            } => {
                let before = last.map_or(0, |last| last.failures);
                let check = LastCheck {
                    scope: from.scope,
                    started_at,
                    ended_at: now(),
                    failures: match newest {
                        Ok(_) => 0,
                        Err(()) => before.saturating_add(1),
                    },
                };
                let next_due = interval.map(|interval| check.ended_at.plus(interval));
                store.note_check(*id, check, next_due).await?;
            }
            // Without its digest it was never looked for.
            Self::Image { digest, .. } if digest.is_empty() => {}
            Self::Image {
                type_,
                digest,
                newest: known,
                ..
            } => {
                let succeeded = newest.is_ok();
                let found = newest.ok().flatten();
                let check = ImageCheck {
                    succeeded,
                    // A version that was known already is not saved: another check may have found a
                    // newer one meanwhile.
                    version: found.filter(|found| Some(found) != known.as_ref()),
                    started_at,
                    ended_at: now(),
                };
                let (team, pipeline) =
                    (leaf.interpreter.build.team, leaf.interpreter.build.pipeline);
                store.note_image_check(team, digest, &check).await?;
                if let (Some(pipeline), false) = (pipeline, type_.is_empty()) {
                    let check = (team, digest.as_str());
                    store.own_image_check(pipeline, type_, check).await?;
                }
            }
        }
        Ok(())
    }
}

/// Two images with the same identity are found by the same check. It may hold a password.
fn identity_of(check: &CheckPlan, source: &Map<String, Value>, image: Option<Version>) -> String {
    json!([check.type_, source, image]).to_string()
}

/// Returns true if a check for an image need not be repeated: it ended after the build began, or
/// not long ago.
fn is_fresh(
    check: &CheckPlan,
    last: &ImageCheck,
    build_began: Option<Micros>,
    now: Micros,
) -> bool {
    if !last.succeeded {
        return false;
    }
    if build_began.is_some_and(|began| last.ended_at > began) {
        return true;
    }
    let long_ago = match check.interval.as_str() {
        "never" => false,
        text => {
            let interval = airside_config::parse_duration(text).unwrap_or(IMAGE_INTERVAL);
            // A clock that was set back does not make it fresh for longer.
            last.ended_at > now || now.since(last.ended_at) >= interval
        }
    };
    !check.skip_interval && !long_ago
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_looked_for_when_it_is_time() {
        let check = |interval: &str, skip_interval| CheckPlan {
            interval: interval.to_owned(),
            skip_interval,
            ..CheckPlan::default()
        };
        let minutes = |minutes: i64| Micros(minutes * 60_000_000);
        let ended = |at, succeeded| ImageCheck {
            version: None,
            started_at: at,
            ended_at: at,
            succeeded,
        };
        for (interval, skip, ended, began, fresh) in [
            ("1m0s", false, ended(minutes(10), true), minutes(10), false),
            ("2m0s", false, ended(minutes(10), true), minutes(10), true),
            ("2m0s", false, ended(minutes(10), false), minutes(10), false),
            ("2m0s", true, ended(minutes(10), true), minutes(10), false),
            ("1m0s", true, ended(minutes(10), true), minutes(9), true),
            ("never", false, ended(minutes(0), true), minutes(10), true),
            ("never", true, ended(minutes(0), true), minutes(10), false),
            ("2m0s", false, ended(minutes(70), true), minutes(80), false),
        ] {
            let plan = check(interval, skip);
            let found = is_fresh(&plan, &ended, Some(began), minutes(11));
            assert_eq!(found, fresh, "{interval} {skip} {ended:?} {began:?}");
        }
    }

    #[test]
    fn identities_tell_apart_what_is_looked_for() {
        let check = |type_: &str| CheckPlan {
            type_: type_.to_owned(),
            ..CheckPlan::default()
        };
        let source = Map::from_iter([("a".to_owned(), json!(1))]);
        let image = Some(Version::from([("v", "1")]));
        let all = [
            identity_of(&check("x"), &source, None),
            identity_of(&check("y"), &source, None),
            identity_of(&check("x"), &Map::new(), None),
            identity_of(&check("x"), &source, image),
        ];
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
