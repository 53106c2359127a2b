//! The jobs that an event affects, on the pipeline of `graph.rs`.

use airside_model::{JobId, ResourceId};
use airside_schedule::{Event, Names};

use crate::graph::{ids, read};

const UNIT_A: JobId = JobId(1);
const UNIT_B: JobId = JobId(2);
const SHIP: JobId = JobId(3);
const CHECK: JobId = JobId(4);
const UNDO: JobId = JobId(5);
const ALL: [JobId; 5] = [UNIT_A, UNIT_B, SHIP, CHECK, UNDO];

#[test]
fn events_and_the_jobs_they_concern() {
    let graph = read(&ids(), &mut Names::default());
    let (repo, bucket, notes) = (ResourceId(1), ResourceId(3), ResourceId(4));
    let finished = |job, succeeded| Event::BuildFinished { job, succeeded };
    let table: &[(Event, &[JobId])] = &[
        // Jobs that get it with `passed` hear of it from the jobs in between.
        (Event::VersionsFound(repo), &[UNIT_A, UNIT_B]),
        (Event::VersionsFound(bucket), &[SHIP, UNDO]),
        (Event::VersionsFound(notes), &[]),
        (Event::CheckEnded(repo), &[UNIT_A, UNIT_B]),
        (Event::VersionsChosen(repo), &[UNIT_A, UNIT_B, SHIP]),
        (Event::VersionsChosen(bucket), &[SHIP, CHECK, UNDO]),
        (finished(UNIT_A, true), &[SHIP]),
        (finished(UNIT_A, false), &[]),
        (finished(UNIT_B, true), &[UNIT_B, SHIP]),
        (finished(UNIT_B, false), &[UNIT_B]),
        (finished(SHIP, true), &[SHIP, CHECK, UNDO]),
        (finished(SHIP, false), &[SHIP, UNDO]),
        (Event::JobAsked(CHECK), &[CHECK]),
        (Event::JobUnpaused(SHIP), &[SHIP]),
        (Event::JobPaused(SHIP), &[UNDO]),
        (Event::InputsDetermined(SHIP), &[UNDO]),
        (Event::JobPaused(UNIT_A), &[]),
        (Event::PipelineSet, &ALL),
        (Event::PipelineUnpaused, &ALL),
        (Event::Sweep, &ALL),
        // A resource of another pipeline.
        (Event::VersionsFound(ResourceId(99)), &[]),
        (Event::JobAsked(JobId(99)), &[]),
        (finished(JobId(99), true), &[]),
    ];
    for (event, expected) in table {
        assert_eq!(graph.affected_jobs(*event), *expected, "{event:?}");
    }
}
