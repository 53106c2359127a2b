//! Rows of jobs and resources that a new configuration changes. Only those are written, all at
//! once: a pipeline of hundreds of jobs of which one changed costs one row.

use std::collections::{HashMap, HashSet};

use airside_model::{PipelineId, ResourceId, SaveJob, SaveResource};

use crate::{
    Result,
    db::{Tx, execute_for, insert, query, query_as, query_scalar, sql},
};

/// A row as it is: its id, whether the configuration has it, and what else may change.
struct Known<T> {
    id: i64,
    active: bool,
    content: T,
}

/// The changes that make the table hold the wanted rows.
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

/// Gives rows of either table their new names. A row that is no longer in use makes room.
async fn rename(
    tx: &mut Tx,
    table: Table,
    pipeline: PipelineId,
    names: Vec<(String, String)>,
) -> Result<()> {
    for (old, new) in names {
        let (find, remove, rename) = match table {
            Table::Jobs => (
                sql!("SELECT id FROM jobs WHERE pipeline_id = $1 AND name = $2"),
                sql!("DELETE FROM jobs WHERE pipeline_id = $1 AND name = $2 AND NOT active"),
                sql!(
                    "UPDATE jobs SET name = $2 WHERE id = $1 AND NOT EXISTS
                  (SELECT 1 FROM jobs WHERE pipeline_id = $3 AND name = $2)"
                ),
            ),
            Table::Resources => (
                sql!("SELECT id FROM resources WHERE pipeline_id = $1 AND name = $2"),
                sql!("DELETE FROM resources WHERE pipeline_id = $1 AND name = $2 AND NOT active"),
                sql!(
                    "UPDATE resources SET name = $2 WHERE id = $1 AND NOT EXISTS
                  (SELECT 1 FROM resources WHERE pipeline_id = $3 AND name = $2)"
                ),
            ),
        };
        let row: Option<i64> = query_scalar(find)
            .bind(pipeline.0)
            .bind(&old)
            .fetch_optional(&mut *tx)
            .await?;
        let Some(id) = row else { continue };
        query(remove)
            .bind(pipeline.0)
            .bind(&new)
            .execute(&mut *tx)
            .await?;
        query(rename)
            .bind(id)
            .bind(&new)
            .bind(pipeline.0)
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Table {
    Jobs,
    Resources,
}

/// Old and new names, in an order in which each new one is free when its turn comes: `a` to `b`
/// after `b` to `c`. Names cannot change places.
fn renames<'a>(named: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<(String, String)> {
    let mut left: Vec<(String, String)> = named
        .filter(|(old, new)| !old.is_empty() && old != new)
        .map(|(old, new)| (old.clone(), new.clone()))
        .collect();
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let taken: HashSet<String> = left.iter().map(|(old, _)| old.clone()).collect();
        let (blocked, free): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, new)| taken.contains(new));
        if free.is_empty() {
            break;
        }
        ordered.extend(free);
        left = blocked;
    }
    ordered
}

pub(super) async fn save_jobs(tx: &mut Tx, pipeline: PipelineId, jobs: Vec<SaveJob>) -> Result<()> {
    let names = renames(jobs.iter().map(|job| (&job.old_name, &job.name)));
    rename(tx, Table::Jobs, pipeline, names).await?;
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

/// The part of a resource's row that the configuration determines: type, outline, pin.
type Resource = (String, String, Option<String>);

/// Returns the resources that begin another history: those whose type or source is another one now.
pub(super) async fn save_resources(
    tx: &mut Tx,
    pipeline: PipelineId,
    resources: Vec<SaveResource>,
    other_source: &HashSet<String>,
) -> Result<Vec<ResourceId>> {
    let names = renames(resources.iter().map(|one| (&one.old_name, &one.name)));
    rename(tx, Table::Resources, pipeline, names).await?;
    let known = known_resources(tx, pipeline).await?;
    let begins_anew = |wanted: &SaveResource| {
        let known = known.get(&wanted.name)?;
        let other_type = known.content.0 != wanted.type_;
        (other_type || other_source.contains(&wanted.name)).then_some(known.id)
    };
    let anew: Vec<i64> = resources.iter().filter_map(begins_anew).collect();
    let wanted = resources.into_iter().map(|resource| {
        let pin = resource.pin.map(|pin| pin.canonical());
        (resource.name, (resource.type_, resource.outline, pin))
    });
    let Changes { put, gone } = changes(known, wanted);
    execute_for(
        tx,
        "UPDATE resources SET scope = scope + 1 WHERE id IN",
        &anew,
    )
    .await?;
    execute_for(tx, "UPDATE resources SET active = FALSE WHERE id IN", &gone).await?;
    put_resources(tx, pipeline, put).await?;
    Ok(anew.into_iter().map(ResourceId).collect())
}

async fn known_resources(
    tx: &mut Tx,
    pipeline: PipelineId,
) -> Result<HashMap<String, Known<Resource>>> {
    let rows: Vec<(i64, String, bool, String, String, Option<String>)> = query_as(sql!(
        "SELECT id, name, active, type, outline, CASE WHEN pin_in_config THEN pin END
         FROM resources WHERE pipeline_id = $1"
    ))
    .bind(pipeline.0)
    .fetch_all(tx)
    .await?;
    let known = rows
        .into_iter()
        .map(|(id, name, active, type_, outline, pin)| {
            let content = (type_, outline, pin);
            (
                name,
                Known {
                    id,
                    active,
                    content,
                },
            )
        });
    Ok(known.collect())
}

/// Writes the rows of resources. A pin of the configuration takes the place of a user's, and leaves
/// none behind.
async fn put_resources(
    tx: &mut Tx,
    pipeline: PipelineId,
    put: Vec<(String, Resource)>,
) -> Result<()> {
    let rows = put.into_iter().map(|(name, (type_, outline, pin))| {
        [
            pipeline.0.into(),
            name.into(),
            type_.into(),
            outline.into(),
            pin.is_some().into(),
            pin.into(),
        ]
    });
    let into = "resources (pipeline_id, name, type, outline, pin_in_config, pin, active)";
    let row = "(?, ?, ?, ?, ?, ?, TRUE)";
    let then = "ON CONFLICT (pipeline_id, name) DO UPDATE SET type = excluded.type, active = TRUE,
        outline = excluded.outline, pin_in_config = excluded.pin_in_config,
        pin = CASE WHEN excluded.pin_in_config THEN excluded.pin
          WHEN resources.pin_in_config THEN NULL ELSE resources.pin END,
        pin_comment = CASE
          WHEN excluded.pin_in_config = resources.pin_in_config
            AND coalesce(excluded.pin, resources.pin, '') = coalesce(resources.pin, '')
          THEN resources.pin_comment ELSE '' END";
    insert(tx, into, row, rows.collect(), then).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_move_in_an_order_in_which_they_are_free() {
        let given = [("a", "b"), ("b", "c"), ("", "d"), ("e", "e")];
        let given = given.map(|(old, new)| (old.to_owned(), new.to_owned()));
        let ordered = renames(given.iter().map(|(old, new)| (old, new)));
        let shown: Vec<(&str, &str)> = ordered
            .iter()
            .map(|(old, new)| (old.as_str(), new.as_str()))
            .collect();
        assert_eq!(shown, [("b", "c"), ("a", "b")]);
    }
}
