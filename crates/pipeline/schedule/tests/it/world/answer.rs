//! A world in the part of the store.

use airside_model::{JobId, ResourceId, ResourceVersionId};
use airside_schedule::history::{VersionState, WalkSubject};
use airside_schedule::{BuildKey, Carried, History, Order, Question, StoreAnswer};

use super::World;

/// The questions that a view asked the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedQuestions {
    pub(crate) questions: usize,
    pub(crate) rows: usize,
}

impl World {
    /// `page` is the most rows of a walk.
    pub(crate) fn answer(
        &self,
        question: &Question,
        page: usize,
        asked: &mut AskedQuestions,
    ) -> StoreAnswer {
        let answer = self.look_up(question, page);
        asked.questions += 1;
        asked.rows += match &answer {
            StoreAnswer::Versions(rows) => rows.len(),
            StoreAnswer::Builds(rows) => rows.len(),
            _ => 1,
        };
        answer
    }

    fn look_up(&self, question: &Question, page: usize) -> StoreAnswer {
        match question {
            Question::Version(carried) => {
                let Ok(state) = self.version(*carried);
                StoreAnswer::Version(state)
            }
            Question::VersionsDown { resource, from } => {
                let mut rows = self.version_rows(*resource, |order| order <= *from);
                rows.sort_by_key(|(_, state)| std::cmp::Reverse(state.order));
                rows.truncate(page);
                StoreAnswer::Versions(rows)
            }
            Question::VersionsUp { resource, from } => {
                let mut rows = self.version_rows(*resource, |order| order >= *from);
                rows.sort_by_key(|(_, state)| state.order);
                rows.truncate(page);
                StoreAnswer::Versions(rows)
            }
            Question::Containing { resource, pin } => {
                let Ok(found) = self.containing(*resource, pin);
                StoreAnswer::Pinned(found)
            }
            Question::Used {
                job,
                input,
                carried,
            } => {
                let Ok(used) = self.was_used(*job, *input, *carried);
                StoreAnswer::Used(used)
            }
            Question::LastUse { job, resource } => {
                let Ok(last) = self.last_use(*job, *resource);
                StoreAnswer::LastUse(last.map(|last| airside_schedule::Used {
                    order: last.order,
                    pipes: last.pipes.to_vec(),
                }))
            }
            Question::BuildsDown {
                job,
                carrying,
                from,
            } => {
                let mut rows = self.build_rows(*job, *carrying, |key| key <= *from);
                rows.sort();
                rows.reverse();
                rows.truncate(page);
                StoreAnswer::Builds(rows)
            }
            Question::BuildsUp {
                job,
                carrying,
                from,
            } => {
                let mut rows = self.build_rows(*job, *carrying, |key| key >= *from);
                rows.sort();
                rows.truncate(page);
                StoreAnswer::Builds(rows)
            }
        }
    }

    fn version_rows(
        &self,
        resource: ResourceId,
        wanted: impl Fn(Order) -> bool,
    ) -> Vec<(ResourceVersionId, VersionState)> {
        let rows = self.rows(resource).iter();
        let rows = rows.filter(|row| wanted(row.state.order));
        rows.map(|row| (row.id, row.state)).collect()
    }

    fn build_rows(
        &self,
        job: JobId,
        carrying: WalkSubject,
        wanted: impl Fn(BuildKey) -> bool,
    ) -> Vec<(BuildKey, Vec<Carried>)> {
        let builds = self.carrying(job, carrying);
        let builds = builds.filter(|build| wanted(build.key));
        builds
            .map(|build| (build.key, build.carried.clone()))
            .collect()
    }
}
