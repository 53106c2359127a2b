//! Artifacts: what `fly execute` uploads and downloads, as gzipped tars.

use std::io;

use airside_archive::Limits;
use airside_limits::Turn;
use airside_model::{Quota, TeamId, VolumeId, chain};
use airside_store::ArtifactId;
use airside_volumes::{Bytes, Volumes};
use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use futures::TryStreamExt;
use http::{StatusCode, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::Value;
use tokio_util::io::{ReaderStream, StreamReader};
use tracing::{info, warn};

use crate::{
    ApiState, BINARY,
    blocking::Blocking,
    error::{ApiError, Result},
    present,
    scope::RequestScope,
};

/// Largest number of files: more are a mistake, or an attack on the disk.
const MOST_FILES: u64 = 5_000_000;

/// Bytes that the thread that packs may be ahead of the connection.
const AHEAD: usize = 1 << 20;

/// Takes an upload, unpacks it as it comes and seals it.
pub(super) async fn create(
    State(state): State<ApiState>,
    scope: RequestScope,
    body: Body,
) -> Result<Response> {
    let (team, volumes) = (scope.team()?, state.volumes()?);
    let turn = state.transfers.enter(team.id)?;
    let volume = VolumeId(format!("a-{:032x}", rand::random::<u128>()));
    let over = state.store.over_quota(team.id, Quota::Volumes, 1).await?;
    if let Some(over) = over {
        return Err(ApiError::NoRoom(over.to_string()));
    }
    let quota = state.store.quota_room(team.id, Quota::Volumes).await?;
    let artifact = state.store.announce_artifact(team.id, &volume).await?;
    let received = receive(turn, volumes.clone(), volume.clone(), quota, body).await;
    if let Err(error) = received {
        warn!(team = team.name, error = %chain(&error), "upload refused");
        state.store.forget_artifact(artifact.id).await?;
        return Err(error);
    }
    if quota.is_some() {
        let (volumes, id) = (volumes.clone(), volume.clone());
        let size = airside_tasks::blocking("size of an artifact", move || volumes.size(&id)).await;
        // What cannot be measured now is measured by the collector.
        if let Ok(Ok(bytes)) = size {
            let store = &state.store;
            store.note_volume_size(team.id, &volume, bytes).await?;
        }
    }
    info!(
        team = team.name,
        artifact = artifact.id.0,
        "artifact uploaded"
    );
    let shown = Json(present::artifact::artifact(&artifact));
    Ok((StatusCode::CREATED, shown).into_response())
}

/// Takes a stream; `quota` is what the team may still have.
async fn receive(
    turn: Turn<TeamId>,
    volumes: Volumes,
    volume: VolumeId,
    quota: Option<u64>,
    body: Body,
) -> Result<()> {
    let stream = body.into_data_stream().map_err(io::Error::other);
    let input = Blocking::new(StreamReader::new(stream));
    let own = volumes.clone();
    let unpacked = turn.run(move || {
        let limits = Limits {
            bytes: volumes.room()?.min(quota.unwrap_or(u64::MAX)),
            entries: MOST_FILES,
        };
        let receiving = volumes.receive(&volume)?;
        receiving.unpack_gzip(input, &limits)?;
        receiving.commit()
    });
    let unpacked = unpacked
        .await
        .map_err(|_| ApiError::Internal("the upload cannot be taken now"))?;
    unpacked.map_err(|error| match error {
        airside_volumes::Error::Stream {
            source: airside_archive::Error::TooManyBytes { limit },
            ..
        } if quota == Some(limit) => ApiError::NoRoom(format!(
            "the upload cannot be taken: it holds more than {}, which is what the team may still have of its quota \
             of volumes (--team-quota volumes)",
            Bytes(limit)
        )),
        error => refusal(error, &own),
    })
}

/// Returns the refusal that the user who uploads sees.
fn refusal(error: airside_volumes::Error, volumes: &Volumes) -> ApiError {
    use airside_archive::Error as Tree;
    match error {
        airside_volumes::Error::Stream {
            source: Tree::TooManyBytes { limit },
            ..
        } => ApiError::NoRoom(format!(
            "the upload cannot be taken: it holds more than {}, which is what uploads may still fill of the \
             server's disk (--disk-high-watermark {})",
            Bytes(limit),
            volumes.marks().high,
        )),
        airside_volumes::Error::Stream { source, .. } if source.is_disk_full() => {
            let why = match volumes.disk() {
                Ok(disk) => volumes.nearly_full(disk).to_string(),
                Err(_) => chain(&source),
            };
            ApiError::NoRoom(format!("the upload cannot be taken: {why}"))
        }
        airside_volumes::Error::Stream { source, .. } => {
            ApiError::BadRequest(format!("the upload cannot be taken: {}", chain(&source)))
        }
        error @ airside_volumes::Error::NearlyFull { .. } => {
            ApiError::NoRoom(format!("the upload cannot be taken: {}", chain(&error)))
        }
        error => {
            tracing::error!(error = %chain(&error), "upload not stored");
            ApiError::Internal("the upload cannot be stored; the server's log says why")
        }
    }
}

#[derive(Deserialize)]
pub(super) struct ArtifactPath {
    artifact_id: i64,
}

/// Sends an artifact of the team.
pub(super) async fn get(
    State(state): State<ApiState>,
    scope: RequestScope,
    Path(ArtifactPath { artifact_id }): Path<ArtifactPath>,
) -> Result<Response> {
    let team = scope.team()?.id;
    let found = state.store.artifact(team, artifact_id).await?;
    let artifact = found.ok_or(ApiError::NotFound)?;
    let volumes = state.volumes()?.clone();
    if !volumes.exists(&artifact.volume) {
        return Err(ApiError::NotFound);
    }
    let turn = state.transfers.enter(team)?;
    let (ours, theirs) = tokio::io::duplex(AHEAD);
    let out = Blocking::new(ours);
    drop(turn.run(move || {
        let ArtifactId(id) = artifact.id;
        // A client that goes away is none of our business; it sees a cut stream otherwise.
        if let Err(error) = volumes.send_gzip(&artifact.volume, out) {
            info!(artifact = id, error = %chain(&error), "artifact download ended early");
        }
    }));
    let body = Body::from_stream(ReaderStream::with_capacity(theirs, AHEAD / 4));
    Ok(([(CONTENT_TYPE, BINARY)], body).into_response())
}

pub(super) async fn of_build(
    State(state): State<ApiState>,
    scope: RequestScope,
) -> Result<Json<Vec<Value>>> {
    let artifacts = state.store.build_artifacts(scope.build()?.id).await?;
    Ok(Json(
        artifacts.iter().map(present::artifact::artifact).collect(),
    ))
}
