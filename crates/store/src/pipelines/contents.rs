//! Which rows of jobs and resources a new configuration changes. Only those are written, all at once:
//! a pipeline of hundreds of jobs of which one changed costs one row.

use std::collections::HashMap;

use airside_model::PipelineId;

use super::{SaveJob, SaveResource};
use crate::{
    Result,
    db::{Tx, execute_for, insert, query_as, sql},
};

/// A row as it is: its id, whether the configuration has it, and what else may change.
struct Known<T> {
    id: i64,
    active: bool,
    content: T,
}

/// What has to be done so that the table holds what is wanted.
struct Changes<T> {
    /// New, changed or back again, by name.
    put: Vec<(String, T)>,
    /// No longer wanted.
    gone: Vec<i64>,
}

fn changes<T: PartialEq>(
    mut known: HashMap<String, Known<T>>,
    wanted: impl Iterator<Item = (String, T)>,
) -> Changes<T> {
    let mut put = Vec::new();
    for (name, content) in wanted {
        match known.remove(&name) {
            Some(row) if row.active && row.content == content => {}
            _ => put.push((name, content)),
        }
    }
    let gone = known.into_values().filter(|row| row.active);
    Changes {
        put,
        gone: gone.map(|row| row.id).collect(),
    }
}

pub(super) async fn save_jobs(tx: &mut Tx, pipeline: PipelineId, jobs: Vec<SaveJob>) -> Result<()> {
    let rows: Vec<(i64, String, bool, i64, String)> = query_as(sql!(
        "SELECT id, name, active, ordering, outline FROM jobs WHERE pipeline_id = $1"
    ))
    .bind(pipeline.0)
    .fetch_all(&mut *tx)
    .await?;
    let known = rows
        .into_iter()
        .map(|(id, name, active, ordering, outline)| {
            let content = (ordering, outline);
            (
                name,
                Known {
                    id,
                    active,
                    content,
                },
            )
        });
    let wanted = jobs
        .into_iter()
        .zip(0_i64..)
        .map(|(job, ordering)| (job.name, (ordering, job.outline)));
    let Changes { put, gone } = changes(known.collect(), wanted);
    execute_for(tx, "UPDATE jobs SET active = FALSE WHERE id IN", &gone).await?;
    let rows = put.into_iter().map(|(name, (ordering, outline))| {
        [
            pipeline.0.into(),
            name.into(),
            ordering.into(),
            outline.into(),
        ]
    });
    let into = "jobs (pipeline_id, name, ordering, outline, active, paused, build_number)";
    let row = "(?, ?, ?, ?, TRUE, FALSE, 0)";
    let then = "ON CONFLICT (pipeline_id, name) DO UPDATE SET active = TRUE,
        ordering = excluded.ordering, outline = excluded.outline";
    insert(tx, into, row, rows.collect(), then).await
}

pub(super) async fn save_resources(
    tx: &mut Tx,
    pipeline: PipelineId,
    resources: Vec<SaveResource>,
) -> Result<()> {
    let rows: Vec<(i64, String, bool, String, String)> = query_as(sql!(
        "SELECT id, name, active, type, outline FROM resources WHERE pipeline_id = $1"
    ))
    .bind(pipeline.0)
    .fetch_all(&mut *tx)
    .await?;
    let known: HashMap<_, _> = rows
        .into_iter()
        .map(|(id, name, active, type_, outline)| {
            let content = (type_, outline);
            (
                name,
                Known {
                    id,
                    active,
                    content,
                },
            )
        })
        .collect();
    // Versions of one type mean nothing to another.
    let of_another_type = |wanted: &SaveResource| {
        let known = known.get(&wanted.name)?;
        (known.content.0 != wanted.type_).then_some(known.id)
    };
    let over: Vec<i64> = resources.iter().filter_map(of_another_type).collect();
    let wanted = resources
        .into_iter()
        .map(|resource| (resource.name, (resource.type_, resource.outline)));
    let Changes { put, gone } = changes(known, wanted);
    execute_for(
        tx,
        "DELETE FROM resource_versions WHERE resource_id IN",
        &over,
    )
    .await?;
    execute_for(tx, "UPDATE resources SET active = FALSE WHERE id IN", &gone).await?;
    let rows = put.into_iter().map(|(name, (type_, outline))| {
        [pipeline.0.into(), name.into(), type_.into(), outline.into()]
    });
    let into = "resources (pipeline_id, name, type, outline, active)";
    let row = "(?, ?, ?, ?, TRUE)";
    let then = "ON CONFLICT (pipeline_id, name) DO UPDATE SET type = excluded.type, active = TRUE,
        outline = excluded.outline";
    insert(tx, into, row, rows.collect(), then).await
}
