//! Builds of a job as rows.

use std::collections::HashMap;

use airside_model::BuildId;
use airside_store::{Build, FirstInput, Micros};
use airside_ui::{JobBuildRow, NewVersion, PageStatus, RowTime, type_icon};

use crate::{
    ApiState,
    error::Result,
    web::{
        PageRequest,
        place::{build_url, shown_time, took},
    },
};

/// Makes the rows. Comments are for those who may see the output.
pub(super) async fn rows(
    state: &ApiState,
    request: &PageRequest,
    builds: Vec<Build>,
    now: Micros,
) -> Result<Vec<JobBuildRow>> {
    let mut news = new_versions(state, &builds).await?;
    let sees_output = request.scope.sees_output()?;
    let rows = builds.into_iter().map(|build| JobBuildRow {
        href: build_url(&build),
        status: PageStatus::from(build.status),
        news: news.remove(&build.id).unwrap_or_default(),
        started: build.started_at.map(|at| shown_time(at, now)),
        waits: waits(&build, now),
        took: took(&build, now),
        comment: if sees_output {
            build.comment
        } else {
            String::new()
        },
        by: build.created_by,
        rerun_of: build.rerun_of.map(|rerun| rerun.name),
        name: build.name,
    });
    Ok(rows.collect())
}

/// Finds the versions that builds were the first to get.
pub(in crate::web) async fn new_versions(
    state: &ApiState,
    builds: &[Build],
) -> Result<HashMap<BuildId, Vec<NewVersion>>> {
    let ids: Vec<_> = builds.iter().map(|build| build.id).collect();
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for first in state.store.first_inputs(&ids).await? {
        let FirstInput { build, .. } = first;
        found.entry(build).or_default().push(NewVersion {
            resource: first.resource_name,
            icon: type_icon(&first.type_),
            version: first.version,
        });
    }
    Ok(found)
}

fn waits(build: &Build, now: Micros) -> RowTime {
    match build.started_at {
        Some(_) => RowTime::None,
        None => RowTime::between(
            Some(build.created_at.seconds()),
            build.ended_at.map(Micros::seconds),
            now.seconds(),
        ),
    }
}
