//! Taking in the store's answers.

use airside_model::ResourceVersionId;

use super::builds::newest_pipes;
use super::known::OrderKey;
use super::{ChangeTicket, Learnt, View};
use crate::history::VersionState;
use crate::question::Used;
use crate::{BuildKey, Carried, Question, StoreAnswer, WrongAnswer};

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Down,
    Up,
}

impl View {
    /// Learns an answer: the question is not asked again until a change makes it open anew. The
    /// ticket was taken before the store was read. Nothing is learnt from a wrong answer.
    pub fn learn(
        &mut self,
        ticket: ChangeTicket,
        question: &Question,
        answer: StoreAnswer,
    ) -> Result<Learnt, WrongAnswer> {
        if self.touched.is_overtaken(ticket, question) {
            return Ok(Learnt::Overtaken);
        }
        match (question, answer) {
            (Question::Version(carried), StoreAnswer::Version(state)) => {
                let resource = self.resources.entry(carried.resource).or_default();
                resource.put(carried.version, state);
            }
            (
                Question::VersionsDown { .. } | Question::VersionsUp { .. },
                StoreAnswer::Versions(rows),
            ) => {
                self.learn_versions(question, &rows)?;
            }
            (Question::Containing { resource, pin }, StoreAnswer::Pinned(version)) => {
                let resource = self.resources.entry(*resource).or_default();
                resource.learn_pin(pin, version);
            }
            (
                Question::Used {
                    job,
                    input,
                    carried,
                },
                StoreAnswer::Used(used),
            ) => {
                let job = self.jobs.entry(*job).or_default();
                job.learn_used(*input, *carried, used);
            }
            (Question::LastUse { job, resource }, StoreAnswer::LastUse(used)) => {
                let used = used.map(|used| Used {
                    pipes: newest_pipes(&used.pipes),
                    ..used
                });
                let job = self.jobs.entry(*job).or_default();
                job.learn_last_use(*resource, used);
            }
            (
                Question::BuildsDown { .. } | Question::BuildsUp { .. },
                StoreAnswer::Builds(rows),
            ) => self.learn_builds(question, rows)?,
            (question, _) => {
                let question = question.clone();
                return Err(WrongAnswer::Kind { question });
            }
        }
        Ok(Learnt::Yes)
    }

    fn learn_versions(
        &mut self,
        question: &Question,
        rows: &[(ResourceVersionId, VersionState)],
    ) -> Result<(), WrongAnswer> {
        let (resource, from, direction) = match question {
            Question::VersionsDown { resource, from } => (*resource, *from, Direction::Down),
            Question::VersionsUp { resource, from } => (*resource, *from, Direction::Up),
            _ => return Ok(()),
        };
        let places: Vec<_> = rows.iter().map(|(_, state)| state.order).collect();
        let (low, high) = self.stretch(question, from, &places, direction)?;
        let known = self.resources.entry(resource).or_default();
        for (version, state) in rows {
            known.put(*version, Some(*state));
        }
        known.learn_stretch(low, high);
        Ok(())
    }

    fn learn_builds(
        &mut self,
        question: &Question,
        rows: Vec<(BuildKey, Vec<Carried>)>,
    ) -> Result<(), WrongAnswer> {
        let (job, carrying, from, direction) = match question {
            Question::BuildsDown {
                job,
                carrying,
                from,
            } => (*job, *carrying, *from, Direction::Down),
            Question::BuildsUp {
                job,
                carrying,
                from,
            } => (*job, *carrying, *from, Direction::Up),
            _ => return Ok(()),
        };
        let keys: Vec<BuildKey> = rows.iter().map(|(key, _)| *key).collect();
        let (low, high) = self.stretch(question, from, &keys, direction)?;
        let known = self.jobs.entry(job).or_default();
        known.learn_stretch(carrying, low, high);
        for (key, carried) in rows {
            known.learn_build(key, carried);
        }
        Ok(())
    }

    /// Returns the places between which everything is known once these rows are: up to the last of
    /// a full page, or to the end of all.
    fn stretch<P: OrderKey>(
        &self,
        question: &Question,
        from: P,
        rows: &[P],
        direction: Direction,
    ) -> Result<(P, P), WrongAnswer> {
        if rows.len() > self.page {
            let question = question.clone();
            return Err(WrongAnswer::TooMany {
                question,
                rows: rows.len(),
                page: self.page,
            });
        }
        let is_sorted = match direction {
            Direction::Down => {
                rows.is_sorted_by(|a, b| a > b) && rows.iter().all(|row| *row <= from)
            }
            Direction::Up => rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|row| *row >= from),
        };
        if !is_sorted {
            let question = question.clone();
            return Err(WrongAnswer::Order { question });
        }
        let last = rows.last().filter(|_| rows.len() == self.page).copied();
        Ok(match direction {
            Direction::Down => (last.unwrap_or(P::LOWEST), from),
            Direction::Up => (from, last.unwrap_or(P::HIGHEST)),
        })
    }
}
