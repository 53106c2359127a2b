//! One transfer for each volume of a step at a time, and not too many altogether.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use airside_limits::{Transfers, Turn};
use airside_model::{Handle, TeamId, VolumeId};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Transfers of all steps at once; each has a thread.
const OVERALL: usize = 256;

/// Transfers of one team at once: the other half is for other teams.
const PER_TEAM: usize = OVERALL / 2;

/// Transfers of one step at once.
const PER_STEP: usize = 32;

/// Time that an earlier transfer of the same volume has to end once a newer one came.
const YIELD_TIMEOUT: Duration = Duration::from_secs(10);

/// The transfers that are under way.
pub(crate) struct Lanes {
    transfers: Transfers<Handle>,
    teams: Transfers<TeamId>,
    lanes: Mutex<HashMap<(Handle, VolumeId), Weak<Lane>>>,
}

/// The way of one volume of one step.
struct Lane {
    gate: Arc<Semaphore>,
    newest: Mutex<CancellationToken>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            transfers: Transfers::new(OVERALL, PER_STEP),
            teams: Transfers::new(OVERALL, PER_TEAM),
            lanes: Mutex::default(),
        }
    }
}

/// The right to transfer one volume of one step. The thread that transfers holds it until it ends.
pub(crate) struct Lead {
    pub(crate) turn: Turn<Handle>,
    pub(crate) held: HeldLane,
}

/// A volume's lane: it is free for the next transfer when this is dropped.
pub(crate) struct HeldLane {
    _gate: OwnedSemaphorePermit,
    _lane: Arc<Lane>,
    _team: Turn<TeamId>,
}

impl Lanes {
    /// Waits until an earlier transfer of the same volume has ended, which the shim must have given
    /// up, and begins. The token is cancelled when a newer connection transfers that volume. The
    /// error is the reason why it cannot begin now.
    pub(crate) async fn enter(
        &self,
        team: TeamId,
        handle: &Handle,
        volume: &VolumeId,
    ) -> Result<(Lead, CancellationToken), String> {
        let replaced = CancellationToken::new();
        let lane = self.lane(handle, volume);
        std::mem::replace(&mut *lane.newest.lock(), replaced.clone()).cancel();
        let gate = tokio::select! {
            gate = tokio::time::timeout(YIELD_TIMEOUT, lane.gate.clone().acquire_owned()) => gate,
            () = replaced.cancelled() => {
                return Err("a newer connection transfers this volume".to_owned());
            }
        };
        let Ok(Ok(gate)) = gate else {
            return Err("an earlier transfer of this volume has not ended yet".to_owned());
        };
        let is_busy = |busy| format!("the hub is busy: {busy}");
        let of_team = self.teams.enter(team).map_err(is_busy)?;
        let turn = self.transfers.enter(handle.clone()).map_err(is_busy)?;
        let held = HeldLane {
            _gate: gate,
            _lane: lane,
            _team: of_team,
        };
        Ok((Lead { turn, held }, replaced))
    }

    fn lane(&self, handle: &Handle, volume: &VolumeId) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let known = lanes.entry((handle.clone(), volume.clone())).or_default();
        known.upgrade().unwrap_or_else(|| {
            let lane = Arc::new(Lane {
                gate: Arc::new(Semaphore::new(1)),
                newest: Mutex::default(),
            });
            *known = Arc::downgrade(&lane);
            lane
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEAM: TeamId = TeamId(1);

    #[tokio::test]
    async fn hostile_sessions_have_one_transfer_for_each_volume() {
        let lanes = Lanes::default();
        let (handle, volume) = (Handle::new("h"), VolumeId::new("v"));
        let (first, replaced) = lanes.enter(TEAM, &handle, &volume).await.unwrap();
        let second = async {
            let entered = lanes.enter(TEAM, &handle, &volume).await;
            entered.map(|_| ()).unwrap();
        };
        let gives_way = async {
            replaced.cancelled().await;
            drop(first);
        };
        tokio::join!(second, gives_way);
        assert!(
            lanes
                .enter(TEAM, &handle, &VolumeId::new("other"))
                .await
                .is_ok()
        );
        drop(lanes.lane(&handle, &volume));
        assert_eq!(
            lanes.lanes.lock().len(),
            1,
            "the ways of ended transfers go"
        );
    }

    #[tokio::test]
    async fn hostile_steps_leave_threads_to_others() {
        let lanes = Lanes::default();
        let mut held = Vec::new();
        for number in 0..PER_STEP {
            let volume = VolumeId::new(format!("v{number}"));
            held.push(lanes.enter(TEAM, &Handle::new("h"), &volume).await.unwrap());
        }
        let volume = VolumeId::new("one more");
        let refused = lanes.enter(TEAM, &Handle::new("h"), &volume).await;
        assert!(refused.is_err_and(|why| why.contains("busy")));
        assert!(
            lanes
                .enter(TEAM, &Handle::new("other"), &volume)
                .await
                .is_ok()
        );
    }

    #[tokio::test]
    async fn hostile_teams_leave_half_of_the_transfers_to_others() {
        let lanes = Lanes::default();
        let (volume, mut held) = (VolumeId::new("v"), Vec::new());
        let step = |number: usize| Handle::new(format!("h{number}"));
        for number in 0..PER_TEAM {
            held.push(lanes.enter(TEAM, &step(number), &volume).await.unwrap());
        }
        let refused = lanes.enter(TEAM, &step(PER_TEAM), &volume).await;
        assert!(refused.is_err_and(|why| why.contains("busy")));
        let other = TeamId(2);
        for number in PER_TEAM + 1..=OVERALL {
            held.push(lanes.enter(other, &step(number), &volume).await.unwrap());
        }
        held.truncate(PER_TEAM - 1);
        assert!(
            lanes
                .enter(TEAM, &step(0), &VolumeId::new("w"))
                .await
                .is_ok()
        );
    }
}
