//! The questions that a view asks the store, and the rows that answer them.

use airside_model::{JobId, ResourceId, ResourceVersionId, Version};

use crate::history::{VersionState, WalkSubject};
use crate::{BuildKey, Carried, NameId, Order};

/// Number of rows that answer a walk, unless a view was made with another.
pub const PAGE: usize = 32;

/// One look-up in one index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// One version of a resource: [`StoreAnswer::Version`].
    Version(Carried),
    /// Versions at or below a place, highest first, disabled ones too: [`StoreAnswer::Versions`].
    VersionsDown { resource: ResourceId, from: Order },
    /// Versions at or above a place, lowest first, disabled ones too: [`StoreAnswer::Versions`].
    VersionsUp { resource: ResourceId, from: Order },
    /// The newest version that has all pairs of the pin: [`StoreAnswer::Pinned`].
    Containing { resource: ResourceId, pin: Version },
    /// Asks if a build of the job had the version as this input: [`StoreAnswer::Used`].
    Used {
        job: JobId,
        input: NameId,
        carried: Carried,
    },
    /// The newest of the job's builds that used the resource's highest version:
    /// [`StoreAnswer::LastUse`].
    LastUse { job: JobId, resource: ResourceId },
    /// Succeeded builds that carry this, at or below a key, newest first: [`StoreAnswer::Builds`].
    BuildsDown {
        job: JobId,
        carrying: WalkSubject,
        from: BuildKey,
    },
    /// Succeeded builds that carry this, at or above a key, oldest first: [`StoreAnswer::Builds`].
    BuildsUp {
        job: JobId,
        carrying: WalkSubject,
        from: BuildKey,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAnswer {
    Version(Option<VersionState>),
    Versions(Vec<(ResourceVersionId, VersionState)>),
    Pinned(Option<ResourceVersionId>),
    Used(bool),
    LastUse(Option<Used>),
    /// Each with all it carries, outputs before inputs ([`Carried::of_build`]).
    Builds(Vec<(BuildKey, Vec<Carried>)>),
}

/// The place of a used version and the upstream builds it was used with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    pub order: Order,
    pub pipes: Vec<(JobId, BuildKey)>,
}

/// An answer that a view cannot learn from; the fault is in the store's statement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongAnswer {
    #[error("{question:?} was answered with rows of another kind; look at the statement behind it")]
    Kind { question: Question },
    #[error(
        "{question:?} was answered with rows out of order or out of range; look at its ORDER BY"
    )]
    Order { question: Question },
    #[error("{question:?} was answered with {rows} rows, above the view's page of {page}")]
    TooMany {
        question: Question,
        rows: usize,
        page: usize,
    },
}
