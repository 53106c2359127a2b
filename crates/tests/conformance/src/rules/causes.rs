//! Causes: every runtime names the same ones, so that no caller reads messages.

use airside_model::Handle;
use airside_runtime::{AnyRuntime, Cause, Error, Observation, Observed};
use futures::StreamExt;
use tokio::task::JoinHandle;

use crate::{
    Bench, CauseName,
    stand::{is_gone, observed, script, waiting},
    within,
};

/// Begins to watch for the end of a container, and returns its cause once it has come.
fn end_of(runtime: AnyRuntime, handle: &Handle) -> JoinHandle<Cause> {
    let handle = handle.clone();
    tokio::spawn(async move {
        match observed(&runtime, &handle, "the container is gone", is_gone).await {
            Observed::Gone { cause, .. } => cause,
            other => panic!("{other:?}"),
        }
    })
}

/// A runtime refuses a missing image at once, or reports that the container can never run.
pub async fn a_missing_image_is_the_cause(bench: &Bench) {
    let runtime = bench.runtime();
    let mut stand = bench.stand(script("echo never")).await;
    (stand.spec.image, _) = bench.site.missing_image();
    let handle = stand.spec.handle.clone();
    let cause = match runtime.place(&stand.spec).await {
        Err(Error::Refused { cause, .. }) => cause,
        Err(error) => panic!("{error}"),
        Ok(_) => {
            let is_doomed = |observed: &Observed| matches!(observed, Observed::Doomed { .. });
            match observed(&runtime, &handle, "the container is doomed", is_doomed).await {
                Observed::Doomed { cause, .. } => cause,
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(cause, Cause::ImageMissing);
}

pub async fn a_container_that_ends_by_itself_has_exited(bench: &Bench) {
    let runtime = bench.runtime();
    let mut stand = bench.stand(waiting()).await;
    let end = end_of(runtime.clone(), &stand.spec.handle);
    runtime.place(&stand.spec).await.unwrap();
    stand.started().await;
    stand.end().await;
    let cause = end.await.unwrap();
    assert!(
        matches!(
            cause,
            Cause::Exited {
                code: None | Some(0)
            }
        ),
        "{cause:?}"
    );
}

pub async fn a_container_that_is_destroyed_was_removed(bench: &Bench) {
    let runtime = bench.runtime();
    let mut stand = bench.stand(waiting()).await;
    let handle = stand.spec.handle.clone();
    let end = end_of(runtime.clone(), &handle);
    runtime.place(&stand.spec).await.unwrap();
    stand.started().await;
    runtime.destroy(&handle).await.unwrap();
    assert_eq!(end.await.unwrap(), Cause::Removed);
}

/// Begins to watch a container, and returns once it is reported with this cause.
fn report_of(runtime: &AnyRuntime, handle: &Handle, name: CauseName) -> JoinHandle<()> {
    let (mut stream, handle) = (runtime.observe(), handle.clone());
    let is_named = move |observation: &Observation| {
        observation.handle == handle
            && matches!(
                &observation.observed,
                Observed::Pending { cause, .. } | Observed::Doomed { cause, .. }
                    if name.is(cause)
            )
    };
    tokio::spawn(async move {
        while let Some(observation) = stream.next().await {
            if is_named(&observation) {
                return;
            }
        }
        panic!("the observations ended before {name:?}");
    })
}

/// The cause keeps a container from its start: the runtime refuses it, asks for patience, or
/// reports the container so.
async fn arises_before_the_start(bench: &Bench, name: CauseName) {
    if bench.site.cannot_arise(name).is_some() {
        return;
    }
    let runtime = bench.runtime();
    let mut stand = bench.stand(waiting()).await;
    bench.site.provoke(name, &mut stand.spec);
    let report = report_of(&runtime, &stand.spec.handle, name);
    match runtime.place(&stand.spec).await {
        Err(Error::Refused { cause, .. } | Error::Unavailable { cause, .. }) => {
            report.abort();
            assert!(name.is(&cause), "{cause:?} is not {name:?}");
        }
        Ok(_) => within("the cause is reported", report).await.unwrap(),
    }
}

/// The cause ends a container that runs.
async fn arises_at_the_end(bench: &Bench, name: CauseName) {
    if bench.site.cannot_arise(name).is_some() {
        return;
    }
    let runtime = bench.runtime();
    let mut stand = bench.stand(waiting()).await;
    let end = end_of(runtime.clone(), &stand.spec.handle);
    runtime.place(&stand.spec).await.unwrap();
    stand.started().await;
    bench.site.end_by(name, &stand.spec.handle).await;
    let cause = end.await.unwrap();
    assert!(name.is(&cause), "{cause:?} is not {name:?}");
}

pub async fn a_step_without_room_waits_for_it(bench: &Bench) {
    arises_before_the_start(bench, CauseName::NoRoom).await;
}

pub async fn an_image_that_is_refused_is_the_cause(bench: &Bench) {
    arises_before_the_start(bench, CauseName::ImageRefused).await;
}

pub async fn a_container_that_cannot_start_says_so(bench: &Bench) {
    arises_before_the_start(bench, CauseName::CannotStart).await;
}

pub async fn a_pull_is_the_cause_of_a_wait(bench: &Bench) {
    arises_before_the_start(bench, CauseName::Pulling).await;
}

/// The kernel kills the first process, too: nothing is left that could report the end.
pub async fn a_container_without_memory_ran_out_of_it(bench: &Bench) {
    let name = CauseName::OutOfMemory;
    if bench.site.cannot_arise(name).is_some() {
        return;
    }
    let runtime = bench.runtime();
    // The kernel picks the process with the highest score first.
    let script = script("echo 1000 >/proc/1/oom_score_adj; tail /dev/zero");
    let mut stand = bench.stand(script).await;
    stand.spec.limits.memory = Some(48 << 20);
    let end = end_of(runtime.clone(), &stand.spec.handle);
    runtime.place(&stand.spec).await.unwrap();
    let cause = end.await.unwrap();
    assert!(name.is(&cause), "{cause:?} is not {name:?}");
}

pub async fn a_container_that_is_killed_names_the_signal(bench: &Bench) {
    arises_at_the_end(bench, CauseName::Killed).await;
}

pub async fn a_container_that_is_evicted_says_so(bench: &Bench) {
    arises_at_the_end(bench, CauseName::Evicted).await;
}
