//! One check from its beginning to the moment the loop hears how it ended.

use std::sync::Arc;

use airside_check_process::Freshness;
use airside_model::{BuildStatus, ResourceId, chain};
use airside_schedule::{Moment, checks::CheckFacts};
use airside_store::{Checkable, LastCheck, Store, now};
use tracing::warn;

use crate::{
    Parts,
    limit::Place,
    report,
    run::{self, Ended, Error, Ran},
    spec::{self, Spec},
};

pub(crate) struct Task {
    pub(crate) parts: Arc<Parts>,
    pub(crate) spec: Spec,
    /// The status that people see now.
    pub(crate) shown: Option<BuildStatus>,
    pub(crate) asked: bool,
    /// How many failed before it.
    pub(crate) failures: u32,
    pub(crate) place: Place,
}

/// How it ended.
pub(crate) struct End {
    pub(crate) resource: ResourceId,
    pub(crate) place: Place,
    /// What is known from now on; none: nothing new.
    pub(crate) facts: Option<CheckFacts>,
    /// To be written some time.
    pub(crate) unwritten: Option<LastCheck>,
    /// The status that people see from now on, if that changed.
    pub(crate) shown: Option<BuildStatus>,
    /// Nobody has been told yet that it ended.
    unheard: bool,
}

impl Task {
    pub(crate) async fn run(self) -> End {
        let mut end = End {
            resource: self.spec.id,
            place: self.place,
            facts: None,
            unwritten: None,
            shown: None,
            unheard: true,
        };
        let ran = airside_tasks::caught("check", self.try_run(&mut end)).await;
        let ran = ran.unwrap_or_else(|panicked| Err(panicked.into()));
        if self.asked && end.unheard {
            // Whoever waits for it hears of its end, whatever that was.
            self.parts.store.check_ended(self.spec.id, None);
        }
        if let Err(error) = ran {
            warn!(
                resource = %self.spec.id,
                error = %chain(&error),
                "a check could not be run"
            );
            // As if it had ended just now, so that it is not tried again at once.
            end.facts = Some(CheckFacts {
                last_end: Some(Moment(now().0)),
                failures: self.failures,
                has_versions: true,
                has_pinned_version: true,
            });
        }
        end
    }

    async fn try_run(&self, end: &mut End) -> Result<(), Error> {
        let freshness = match self.asked {
            true => Freshness::FromNow,
            false => Freshness::Shared,
        };
        let began = Moment(now().0);
        match run::run(&self.parts, &self.spec, self.failures, freshness).await? {
            Ran::Ended(ended) => self.note(*ended, end).await,
            Ran::Void => self.look(end).await,
            Ran::AsBuild => {
                self.look(end).await?;
                let facts = end.facts.as_mut();
                // A build that came to no check, because of a fault of ours, say.
                if let Some(facts) = facts.filter(|facts| facts.last_end < Some(began)) {
                    facts.last_end = Some(Moment(now().0));
                }
                Ok(())
            }
            Ran::Away => {
                self.look(end).await?;
                // As if it had ended just now, so that it is not tried again at once.
                if let Some(facts) = &mut end.facts {
                    facts.last_end = Some(Moment(now().0));
                }
                Ok(())
            }
        }
    }

    /// What the store knows by now.
    async fn look(&self, end: &mut End) -> Result<(), Error> {
        if let Some(learnt) = learn(&self.parts.store, self.spec.id).await? {
            end.facts = Some(spec::facts(&learnt));
            end.shown = learnt.shown;
        }
        Ok(())
    }

    async fn note(&self, ended: Ended, end: &mut End) -> Result<(), Error> {
        let Parts { store, policy, .. } = &*self.parts;
        let has_changed = report::is_worth_showing(self.shown, &ended);
        if has_changed {
            let wait = self.spec.interval(policy);
            let wait = wait.map(|interval| policy.wait(interval, ended.last.failures));
            report::show(&self.parts, &self.spec, &ended, wait).await?;
            end.shown = Some(ended.status);
        }
        if self.asked || has_changed {
            let interval = self.spec.interval(policy);
            let next_due = interval.map(|interval| ended.last.ended_at.plus(interval));
            store.note_check(self.spec.id, ended.last, next_due).await?;
            end.unheard = false;
        } else {
            end.unwritten = Some(ended.last);
        }
        let pin = self.spec.pin.as_ref();
        end.facts = Some(CheckFacts {
            last_end: Some(Moment(ended.last.ended_at.0)),
            failures: ended.last.failures,
            has_versions: ended.has_versions,
            has_pinned_version: match pin {
                Some(pin) => store.version_containing(self.spec.id, pin).await?.is_some(),
                None => false,
            },
        });
        Ok(())
    }
}

/// A resource's checks as the store knows them.
pub(crate) async fn learn(
    store: &Store,
    resource: ResourceId,
) -> Result<Option<Checkable>, airside_store::Error> {
    let Some(mut checkable) = store.checkable(resource).await? else {
        return Ok(None);
    };
    look_for_pin(store, &mut checkable).await?;
    Ok(Some(checkable))
}

/// Finds out whether the version that a resource is held to was seen.
pub(crate) async fn look_for_pin(
    store: &Store,
    checkable: &mut Checkable,
) -> Result<(), airside_store::Error> {
    if let Some(pin) = &checkable.pin {
        let seen = store.version_containing(checkable.id, pin).await?;
        checkable.has_pinned_version = seen.is_some();
    }
    Ok(())
}
