//! The owners of builds, for those who must know who may see them.

use airside_model::{BuildId, PipelineId, TeamId};

use crate::{Result, Store, db::fetch_for};

/// A build and its owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildHome {
    pub build: BuildId,
    pub team: TeamId,
    pub pipeline: Option<PipelineId>,
    /// True if the build's pipeline is exposed.
    pub public: bool,
    /// True if lists of builds have it: not a check that no user asked for.
    pub listed: bool,
}

type HomeRow = (i64, i64, Option<i64>, Option<bool>, bool);

impl Store {
    /// Returns the owners of those of the builds that are there, in no particular order.
    pub async fn build_homes(&self, builds: &[BuildId]) -> Result<Vec<BuildHome>> {
        let ids = builds.iter().map(|build| build.0.into()).collect();
        let head = "SELECT b.id, b.team_id, b.pipeline_id, p.public, b.listed FROM builds b
            LEFT JOIN pipelines p ON p.id = b.pipeline_id
            WHERE b.id > $1 AND p.destroyed IS NOT TRUE AND b.id IN";
        let rows: Vec<HomeRow> = fetch_for(&self.read, head, (-1_i64).into(), ids).await?;
        let homes = rows
            .into_iter()
            .map(|(build, team, pipeline, public, listed)| BuildHome {
                build: BuildId(build),
                team: TeamId(team),
                pipeline: pipeline.map(PipelineId),
                public: public == Some(true),
                listed,
            });
        Ok(homes.collect())
    }
}
