//! The four verbs of a runtime.

use airside_hub::SessionEvent;
use airside_model::{Handle, InstallationId};
use airside_protocol::Exit;
use airside_runtime::AnyRuntime;

use crate::{
    Bench,
    stand::{is_gone, is_started, observed, waiting},
    wait_until,
};

async fn handles(runtime: &AnyRuntime) -> Vec<Handle> {
    runtime
        .list()
        .await
        .unwrap()
        .into_iter()
        .map(|listed| listed.handle)
        .collect()
}

async fn wait_until_unlisted(runtime: &AnyRuntime, handle: &Handle) {
    let unlisted = async || !handles(runtime).await.contains(handle);
    wait_until("it is no longer listed", unlisted).await;
}

pub async fn placing_twice_makes_one(bench: &Bench) {
    let runtime = bench.runtime();
    let mut stand = bench.stand(waiting()).await;
    let uid = runtime.place(&stand.spec).await.unwrap();
    assert_eq!(
        runtime.place(&stand.spec).await.unwrap(),
        uid,
        "adopted at once"
    );
    stand.started().await;
    assert_eq!(
        runtime.place(&stand.spec).await.unwrap(),
        uid,
        "adopted while it runs"
    );

    let listed = runtime.list().await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(
        (&listed[0].handle, &listed[0].uid),
        (&stand.spec.handle, &uid)
    );
    // A second container would have claimed too and been refused, which `end` does not overlook.
    assert_eq!(stand.end().await, Exit::Stopped);
}

pub async fn a_new_runtime_takes_over(bench: &Bench) {
    let mut stand = bench.stand(waiting()).await;
    let handle = stand.spec.handle.clone();
    let uid = bench.runtime().place(&stand.spec).await.unwrap();
    stand.started().await;

    bench.reopen().await;
    let runtime = bench.runtime();
    observed(&runtime, &handle, "the new runtime sees it run", is_started).await;
    assert_eq!(runtime.place(&stand.spec).await.unwrap(), uid, "adopted");
    assert_eq!(handles(&runtime).await, std::slice::from_ref(&handle));
    assert_eq!(stand.end().await, Exit::Stopped);
    observed(&runtime, &handle, "the new runtime sees it go", is_gone).await;
}

pub async fn it_is_seen_to_start_and_to_go(bench: &Bench) {
    let runtime = bench.runtime();
    let mut stand = bench.stand(waiting()).await;
    let handle = stand.spec.handle.clone();
    let other = bench.runtime();
    let gone = tokio::spawn({
        let handle = handle.clone();
        async move {
            observed(
                &other,
                &handle,
                "an observer from before sees it go",
                is_gone,
            )
            .await
        }
    });
    runtime.place(&stand.spec).await.unwrap();
    stand.started().await;
    observed(&runtime, &handle, "it is seen to run", is_started).await;
    stand.end().await;
    gone.await.unwrap();
    // It stays listed until it is destroyed, so that the sweeper finds it.
    assert_eq!(handles(&runtime).await, [handle]);
}

pub async fn destroying_twice_is_fine(bench: &Bench) {
    let runtime = bench.runtime();
    runtime
        .destroy(&Handle::new("s-never-placed"))
        .await
        .unwrap();
    let mut stand = bench.stand(waiting()).await;
    let handle = stand.spec.handle.clone();
    runtime.place(&stand.spec).await.unwrap();
    stand.started().await;
    runtime.destroy(&handle).await.unwrap();
    runtime.destroy(&handle).await.unwrap();
    wait_until_unlisted(&runtime, &handle).await;
    runtime.destroy(&handle).await.unwrap();
}

pub async fn other_installations_are_not_listed(bench: &Bench) {
    let theirs = InstallationId::new(format!("other-{}", hex::encode(rand::random::<[u8; 4]>())));
    let (ours, other) = (
        bench.runtime(),
        bench.site.open(&bench.ground, &theirs).await,
    );
    let mut mine = bench.stand(waiting()).await;
    let foreign = bench.stand_of(&theirs, waiting()).await;
    ours.place(&mine.spec).await.unwrap();
    other.place(&foreign.spec).await.unwrap();
    mine.started().await;
    assert_eq!(handles(&ours).await, [mine.spec.handle.clone()]);
    assert_eq!(
        handles(&other).await,
        std::slice::from_ref(&foreign.spec.handle)
    );
    other.destroy(&foreign.spec.handle).await.unwrap();
    wait_until_unlisted(&other, &foreign.spec.handle).await;
    bench.site.leave(&theirs);
    assert_eq!(handles(&ours).await, [mine.spec.handle.clone()]);
    assert_eq!(mine.end().await, Exit::Stopped);
}

pub async fn labels_are_carried(bench: &Bench) {
    let mut stand = bench.stand(waiting()).await;
    bench.runtime().place(&stand.spec).await.unwrap();
    stand
        .hear("the claim", |event| {
            matches!(event, SessionEvent::Connected)
        })
        .await;
    if let Some(labels) = bench.site.labels(&stand.spec.handle).await {
        let build = stand.spec.labels.build.to_string();
        for (key, value) in [
            ("installation", bench.ground.installation.as_str()),
            ("worker", bench.runtime().worker().as_str()),
            ("team", "main"),
            ("pipeline", "conformance"),
            ("job", "job"),
            ("build", &build),
            ("step", "step"),
            ("kind", "task"),
            ("attempt", "1"),
        ] {
            let found = labels
                .get(&format!("airside.dev/{key}"))
                .map(String::as_str);
            assert_eq!(found, Some(value), "{key} of {labels:?}");
        }
    }
    stand.end().await;
}
