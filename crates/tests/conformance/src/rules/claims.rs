//! The right to run a step: the instance that claimed it first has it, and no other.

use std::process::{Command, Stdio};

use airside_hub::SessionEvent;
use airside_protocol::{Exit, env};

use crate::{
    Bench, programs,
    stand::{Stand, is_gone, observed, waiting},
    within,
};

fn is_refusal(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::Refused { .. })
}

/// Another shim that knows all that the first one was told in its environment.
async fn intruder(bench: &Bench, stand: &Stand) -> std::process::Output {
    let claim = &stand.spec.claim;
    let state = bench.ground.dir.path().join("intruder");
    let mut command = Command::new(programs::shim());
    command
        .env_clear()
        .env(
            env::HUB,
            format!("{}:{}", bench.site.hub_ip(), claim.hub_port),
        )
        .env(env::HUB_PIN, &claim.hub_pin)
        .env(env::HANDLE, stand.spec.handle.as_str())
        .env(env::TOKEN, &claim.token)
        .env(env::STATE, state)
        .stdin(Stdio::null());
    let ended = tokio::task::spawn_blocking(move || command.output());
    within("the other shim gives up", ended)
        .await
        .unwrap()
        .unwrap()
}

pub async fn another_instance_is_refused(bench: &Bench) {
    let mut stand = bench.stand(waiting()).await;
    bench.runtime().place(&stand.spec).await.unwrap();
    stand.started().await;
    let output = intruder(bench, &stand).await;
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("the hub refuses the claim"), "{said}");
    stand.hear("the driver is told", is_refusal).await;
    assert_eq!(stand.end().await, Exit::Stopped, "the first goes on");
}

pub async fn a_revoked_placement_is_never_claimed(bench: &Bench) {
    let mut stand = bench.stand(waiting()).await;
    let handle = stand.spec.handle.clone();
    assert!(bench.ground.store.revoke_unclaimed(&handle).await.unwrap());
    bench.runtime().place(&stand.spec).await.unwrap();
    stand.hear("the driver is told", is_refusal).await;
    observed(
        &bench.runtime(),
        &handle,
        "the refused shim leaves",
        is_gone,
    )
    .await;
    let container = bench
        .ground
        .store
        .container(&handle)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(container.claimed_at, None);
}
