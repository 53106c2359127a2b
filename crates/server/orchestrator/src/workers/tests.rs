//! The choice of a step's worker, over runtimes that place nothing.

use std::time::Duration;

use airside_model::VolumeId;
use airside_runtime::{Capabilities, Error, Lack, Listed, Observation, PlacementSpec, Runtime};
use async_trait::async_trait;
use futures::stream::{self, BoxStream};

use super::*;

/// A runtime of which only name and condition count here.
struct Named {
    name: WorkerName,
    condition: watch::Sender<Condition>,
    pulls_images: bool,
}

#[async_trait]
impl Runtime for Named {
    fn worker(&self) -> &WorkerName {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            mounts_volumes: false,
            lost_after: Duration::from_secs(1),
            fence_after: None,
            has_host_image: true,
            pulls_images: self.pulls_images,
        }
    }

    fn condition(&self) -> Option<watch::Receiver<Condition>> {
        Some(self.condition.subscribe())
    }

    async fn place(&self, _: &PlacementSpec) -> Result<Option<String>, Error> {
        unreachable!("nothing is placed here")
    }

    fn observe(&self) -> BoxStream<'static, Observation> {
        stream::empty().boxed()
    }

    async fn destroy(&self, _: &Handle) -> Result<(), Error> {
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, Error> {
        Ok(Vec::new())
    }

    async fn seal(&self, _: &Handle, _: &str, _: &VolumeId) -> Result<(), Error> {
        Ok(())
    }
}

fn in_condition(name: &str, team: &str, tags: &[&str], condition: Condition) -> WorkerEntry {
    WorkerEntry {
        runtime: Arc::new(Named {
            name: WorkerName::new(name),
            condition: watch::Sender::new(condition),
            pulls_images: tags.contains(&"pods"),
        }),
        team: Some(team.to_owned()).filter(|team| !team.is_empty()),
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
    }
}

fn entry(name: &str, team: &str, tags: &[&str]) -> WorkerEntry {
    in_condition(name, team, tags, Condition::default())
}

fn chosen(workers: &Workers, team: &str, tags: &[&str], shapes: &[Shape]) -> String {
    let tags: Vec<String> = tags.iter().map(|&tag| tag.to_owned()).collect();
    let wants = Wants {
        team,
        tags: &tags,
        shapes: shapes.to_vec(),
    };
    match workers.choose(&wants) {
        Ok(entry) => entry.runtime.worker().to_string(),
        Err(NoWorker::Nowhere(words)) => format!("nowhere: {words}"),
        Err(NoWorker::Away(words)) => format!("away: {words}"),
    }
}

fn plain(workers: &Workers, team: &str, tags: &[&str]) -> String {
    chosen(workers, team, tags, &[Shape::Plain])
}

#[tokio::test]
async fn a_teams_target_serves_that_team_alone_and_is_preferred_by_it() {
    let workers = Workers::new(vec![entry("all", "", &[]), entry("ml", "ml", &[])]);
    assert_eq!(plain(&workers, "ml", &[]), "ml");
    assert_eq!(plain(&workers, "main", &[]), "all");
    let only = Workers::new(vec![entry("ml", "ml", &[])]);
    assert!(plain(&only, "main", &[]).starts_with("nowhere: no workers satisfying"));
}

#[tokio::test]
async fn tags_narrow_within_a_teams_targets() {
    let workers = Workers::new(vec![
        entry("all-gpu", "", &["gpu"]),
        entry("ml", "ml", &[]),
        entry("ml-gpu", "ml", &["gpu", "big"]),
    ]);
    assert_eq!(plain(&workers, "ml", &[]), "ml");
    assert_eq!(plain(&workers, "ml", &["gpu"]), "ml-gpu");
    assert_eq!(plain(&workers, "ml", &["gpu", "big"]), "ml-gpu");
    assert_eq!(plain(&workers, "main", &["gpu"]), "all-gpu");
    assert!(plain(&workers, "ml", &["gpu", "other"]).starts_with("nowhere"));
}

#[tokio::test]
async fn an_untagged_step_never_lands_on_a_tagged_target() {
    let workers = Workers::new(vec![
        entry("tagged", "main", &["gpu"]),
        entry("all", "", &[]),
    ]);
    assert_eq!(plain(&workers, "main", &[]), "all");
    workers.set(vec![entry("tagged", "main", &["gpu"])]);
    assert!(plain(&workers, "main", &[]).starts_with("nowhere"));
}

#[tokio::test]
async fn a_stalled_worker_gets_nothing_while_another_fits_and_is_waited_for_otherwise() {
    let stalled = Condition {
        stalled: Some("its API server has not answered for 30 s".to_owned()),
        ..Condition::default()
    };
    let away = in_condition("away", "main", &[], stalled);
    let workers = Workers::new(vec![away.clone(), entry("all", "", &[])]);
    assert_eq!(plain(&workers, "main", &[]), "all");
    workers.set(vec![away]);
    assert_eq!(
        plain(&workers, "main", &[]),
        "away: worker away is stalled: its API server has not answered for 30 s"
    );
}

#[tokio::test]
async fn workers_that_can_run_nothing_say_why() {
    let lacking = Condition {
        lacks: vec![Lack {
            shapes: vec![Shape::Plain],
            why: "its disk is no good".to_owned(),
        }],
        ..Condition::default()
    };
    let local = in_condition("local", "", &[], lacking);
    let workers = Workers::new(vec![local.clone()]);
    assert_eq!(
        workers.obstacle().as_deref(),
        Some("worker local cannot run steps because its disk is no good")
    );
    workers.set(vec![local, entry("cluster", "", &[])]);
    assert_eq!(workers.obstacle(), None);
    assert_eq!(Workers::new(Vec::new()).obstacle(), None);
}

#[tokio::test]
async fn a_shape_that_cannot_run_gets_no_work_there_and_the_step_says_why() {
    let lacks = vec![Lack {
        shapes: vec![Shape::Privileged],
        why: "its namespace forbids it".to_owned(),
    }];
    let lacking = in_condition(
        "strict",
        "main",
        &[],
        Condition {
            lacks,
            ..Condition::default()
        },
    );
    let both = [Shape::Plain, Shape::Privileged];
    let workers = Workers::new(vec![lacking.clone(), entry("all", "", &[])]);
    assert_eq!(plain(&workers, "main", &[]), "strict");
    assert_eq!(chosen(&workers, "main", &[], &both), "all");
    workers.set(vec![lacking]);
    assert_eq!(
        chosen(&workers, "main", &[], &both),
        "nowhere: worker strict cannot run privileged steps because its namespace forbids it"
    );
}

#[tokio::test]
async fn whoever_waits_hears_of_new_workers_and_new_conditions() {
    let workers = Workers::new(Vec::new());
    let mut changes = workers.states().changes();
    changes.mark_unchanged();
    let named = Arc::new(Named {
        name: WorkerName::new("one"),
        condition: watch::Sender::new(Condition::default()),
        pulls_images: false,
    });
    workers.set(vec![WorkerEntry {
        runtime: named.clone(),
        team: None,
        tags: Vec::new(),
    }]);
    changes.changed().await.unwrap();
    changes.mark_unchanged();
    named
        .condition
        .send_modify(|condition| condition.stalled = Some("away".to_owned()));
    changes.changed().await.unwrap();
    assert!(plain(&workers, "main", &[]).starts_with("away"));
}

#[tokio::test]
async fn hostile_machines_that_joined_are_trusted_alone() {
    let configured = vec![
        entry("a", "", &[]),
        entry("b", "", &[]),
        entry("c", "team", &[]),
    ];
    let workers = Workers::new(configured);
    workers.join(entry("d", "", &[]));
    workers.join(entry("e", "", &[]));
    let trust = |name: &str| {
        let entry = workers.get(&WorkerName::new(name)).unwrap();
        workers.trust(&entry)
    };
    assert_eq!(trust("a"), trust("b"));
    let all = [trust("a"), trust("c"), trust("d"), trust("e")];
    let different: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
}

#[tokio::test]
async fn images_are_pulled_by_the_nodes_of_clusters() {
    let workers = Workers::new(vec![
        entry("local", "", &["big"]),
        entry("own", "ann", &["big", "pods"]),
        entry("cluster", "", &["pods"]),
    ]);
    for (team, tag, may, only) in [
        ("main", "big", false, false),
        ("main", "pods", true, true),
        ("ann", "big", true, false),
        ("ann", "pods", true, true),
        ("main", "none", false, false),
    ] {
        let tags = [tag.to_owned()];
        let found = (
            workers.may_pull_images(team, &tags),
            workers.only_nodes_pull(team, &tags),
        );
        assert_eq!(found, (may, only), "{team} {tag}");
    }
}
