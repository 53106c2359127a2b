//! Answers that were overtaken.
//!
//! The store is read while the view goes on being notified of changes. An answer that was read
//! before a change was committed, and comes in after the view was notified of it, would put the old
//! state back for good. So a reader takes a [`ChangeTicket`] first, and an answer about something
//! that changed since is not learnt.

use std::collections::HashMap;

use airside_model::{JobId, ResourceId};

use super::{Change, View};
use crate::Question;

/// A point in the sequence of changes that a view was notified of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangeTicket(u64);

/// The fate of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Learnt {
    Yes,
    /// Something changed since the question; begin the resolution anew.
    Overtaken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subject {
    Job(JobId),
    Resource(ResourceId),
}

/// Time at which each job and resource last changed.
#[derive(Debug, Default)]
pub(super) struct Touched {
    now: ChangeTicket,
    last: HashMap<Subject, ChangeTicket>,
}

impl Touched {
    pub(super) fn note(&mut self, change: &Change) {
        let subject = match change {
            Change::VersionSaved { resource, .. }
            | Change::VersionEnabled { resource, .. }
            | Change::VersionGone { resource, .. }
            | Change::ForgetResource(resource) => Subject::Resource(*resource),
            Change::InputsUsed { job, .. }
            | Change::BuildSucceeded { job, .. }
            | Change::ForgetJob(job) => Subject::Job(*job),
        };
        self.now.0 += 1;
        self.last.insert(subject, self.now);
    }

    pub(super) fn is_overtaken(&self, ticket: ChangeTicket, question: &Question) -> bool {
        let subjects = match question {
            Question::Version(carried) => [Some(Subject::Resource(carried.resource)), None],
            Question::VersionsDown { resource, .. }
            | Question::VersionsUp { resource, .. }
            | Question::Containing { resource, .. } => [Some(Subject::Resource(*resource)), None],
            Question::LastUse { job, resource } => {
                [Some(Subject::Job(*job)), Some(Subject::Resource(*resource))]
            }
            Question::Used { job, .. }
            | Question::BuildsDown { job, .. }
            | Question::BuildsUp { job, .. } => [Some(Subject::Job(*job)), None],
        };
        let changed = |subject| self.last.get(&subject).is_some_and(|last| *last > ticket);
        subjects.into_iter().flatten().any(changed)
    }
}

impl View {
    /// Returns a ticket; to be taken before the store is read. As long as it stays the same,
    /// nothing has changed, and a resolver may go on.
    pub fn ticket(&self) -> ChangeTicket {
        self.touched.now
    }
}
