//! The questions about the past that input resolution may ask.
//!
//! Each is about one job or one resource and has one row as its answer, or the next row of a walk
//! in a fixed order. That keeps a pass cheap with a million versions stored: every question has an
//! index that answers it. `docs/decisions/0015-scheduler-view.md` names the index of each question.

use airside_model::{BuildId, JobId, ResourceId, ResourceVersionId, Version};

use crate::NameId;

/// The place of a version among those of its resource (`check_order`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order(pub i64);

impl Order {
    pub const NEWEST: Self = Self(i64::MAX);
}

/// The place of a build among those of its job. A rerun stands right behind its original, so that
/// running an old build again does not make its versions the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildKey {
    pub original: BuildId,
    pub build: BuildId,
}

impl BuildKey {
    pub const NEWEST: Self = Self {
        original: BuildId(i64::MAX),
        build: BuildId(i64::MAX),
    };

    pub fn first_run(build: BuildId) -> Self {
        Self {
            original: build,
            build,
        }
    }

    pub fn rerun(original: BuildId, build: BuildId) -> Self {
        Self { original, build }
    }

    pub fn is_rerun(self) -> bool {
        self.original != self.build
    }
}

/// A version that a build took in or put out.
///
/// A version's id stands for its content within a resource: if a resource changes its source and
/// finds equal content again, it gets its earlier id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Carried {
    pub resource: ResourceId,
    pub version: ResourceVersionId,
}

impl Carried {
    /// All that a build carries, in the order in which it is matched: by resource, and what it put
    /// out before what it took in, as the version it made is the one that passed.
    pub fn of_build(outputs: &[Carried], inputs: &[Carried]) -> Vec<Carried> {
        let mut all: Vec<Carried> = Vec::with_capacity(outputs.len() + inputs.len());
        for carried in outputs.iter().chain(inputs) {
            if !all.contains(carried) {
                all.push(*carried);
            }
        }
        all.sort_by_key(|carried| carried.resource);
        all
    }
}

/// Builds that a walk is about. Only builds count that can vouch for an input, so that a job with
/// many builds that never saw a resource is as quick to walk as one with few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WalkSubject {
    /// Any version of the resource.
    Resource(ResourceId),
    Version(Carried),
}

/// A version that the resource has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionState {
    pub order: Order,
    pub enabled: bool,
}

/// A version with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub order: Order,
    pub version: ResourceVersionId,
}

/// A build that succeeded, with what it carries in the order of [`Carried::of_build`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Succeeded<'a> {
    pub key: BuildKey,
    pub carried: &'a [Carried],
}

/// The build of a job that used the highest version of a resource (the newest of such builds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse<'a> {
    /// The highest version's place.
    pub order: Order,
    /// The upstream builds that the build's inputs came from, one per job: the newest.
    pub pipes: &'a [(JobId, BuildKey)],
}

/// The past of a pipeline. [`crate::View`] is the one for use, with a [`crate::Question`] as its
/// error.
pub trait History {
    type Error;

    /// A version by its id; `None` if the resource, as it is now, has no such version.
    fn version(&self, carried: Carried) -> Result<Option<VersionState>, Self::Error>;

    /// The enabled version with the highest place that is not above `up_to`.
    fn newest_enabled(
        &self,
        resource: ResourceId,
        up_to: Order,
    ) -> Result<Option<Placed>, Self::Error>;

    /// The enabled version with the lowest place above `after`.
    fn next_enabled(
        &self,
        resource: ResourceId,
        after: Order,
    ) -> Result<Option<Placed>, Self::Error>;

    /// The newest version, enabled or not, that has every pair of the pin.
    fn containing(
        &self,
        resource: ResourceId,
        pin: &Version,
    ) -> Result<Option<ResourceVersionId>, Self::Error>;

    /// Returns true if any build of the job had this version as its input of this name.
    fn was_used(&self, job: JobId, input: NameId, carried: Carried) -> Result<bool, Self::Error>;

    /// `None` if no build of the job used any version that the resource has now.
    fn last_use(
        &self,
        job: JobId,
        resource: ResourceId,
    ) -> Result<Option<LastUse<'_>>, Self::Error>;

    /// The newest such succeeded build of the job that is older than `before`.
    fn older_build(
        &self,
        job: JobId,
        carrying: WalkSubject,
        before: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, Self::Error>;

    /// The oldest such succeeded build of the job that is newer than `after`.
    fn newer_build(
        &self,
        job: JobId,
        carrying: WalkSubject,
        after: BuildKey,
    ) -> Result<Option<Succeeded<'_>>, Self::Error>;
}
