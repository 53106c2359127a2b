//! Causes: every runtime names the same ones, so that no caller reads messages.

use airside_model::Handle;
use airside_runtime::{AnyRuntime, Cause, Error, Observed};

use crate::{
    Bench,
    stand::{is_gone, observed, script, waiting},
};

/// Begins to watch for the end of a container, and returns its cause once it has come.
fn end_of(runtime: AnyRuntime, handle: &Handle) -> tokio::task::JoinHandle<Cause> {
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
