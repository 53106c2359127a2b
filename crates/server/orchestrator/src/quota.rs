//! Steps of teams that have quotas: whether one may begin, and whether its outputs may stay.

use airside_model::{Quota, TeamId, VolumeId};
use airside_store::now;

use crate::{
    Orchestrator, Result, StepEnd,
    container_ref::ContainerRef,
    kept::is_in_use,
    output::LogQuota,
    placing::{StepContext, StepPlacement},
};

/// The quotas that a step uses.
const OF_STEPS: [Quota; 3] = [Quota::Logs, Quota::Volumes, Quota::Containers];

impl Orchestrator {
    /// The build's team, if its steps have a quota.
    pub(crate) async fn limited_team(&self, context: &StepContext<'_>) -> Result<Option<TeamId>> {
        let (store, team) = (&self.parts.store, &context.request.labels.team);
        let limited = |quota: &Quota| store.quotas().limit(team, *quota).is_some();
        if !OF_STEPS.iter().any(limited) {
            return Ok(None);
        }
        Ok(store
            .build(context.lease.build)
            .await?
            .map(|build| build.team))
    }

    /// The words for a step that its team may not begin.
    pub(crate) async fn quota_refusal(&self, context: &StepContext<'_>) -> Result<Option<String>> {
        let Some(team) = self.limited_team(context).await? else {
            return Ok(None);
        };
        self.make_room_in_quota(context, team).await?;
        for quota in OF_STEPS {
            let exceeded = self.parts.store.over_quota(team, quota, 1).await?;
            if let Some(exceeded) = exceeded {
                return Ok(Some(exceeded.to_string()));
            }
        }
        Ok(None)
    }

    /// Gives up the containers that the team has kept longest, as long as it may have no other one.
    async fn make_room_in_quota(&self, context: &StepContext<'_>, team: TeamId) -> Result<()> {
        let (store, name) = (&self.parts.store, &context.request.labels.team);
        while store
            .over_quota(team, Quota::Containers, 1)
            .await?
            .is_some()
        {
            let kept = store.kept_containers().await?;
            let guests = &self.parts.guests;
            let oldest = kept.iter().find(|kept| {
                kept.container.labels.team == *name
                    && kept.status.is_finished()
                    && !is_in_use(kept, now())
                    && !guests.is_busy(&kept.container.handle)
            });
            let Some(oldest) = oldest else { return Ok(()) };
            let oldest = ContainerRef::from(&oldest.container);
            oldest.log_decision("kept container given up: its team is at its quota of containers");
            self.doom(vec![oldest]).await?;
        }
        Ok(())
    }

    /// Returns the size to which the build's log may grow by the team's quota.
    pub(crate) async fn log_quota(&self, context: &StepContext<'_>) -> Result<Option<LogQuota>> {
        let Some(team) = self.limited_team(context).await? else {
            return Ok(None);
        };
        let store = &self.parts.store;
        // What the build has printed until now counts from now on.
        let printed = context.log.bytes();
        store.note_log_size(context.lease.build, printed).await?;
        let room = store.quota_room(team, Quota::Logs).await?;
        let name = &context.request.labels.team;
        Ok(room.map(|room| LogQuota {
            build: printed.saturating_add(room),
            words: format!(
                "team `{name}` has used up its quota of logs (--team-quota {name}/logs=…)"
            ),
        }))
    }

    /// Counts the volumes that a step leaves behind. If they are more than the team may have, they
    /// are removed and the step errors.
    pub(crate) async fn weigh_outputs(
        &self,
        context: &StepContext<'_>,
        placement: &StepPlacement,
    ) -> Result<Option<StepEnd>> {
        let Some(team) = self.limited_team(context).await? else {
            return Ok(None);
        };
        let (store, name) = (&self.parts.store, &context.request.labels.team);
        store
            .note_log_size(context.lease.build, context.log.bytes())
            .await?;
        if store.quotas().limit(name, Quota::Volumes).is_none() {
            return Ok(None);
        }
        let outputs = placement.record.outputs.iter();
        let ids: Vec<VolumeId> = outputs
            .map(|(_, transfer)| transfer.volume.clone())
            .collect();
        // Before a crash some may have been counted already.
        let uncounted = store.unmeasured_volumes(&ids).await?.into_iter();
        let sizes = self.sizes(uncounted.map(|(id, _)| id).collect()).await?;
        let all = sizes.iter().map(|(_, bytes)| bytes).sum();
        let Some(exceeded) = store.over_quota(team, Quota::Volumes, all).await? else {
            for (id, bytes) in &sizes {
                store.note_volume_size(team, id, *bytes).await?;
            }
            return Ok(None);
        };
        for (id, _) in sizes {
            let (volumes, volume) = (self.parts.volumes.clone(), id);
            blocking(move || volumes.remove(&volume)).await?;
        }
        Ok(Some(StepEnd::Errored(exceeded.to_string())))
    }

    /// The volumes of these that are there, each with its size.
    async fn sizes(&self, ids: Vec<VolumeId>) -> Result<Vec<(VolumeId, u64)>> {
        let volumes = self.parts.volumes.clone();
        blocking(move || {
            let there = ids.into_iter().filter(|id| volumes.exists(id));
            there
                .map(|id| volumes.size(&id).map(|bytes| (id, bytes)))
                .collect()
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, airside_volumes::Error> + Send + 'static,
) -> Result<T> {
    Ok(airside_tasks::blocking("files of a step's outputs", work).await??)
}
