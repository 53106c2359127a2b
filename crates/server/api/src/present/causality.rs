//! Builds and versions that hang together with a version.

use std::collections::{BTreeMap, BTreeSet};

use airside_model::ResourceId;
use airside_store::{Causality, Direction};
use serde_json::{Value, json};

use super::Fields;

/// A node's children, by its id.
type Children = BTreeMap<i64, BTreeSet<i64>>;

fn children_of(children: &Children, id: i64) -> Value {
    json!(children.get(&id).cloned().unwrap_or_default())
}

/// Versions of which nothing leads on are left out, but for those of the resource in question.
pub(crate) fn causality(causality: &Causality, root: ResourceId, direction: Direction) -> Value {
    let (mut of_jobs, mut of_builds, mut of_resources, mut of_versions) = (
        Children::new(),
        Children::new(),
        Children::new(),
        Children::new(),
    );
    let mut reached = BTreeSet::from([root.0]);
    for build in &causality.builds {
        of_jobs.entry(build.job.0).or_default().insert(build.id.0);
    }
    for version in &causality.versions {
        let (id, build) = (version.id.0, version.build.0);
        let is_child = version.is_output == (direction == Direction::Downstream);
        if is_child {
            of_builds.entry(build).or_default().insert(id);
            reached.insert(version.resource.0);
        } else {
            of_versions.entry(id).or_default().insert(build);
        }
    }
    let kept = || {
        let versions = causality.versions.iter();
        versions.filter(|version| reached.contains(&version.resource.0))
    };
    for version in kept() {
        let versions = of_resources.entry(version.resource.0).or_default();
        versions.insert(version.id.0);
    }
    let jobs: BTreeMap<i64, &str> = causality
        .builds
        .iter()
        .map(|build| (build.job.0, build.job_name.as_str()))
        .collect();
    let resources: BTreeMap<i64, &str> = kept()
        .map(|version| (version.resource.0, version.resource_name.as_str()))
        .collect();
    let versions: BTreeMap<i64, _> = kept().map(|version| (version.id.0, version)).collect();
    let jobs = jobs.iter().map(|(id, name)| {
        let named = Fields::default().with("id", *id).with("name", *name);
        named.maybe("build_ids", children_of(&of_jobs, *id)).done()
    });
    let builds = causality.builds.iter().map(|build| {
        Fields::default()
            .with("id", build.id.0)
            .with("name", build.name.as_str())
            .with("job_id", build.job.0)
            .with("status", build.status.as_str())
            .maybe("resource_version_ids", children_of(&of_builds, build.id.0))
            .done()
    });
    let resources = resources.iter().map(|(id, name)| {
        let named = Fields::default().with("id", *id).with("name", *name);
        named
            .maybe("version_ids", children_of(&of_resources, *id))
            .done()
    });
    let versions = versions.values().map(|version| {
        Fields::default()
            .with("id", version.id.0)
            .with("resource_id", version.resource.0)
            .with("version", json!(version.version))
            .maybe("build_ids", children_of(&of_versions, version.id.0))
            .done()
    });
    json!({
        "jobs": jobs.collect::<Vec<_>>(),
        "builds": builds.collect::<Vec<_>>(),
        "resources": resources.collect::<Vec<_>>(),
        "resource_versions": versions.collect::<Vec<_>>(),
    })
}
