//! The known versions and builds, in memory.
//!
//! A view starts empty, learns the answers to its questions, and is notified of changes. It holds
//! numbers only: some 60 bytes for a version, and for a build some 50 plus 16 for each version that
//! it carries.
//!
//! - [`known::KnownRanges`] keeps the ranges of an order in which everything is known;
//! - `versions` is one resource, `builds` one job; `learn` takes answers in, `change` events, and
//!   `ticket` keeps the two from overtaking each other.
//!
//! **Invariant:** inside a known range nothing is missing. Entries outside of it may be there or
//! not.

mod builds;
mod change;
mod known;
mod learn;
mod ticket;
mod versions;

use std::collections::HashMap;

use airside_model::{JobId, ResourceId, ResourceVersionId, Version};

use self::builds::JobView;
pub use self::change::Change;
use self::ticket::Touched;
pub use self::ticket::{ChangeTicket, Learnt};
use self::versions::ResourceView;
use crate::history::{LastUse, Placed, Succeeded, VersionState, WalkSubject};
use crate::{BuildKey, Carried, History, NameId, Order, PAGE, Question};

#[derive(Debug)]
pub struct View {
    page: usize,
    touched: Touched,
    resources: HashMap<ResourceId, ResourceView>,
    jobs: HashMap<JobId, JobView>,
}

impl Default for View {
    fn default() -> Self {
        Self::with_pages_of(PAGE)
    }
}

impl View {
    /// Creates an empty view whose walks are answered with this many rows at a time, one at least.
    pub fn with_pages_of(rows: usize) -> Self {
        Self {
            page: rows.max(1),
            touched: Touched::default(),
            resources: HashMap::new(),
            jobs: HashMap::new(),
        }
    }

    /// The `LIMIT` of a walk's statement. Fewer rows than this mean that there are no more.
    pub fn page(&self) -> usize {
        self.page
    }

    /// Drops what is known of each job with more builds, and each resource with more versions, than
    /// this. It is asked for again when needed. For the owner to call now and then.
    pub fn trim(&mut self, most: usize) {
        self.jobs.retain(|_, job| job.size() <= most);
        self.resources.retain(|_, resource| resource.size() <= most);
    }

    /// Returns the number of versions and builds that are held.
    pub fn size(&self) -> usize {
        let builds: usize = self.jobs.values().map(JobView::size).sum();
        let versions: usize = self.resources.values().map(ResourceView::size).sum();
        builds + versions
    }
}

impl History for View {
    /// The question that the store has to answer first.
    type Error = Question;

    fn version(&self, carried: Carried) -> Result<Option<VersionState>, Question> {
        self.resources
            .get(&carried.resource)
            .and_then(|resource| resource.state(carried.version))
            .ok_or(Question::Version(carried))
    }

    fn newest_enabled(
        &self,
        resource: ResourceId,
        up_to: Order,
    ) -> Result<Option<Placed>, Question> {
        let known = self.resources.get(&resource);
        known
            .map_or(Err(up_to), |known| known.newest_enabled(up_to))
            .map_err(|from| Question::VersionsDown { resource, from })
    }

    fn next_enabled(&self, resource: ResourceId, after: Order) -> Result<Option<Placed>, Question> {
        let from = Order(after.0.saturating_add(1));
        let known = self.resources.get(&resource);
        known
            .map_or(Err(from), |known| known.next_enabled(from))
            .map_err(|from| Question::VersionsUp { resource, from })
    }

    fn containing(
        &self,
        resource: ResourceId,
        pin: &Version,
    ) -> Result<Option<ResourceVersionId>, Question> {
        self.resources
            .get(&resource)
            .and_then(|known| known.containing(pin))
            .ok_or_else(|| Question::Containing {
                resource,
                pin: pin.clone(),
            })
    }

    fn was_used(&self, job: JobId, input: NameId, carried: Carried) -> Result<bool, Question> {
        self.jobs
            .get(&job)
            .and_then(|known| known.was_used(input, carried))
            .ok_or(Question::Used {
                job,
                input,
                carried,
            })
    }

    fn last_use(&self, job: JobId, resource: ResourceId) -> Result<Option<LastUse<'_>>, Question> {
        self.jobs
            .get(&job)
            .and_then(|known| known.last_use(resource))
            .ok_or(Question::LastUse { job, resource })
    }

    fn older_build(
        &self,
        job: JobId,
        carrying: WalkSubject,
        before: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, Question> {
        let known = self.jobs.get(&job);
        known
            .ok_or_else(|| known::before(before))
            .and_then(|known| known.older(carrying, before))
            .map_err(|from| Question::BuildsDown {
                job,
                carrying,
                from,
            })
    }

    fn newer_build(
        &self,
        job: JobId,
        carrying: WalkSubject,
        after: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, Question> {
        let known = self.jobs.get(&job);
        known
            .ok_or_else(|| known::after(after))
            .and_then(|known| known.newer(carrying, after))
            .map_err(|from| Question::BuildsUp {
                job,
                carrying,
                from,
            })
    }
}
