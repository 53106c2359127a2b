//! Builds and versions in columns by their distance from a version.

use std::collections::{BTreeMap, BTreeSet};

use airside_model::{BuildId, BuildStatus, ResourceVersionId};
use airside_store::{Causality, Direction, PipelineSummary, RelatedBuild, RelatedVersion};
use airside_ui::{CausalityColumn, PageStatus, RelatedJob, RelatedNode, version_text};

use crate::web::links::pipeline_url;

/// The most builds of one job in a column.
const MAX_BUILDS: usize = 20;
/// The most versions in a column.
const MAX_VERSIONS: usize = 100;

/// Walks from the version: builds, the versions that those made or used, and so on. Each build and
/// each version stands where it is met first.
pub(super) fn columns(
    causality: &Causality,
    from: ResourceVersionId,
    direction: Direction,
    pipeline: &PipelineSummary,
) -> Vec<CausalityColumn> {
    let leads_to_build = direction == Direction::Upstream;
    let mut builds_of: BTreeMap<_, Vec<BuildId>> = BTreeMap::new();
    let mut versions_of: BTreeMap<_, Vec<&RelatedVersion>> = BTreeMap::new();
    for version in &causality.versions {
        if version.is_output == leads_to_build {
            builds_of.entry(version.id).or_default().push(version.build)
        } else {
            versions_of.entry(version.build).or_default().push(version)
        }
    }
    let all: BTreeMap<_, _> = causality
        .builds
        .iter()
        .map(|build| (build.id, build))
        .collect();
    let (mut met_builds, mut met_versions) = (BTreeSet::new(), BTreeSet::from([from]));
    let mut at = vec![from];
    let mut columns = Vec::new();
    while !at.is_empty() {
        let next = at.iter().filter_map(|version| builds_of.get(version));
        let builds: Vec<_> = next
            .flatten()
            .filter(|build| met_builds.insert(**build))
            .filter_map(|build| all.get(build).copied())
            .collect();
        let next = builds.iter().filter_map(|build| versions_of.get(&build.id));
        let versions: Vec<_> = next
            .flatten()
            .copied()
            .filter(|version| met_versions.insert(version.id))
            .collect();
        if !builds.is_empty() {
            columns.push(CausalityColumn::Builds(by_job(&builds, pipeline)));
        }
        if !versions.is_empty() {
            let shown = versions.iter().take(MAX_VERSIONS);
            let shown = shown.map(|one| version(one, pipeline)).collect();
            columns.push(CausalityColumn::Versions(shown));
        }
        at = versions.iter().map(|version| version.id).collect();
    }
    columns
}

fn by_job(builds: &[&RelatedBuild], pipeline: &PipelineSummary) -> Vec<RelatedJob> {
    let mut jobs: BTreeMap<_, Vec<&RelatedBuild>> = BTreeMap::new();
    for build in builds {
        jobs.entry(build.job).or_default().push(build);
    }
    let shown = jobs.into_values().map(|mut builds| {
        builds.sort_by_key(|build| std::cmp::Reverse(build.id));
        RelatedJob {
            name: builds
                .first()
                .map(|build| build.job_name.clone())
                .unwrap_or_default(),
            more: builds.len().saturating_sub(MAX_BUILDS),
            builds: builds
                .iter()
                .take(MAX_BUILDS)
                .map(|one| build(one, pipeline))
                .collect(),
        }
    });
    shown.collect()
}

fn build(build: &RelatedBuild, pipeline: &PipelineSummary) -> RelatedNode {
    let name = format!("{} #{}", build.job_name, build.name);
    RelatedNode {
        text: format!("#{}", build.name),
        whole: name,
        href: pipeline_url(pipeline, &["jobs", &build.job_name, "builds", &build.name]),
        status: BuildStatus::parse(&build.status).map(PageStatus::from),
    }
}

fn version(version: &RelatedVersion, pipeline: &PipelineSummary) -> RelatedNode {
    let id = version.id.0;
    let resource = pipeline_url(pipeline, &["resources", &version.resource_name]);
    let joint = if resource.contains('?') { '&' } else { '?' };
    RelatedNode {
        text: format!(
            "{} {}",
            version.resource_name,
            version_text(&version.version)
        ),
        whole: version.version.canonical(),
        href: format!("{resource}{joint}to={id}&open={id}#v{id}"),
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use airside_model::{JobId, PipelineId, ResourceId, TeamId, Version};
    use airside_store::{InstanceVars, Micros};

    use super::*;

    fn pipeline() -> PipelineSummary {
        PipelineSummary {
            id: PipelineId(1),
            team: TeamId(1),
            team_name: "main".to_owned(),
            name: "p".to_owned(),
            instance_vars: InstanceVars::default(),
            paused: false,
            paused_by: None,
            paused_at: None,
            public: false,
            archived: false,
            outline: "{}".to_owned(),
            updated_at: Micros(0),
        }
    }

    fn related(build: i64, version: i64, is_output: bool) -> RelatedVersion {
        RelatedVersion {
            id: ResourceVersionId(version),
            version: Version(BTreeMap::from([("n".to_owned(), version.to_string())])),
            resource: ResourceId(1),
            resource_name: "r".to_owned(),
            build: BuildId(build),
            is_output,
        }
    }

    fn a_build(id: i64, job: i64) -> RelatedBuild {
        RelatedBuild {
            id: BuildId(id),
            name: id.to_string(),
            status: "succeeded".to_owned(),
            job: JobId(job),
            job_name: format!("j{job}"),
        }
    }

    fn shape(columns: &[CausalityColumn]) -> Vec<String> {
        let shown = columns.iter().map(|column| match column {
            CausalityColumn::Builds(jobs) => {
                let jobs = jobs.iter();
                let jobs = jobs.map(|job| format!("{}x{}", job.name, job.builds.len() + job.more));
                jobs.collect::<Vec<_>>().join(" ")
            }
            CausalityColumn::Versions(versions) => {
                let versions = versions.iter().map(|version| version.text.as_str());
                versions.collect::<Vec<_>>().join(" ")
            }
        });
        shown.collect()
    }

    #[test]
    fn columns_follow_the_walk_and_meet_everything_once() {
        let causality = Causality {
            builds: vec![a_build(1, 1), a_build(2, 1), a_build(3, 2)],
            // The second job puts out what the first had: a circle.
            versions: vec![
                related(1, 7, false),
                related(2, 7, false),
                related(1, 8, true),
                related(3, 8, false),
                related(3, 7, true),
                related(3, 9, false),
            ],
        };
        let from = ResourceVersionId(7);
        let down = columns(&causality, from, Direction::Downstream, &pipeline());
        assert_eq!(shape(&down), ["j1x2", "r 8", "j2x1"]);
        let up = columns(&causality, from, Direction::Upstream, &pipeline());
        assert_eq!(shape(&up), ["j2x1", "r 8 r 9", "j1x1"]);
        let none = columns(
            &Causality::default(),
            from,
            Direction::Upstream,
            &pipeline(),
        );
        assert_eq!(none.len(), 0);
    }
}
