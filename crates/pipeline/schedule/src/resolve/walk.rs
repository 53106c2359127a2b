//! The order in which a search tries the succeeded builds of one upstream job.

use airside_model::{BuildId, JobId, ResourceId};

use crate::history::{Succeeded, WalkSubject};
use crate::{BuildKey, Carried, History};

/// Newest first. With `every`, and where the last build of the job had an upstream build of this
/// job: first the builds after that one, oldest first, then it and the older ones.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    job: JobId,
    resource: ResourceId,
    at: Cursor,
    /// Versions that an older build must carry; empty if nothing is decided yet. The first is
    /// looked up.
    must_carry: Vec<Carried>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Cursor {
    /// Unused builds after `at`; the last used one is `used`.
    Unused { at: BuildKey, used: BuildKey },
    /// Builds before this one.
    Older(BuildKey),
}

/// A build to try, and whether unused ones come after it.
pub(super) struct Step<'h> {
    pub(super) build: Succeeded<'h>,
    pub(super) more: bool,
    /// Position of the walk once this build was tried.
    pub(super) then: Cursor,
}

impl Walk {
    pub(super) fn newest_first(job: JobId, resource: ResourceId, must_carry: Vec<Carried>) -> Self {
        Self {
            job,
            resource,
            at: Cursor::Older(BuildKey::NEWEST),
            must_carry,
        }
    }

    /// Returns a walk that tries the builds after a used one first.
    pub(super) fn unused_first(self, used: BuildKey) -> Self {
        let at = last_of(used);
        Self {
            at: Cursor::Unused { at, used },
            ..self
        }
    }

    pub(super) fn advance(&mut self, to: Cursor) {
        self.at = to;
    }

    /// The next build. Does not move: a question may come between this and what is made of the
    /// build.
    pub(super) fn peek<'h, H: History>(
        &self,
        history: &'h H,
    ) -> Result<Option<Step<'h>>, H::Error> {
        let before = match self.at {
            Cursor::Unused { at, used } => match self.newer(history, at)? {
                Some(build) => return self.unused(history, build, used).map(Some),
                None => just_after(used),
            },
            Cursor::Older(before) => before,
        };
        self.older(history, before)
    }

    fn newer<'h, H: History>(
        &self,
        history: &'h H,
        after: BuildKey,
    ) -> Result<Option<Succeeded<'h>>, H::Error> {
        history.newer_build(self.job, WalkSubject::Resource(self.resource), after)
    }

    fn unused<'h, H: History>(
        &self,
        history: &'h H,
        build: Succeeded<'h>,
        used: BuildKey,
    ) -> Result<Step<'h>, H::Error> {
        let more = self.newer(history, build.key)?.is_some();
        let at = build.key;
        let then = Cursor::Unused { at, used };
        Ok(Step { build, more, then })
    }

    fn older<'h, H: History>(
        &self,
        history: &'h H,
        mut before: BuildKey,
    ) -> Result<Option<Step<'h>>, H::Error> {
        let carrying = match self.must_carry.first() {
            Some(carried) => WalkSubject::Version(*carried),
            None => WalkSubject::Resource(self.resource),
        };
        loop {
            let Some(build) = history.older_build(self.job, carrying, before)? else {
                return Ok(None);
            };
            before = build.key;
            if self
                .must_carry
                .iter()
                .all(|one| build.carried.contains(one))
            {
                return Ok(Some(Step {
                    build,
                    more: false,
                    then: Cursor::Older(build.key),
                }));
            }
        }
    }
}

/// Reruns of a build that was used bring nothing new. Those after a rerun that was used may.
fn last_of(used: BuildKey) -> BuildKey {
    if used.is_rerun() {
        return used;
    }
    BuildKey {
        original: used.original,
        build: BuildId(i64::MAX),
    }
}

/// The key that has exactly this one and the older ones before it.
fn just_after(key: BuildKey) -> BuildKey {
    let build = BuildId(key.build.0.saturating_add(1));
    BuildKey { build, ..key }
}
