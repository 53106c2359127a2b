//! Makes a build of a check that ran without one, for people to see how it went.

use std::time::Duration;

use airside_model::{
    BuildId, BuildStatus, PlanId, chain,
    event::{Event, Origin, Source},
};
use airside_store::{EndedCheck, Micros};
use tracing::warn;

use crate::{
    Parts,
    run::{CheckEnd, Error},
    spec::Spec,
};

/// Returns true if people should see the end: it differs from the status they see now, or reminds
/// them that the check still fails. Showing nothing means that all is well.
pub(crate) fn is_worth_showing(shown: Option<BuildStatus>, ended: &CheckEnd) -> bool {
    shown.unwrap_or(BuildStatus::Succeeded) != ended.status || ended.last.failures.is_power_of_two()
}

/// Writes the build, then its log. After a crash in between the next start closes the log.
pub(crate) async fn show(
    parts: &Parts,
    spec: &Spec,
    ended: &CheckEnd,
    next_in: Option<Duration>,
) -> Result<(), Error> {
    let home = &spec.home;
    let Some(definition) = spec.definition() else {
        return Ok(());
    };
    let id = PlanId::new("1");
    let options = airside_config::CheckOptions::default();
    let planned = airside_config::check_plan(id.clone(), definition, &home.config, options);
    let Ok(plan) = planned else { return Ok(()) };
    let build = parts
        .store
        .save_check(EndedCheck {
            team: home.pipeline.team,
            pipeline: home.pipeline.id,
            resource: spec.id,
            plan: &plan,
            status: ended.status,
            started_at: ended.last.started_at,
            ended_at: ended.last.ended_at,
        })
        .await?;
    let team = &home.pipeline.team_name;
    let worker = parts.ways.worker_name(team, &definition.tags);
    let worker = worker.map_or_else(String::new, |worker| worker.to_string());
    if let Err(error) = write(parts, build, events(&id, spec, ended, worker, next_in)).await {
        warn!(%build, error = %chain(&error), "log of a check not written");
        return Ok(());
    }
    parts.store.log_closed(build).await?;
    Ok(())
}

async fn write(parts: &Parts, build: BuildId, events: Vec<Event>) -> airside_logs::Result<()> {
    let log = parts.logs.writer(build, 0).await?;
    let appended = events.into_iter().enumerate().map(|(number, event)| {
        let log = log.clone();
        async move { log.append(&format!("check/{number}"), 1, event).await }
    });
    // At once, so that they become durable at once.
    futures::future::try_join_all(appended).await?;
    log.close().await
}

/// Returns the events that a build driven by the engine would have.
fn events(
    id: &PlanId,
    spec: &Spec,
    ended: &CheckEnd,
    worker: String,
    next_in: Option<Duration>,
) -> Vec<Event> {
    let (began, over) = (
        Micros::seconds(ended.last.started_at),
        Micros::seconds(ended.last.ended_at),
    );
    let origin = || Origin::step(id);
    let output = |payload: String| Event::Log {
        time: over,
        origin: Origin {
            id: id.clone(),
            source: Some(Source::Stderr),
        },
        payload,
    };
    let mut events = vec![
        Event::Status {
            status: BuildStatus::Started,
            time: began,
        },
        Event::InitializeCheck {
            origin: origin(),
            time: began,
            name: spec.name.clone(),
        },
        Event::SelectedWorker {
            time: began,
            origin: origin(),
            selected_worker: worker,
        },
        Event::Start {
            origin: origin(),
            time: began,
        },
    ];
    if !ended.output.is_empty() {
        events.push(output(ended.output.clone()));
    }
    if let (failures @ 2.., Some(wait)) = (ended.last.failures, next_in) {
        let wait = airside_model::go_duration(Duration::from_secs(wait.as_secs()));
        events.push(output(format!(
            "this check failed {failures} times in a row; the next is in {wait}, unless one is asked for\n"
        )));
    }
    events.push(match &ended.error {
        Some(message) => Event::Error {
            message: message.clone(),
            origin: origin(),
            time: over,
        },
        None => Event::Finish {
            origin: origin(),
            time: over,
            succeeded: ended.status == BuildStatus::Succeeded,
        },
    });
    events.push(Event::Status {
        status: ended.status,
        time: over,
    });
    events
}

#[cfg(test)]
mod tests {
    use airside_store::{LastCheck, VersionScope};

    use super::*;

    #[test]
    fn what_people_know_already_is_not_shown_again() {
        use BuildStatus::{Errored, Failed, Succeeded};
        for (shown, status, failures, worth) in [
            (None, Succeeded, 0, false),
            (Some(Succeeded), Succeeded, 0, false),
            (Some(Failed), Succeeded, 0, true),
            (None, Failed, 1, true),
            (Some(Failed), Failed, 3, false),
            (Some(Failed), Failed, 4, true),
            (Some(Failed), Errored, 3, true),
        ] {
            let ended = CheckEnd {
                last: LastCheck {
                    scope: VersionScope(0),
                    started_at: Micros(0),
                    ended_at: Micros(0),
                    failures,
                },
                status,
                has_versions: false,
                output: String::new(),
                error: None,
            };
            let found = is_worth_showing(shown, &ended);
            assert_eq!(found, worth, "{shown:?} {status} {failures}");
        }
    }
}
