//! One check from its beginning to the end that the loop notes.

use std::sync::Arc;

use airside_check_process::Freshness;
use airside_model::{BuildStatus, ResourceId, chain};
use airside_schedule::{Moment, checks::CheckFacts};
use airside_store::{Checkable, LastCheck, Store, now};
use tracing::warn;

use crate::{
    Parts,
    limit::LanePlace,
    report,
    run::{self, CheckEnd, CheckRan, Error},
    spec::{self, Spec},
};

pub(crate) struct Task {
    pub(crate) parts: Arc<Parts>,
    pub(crate) spec: Spec,
    /// Status that people see now.
    pub(crate) shown: Option<BuildStatus>,
    pub(crate) asked: bool,
    /// Number of checks in a row that failed before it.
    pub(crate) failures: u32,
    pub(crate) place: LanePlace,
}

/// The end of a task.
pub(crate) struct TaskEnd {
    pub(crate) resource: ResourceId,
    pub(crate) place: LanePlace,
    /// Facts from now on; none if nothing changed.
    pub(crate) facts: Option<CheckFacts>,
    /// End of a check that the loop writes later.
    pub(crate) unwritten: Option<LastCheck>,
    /// Status that people see from now on, if that changed.
    pub(crate) shown: Option<BuildStatus>,
    /// True while the store has not announced the end.
    unannounced: bool,
}

impl Task {
    pub(crate) async fn run(self) -> TaskEnd {
        let mut end = TaskEnd {
            resource: self.spec.id,
            place: self.place,
            facts: None,
            unwritten: None,
            shown: None,
            unannounced: true,
        };
        let ran = airside_tasks::caught("check", self.try_run(&mut end)).await;
        let ran = ran.unwrap_or_else(|panicked| Err(panicked.into()));
        if self.asked && end.unannounced {
            // Builds that wait for the check learn of its end, however it ended.
            self.parts.store.check_ended(self.spec.id, None);
        }
        if let Err(error) = ran {
            warn!(
                resource = %self.spec.id,
                error = %chain(&error),
                "check not run"
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

    async fn try_run(&self, end: &mut TaskEnd) -> Result<(), Error> {
        let freshness = if self.asked {
            Freshness::FromNow
        } else {
            Freshness::Shared
        };
        let began = Moment(now().0);
        match run::run(&self.parts, &self.spec, self.failures, freshness).await? {
            CheckRan::Ended(ended) => self.note(*ended, end).await,
            CheckRan::Void => self.read_facts(end).await,
            CheckRan::AsBuild => {
                self.read_facts(end).await?;
                let facts = end.facts.as_mut();
                // A build that ended without a check, for example by a fault of the server.
                if let Some(facts) = facts.filter(|facts| facts.last_end < Some(began)) {
                    facts.last_end = Some(Moment(now().0));
                }
                Ok(())
            }
            CheckRan::Away => {
                self.read_facts(end).await?;
                // As if it had ended just now, so that it is not tried again at once.
                if let Some(facts) = &mut end.facts {
                    facts.last_end = Some(Moment(now().0));
                }
                Ok(())
            }
        }
    }

    /// Reads the facts that the store has by now.
    async fn read_facts(&self, end: &mut TaskEnd) -> Result<(), Error> {
        if let Some(learnt) = learn(&self.parts.store, self.spec.id).await? {
            end.facts = Some(spec::facts(&learnt));
            end.shown = learnt.shown;
        }
        Ok(())
    }

    async fn note(&self, ended: CheckEnd, end: &mut TaskEnd) -> Result<(), Error> {
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
            end.unannounced = false;
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

/// Reads a resource's checks from the store.
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

/// Notes if a check has found the version that a resource is pinned to.
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
