//! Everything that is done to a pipeline but setting it.

use airside_model::{PipelineId, TeamId};

use crate::{
    Error, InstanceVars, News, Result, ShownChange, Store,
    db::{execute_for, here, query, query_scalar, sql},
    now,
};

/// A pause, or its end, with the user who wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pausing<'a> {
    Pause { by: &'a str },
    Resume,
}

impl<'a> Pausing<'a> {
    pub(super) fn columns(self) -> (bool, Option<&'a str>, Option<i64>) {
        match self {
            Self::Pause { by } => (true, Some(by), Some(now().0)),
            Self::Resume => (false, None, None),
        }
    }
}

impl Store {
    pub async fn set_pipeline_paused(&self, id: PipelineId, pausing: Pausing<'_>) -> Result<()> {
        let (paused, by, at) = pausing.columns();
        query(sql!(
            "UPDATE pipelines SET paused = $1, paused_by = $2, paused_at = $3 WHERE id = $4"
        ))
        .bind(paused)
        .bind(by)
        .bind(at)
        .bind(id.0)
        .execute(&self.write)
        .await?;
        self.announce(match pausing {
            Pausing::Pause { .. } => News::PipelinePaused(id),
            Pausing::Resume => News::PipelineUnpaused(id),
        });
        Ok(())
    }

    /// Shows the pipeline to all visitors, or to its team alone.
    pub async fn set_pipeline_public(&self, id: PipelineId, public: bool) -> Result<()> {
        query(sql!("UPDATE pipelines SET public = $1 WHERE id = $2"))
            .bind(public)
            .bind(id.0)
            .execute(&self.write)
            .await?;
        self.announce(News::PipelineChanged(id));
        Ok(())
    }

    /// Puts the pipeline away: paused, without a configuration, with its builds. Setting it again
    /// brings it back.
    pub async fn archive_pipeline(&self, id: PipelineId) -> Result<()> {
        let (sealed, summary) = self.nothing_configured(id);
        let mut tx = self.write.begin(here!()).await?;
        query(sql!(
            "UPDATE pipelines SET archived = TRUE, paused = TRUE, paused_by = 'automatic-pipeline-archiver',
               paused_at = $3, config = $1, summary = $2, updated_at = $3
             WHERE id = $4"
        ))
        .bind(sealed)
        .bind(summary)
        .bind(now().0)
        .bind(id.0)
        .execute(&mut tx)
        .await?;
        query(sql!(
            "UPDATE jobs SET outline = '{}' WHERE pipeline_id = $1"
        ))
        .bind(id.0)
        .execute(&mut tx)
        .await?;
        query(sql!(
            "UPDATE resources SET outline = '{}' WHERE pipeline_id = $1"
        ))
        .bind(id.0)
        .execute(&mut tx)
        .await?;
        tx.commit().await?;
        self.announce(News::PipelineArchived(id));
        Ok(())
    }

    /// Renames every instance of a name. `false`: there is none. An object that set one of them
    /// does so no more: it has the old name, under which it makes a pipeline anew.
    pub async fn rename_pipelines(&self, team: TeamId, from: &str, to: &str) -> Result<bool> {
        let mut tx = self.write.begin(here!()).await?;
        let taken: i64 = query_scalar(sql!(
            "SELECT count(*) FROM pipelines WHERE team_id = $1 AND name = $2"
        ))
        .bind(team.0)
        .bind(to)
        .fetch_one(&mut tx)
        .await?;
        if taken > 0 && from != to {
            return Err(Error::NameTaken {
                name: to.to_owned(),
            });
        }
        let renamed: Vec<i64> = query_scalar(sql!(
            "UPDATE pipelines SET name = $1 WHERE team_id = $2 AND name = $3 RETURNING id"
        ))
        .bind(to)
        .bind(team.0)
        .bind(from)
        .fetch_all(&mut tx)
        .await?;
        execute_for(
            &mut tx,
            "DELETE FROM pipeline_objects WHERE pipeline_id IN",
            &renamed,
        )
        .await?;
        tx.commit().await?;
        for id in &renamed {
            self.announce(News::PipelineChanged(PipelineId(*id)));
        }
        Ok(!renamed.is_empty())
    }

    /// Puts these pipelines first, in this order; the others keep theirs behind them.
    pub async fn order_pipelines(&self, team: TeamId, names: &[String]) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        query(sql!(
            "UPDATE pipelines SET ordering = ordering + $1 WHERE team_id = $2"
        ))
        .bind(names.len() as i64)
        .bind(team.0)
        .execute(&mut tx)
        .await?;
        for (position, name) in names.iter().enumerate() {
            let moved = query(sql!(
                "UPDATE pipelines SET ordering = $1 WHERE team_id = $2 AND name = $3"
            ))
            .bind(position as i64 + 1)
            .bind(team.0)
            .bind(name)
            .execute(&mut tx)
            .await?;
            if moved == 0 {
                return Err(Error::NoSuchPipeline { name: name.clone() });
            }
        }
        tx.commit().await?;
        self.show(ShownChange::PipelinesOrdered(team));
        Ok(())
    }

    /// Puts the instances of one pipeline's name in this order.
    pub async fn order_instances(
        &self,
        team: TeamId,
        name: &str,
        instances: &[InstanceVars],
    ) -> Result<()> {
        let mut tx = self.write.begin(here!()).await?;
        query(sql!(
            "UPDATE pipelines SET instance_ordering = instance_ordering + $1
             WHERE team_id = $2 AND name = $3"
        ))
        .bind(instances.len() as i64)
        .bind(team.0)
        .bind(name)
        .execute(&mut tx)
        .await?;
        for (position, vars) in instances.iter().enumerate() {
            let moved = query(sql!(
                "UPDATE pipelines SET instance_ordering = $1
                 WHERE team_id = $2 AND name = $3 AND instance_vars = $4"
            ))
            .bind(position as i64 + 1)
            .bind(team.0)
            .bind(name)
            .bind(vars.to_string())
            .execute(&mut tx)
            .await?;
            if moved == 0 {
                let name = format!("{name}/{vars}");
                return Err(Error::NoSuchPipeline { name });
            }
        }
        tx.commit().await?;
        self.show(ShownChange::PipelinesOrdered(team));
        Ok(())
    }
}
