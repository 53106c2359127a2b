use airside_model::{BuildId, BuildStatus, Plan, PlanId, PlanNode, plan::CheckPlan};
use serde_json::json;

use super::*;
use crate::{
    BuildFilter, BuildPage, CheckReason, EndedCheck, InstanceVars, NewCheck, News, SavePipeline,
    SaveResource, testing::TestDatabase,
};

crate::on_both_databases!(
    ends_of_checks_are_noted_in_batches,
    the_end_of_a_check_is_news,
    a_new_source_was_never_checked,
    another_image_of_its_type_begins_another_history,
    builds_that_check_are_listed_if_somebody_asked,
    all_but_the_last_check_are_collected,
    images_are_known_by_their_digest,
);

struct Stage {
    store: Store,
    team: TeamId,
    pipeline: PipelineId,
    resource: ResourceId,
    _database: TestDatabase,
}

fn save(team: TeamId, source: &str) -> SavePipeline {
    let resource = |name| json!({"name": name, "type": "mock", "source": {"at": source}});
    SavePipeline {
        team,
        name: "p".to_owned(),
        instance_vars: InstanceVars::default(),
        config: json!({"resources": [resource("a"), resource("b")]}),
        jobs: Vec::new(),
        resources: ["a", "b"]
            .map(|name| SaveResource::named(name, "mock"))
            .into(),
        expected_version: None,
    }
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let saved = store.save_pipeline(save(team, "here")).await.unwrap();
    let pipeline = saved.pipeline.id;
    let resource = store.resource(pipeline, "a").await.unwrap().unwrap().id;
    Stage {
        store,
        team,
        pipeline,
        resource,
        _database: database,
    }
}

fn last(ended_at: i64, failures: u32) -> LastCheck {
    LastCheck {
        scope: VersionScope(0),
        started_at: Micros(ended_at - 1),
        ended_at: Micros(ended_at),
        failures,
    }
}

fn plan() -> Plan {
    Plan::new(PlanId::new("1"), PlanNode::Check(CheckPlan::default()))
}

async fn ends_of_checks_are_noted_in_batches(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let known = store.checkables(stage.pipeline).await.unwrap();
    assert_eq!(known.len(), 2);
    assert!(
        known
            .iter()
            .all(|one| one.last.is_none() && !one.has_versions)
    );
    // One that is gone by now does not keep the others from being noted.
    let gone = ResourceId(987_654);
    let checks = [(stage.resource, last(5, 2)), (gone, last(6, 0))];
    store.note_checks(&checks).await.unwrap();
    store.note_checks(&[]).await.unwrap();
    let known = store.checkable(stage.resource).await.unwrap().unwrap();
    assert_eq!(known.last, Some(last(5, 2)));
    // Also where the clock was set back meanwhile.
    store
        .note_checks(&[(stage.resource, last(3, 0))])
        .await
        .unwrap();
    assert_eq!(
        store.last_check(stage.resource).await.unwrap(),
        Some(last(3, 0))
    );
    assert_eq!(store.checkable(gone).await.unwrap(), None);
}

async fn the_end_of_a_check_is_news(database: TestDatabase) {
    let stage = stage(database).await;
    let mut news = stage.store.news();
    let due = Some(Micros(9));
    let noted = stage
        .store
        .note_check(stage.resource, last(5, 0), due)
        .await;
    noted.unwrap();
    let heard = news.next().await;
    assert!(
        matches!(heard, Ok(News::CheckEnded { resource, next_due, .. })
            if resource == stage.resource && next_due == due),
        "{heard:?}"
    );
}

async fn a_new_source_was_never_checked(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    store
        .note_checks(&[(stage.resource, last(5, 2))])
        .await
        .unwrap();
    store
        .save_pipeline(save(stage.team, "there"))
        .await
        .unwrap();
    assert_eq!(store.last_check(stage.resource).await.unwrap(), None);
    // A check that began before is of the old one.
    store
        .note_checks(&[(stage.resource, last(6, 0))])
        .await
        .unwrap();
    assert_eq!(store.last_check(stage.resource).await.unwrap(), None);
}

async fn another_image_of_its_type_begins_another_history(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let image = |number: &str| Version::from([("v", number)]);
    let from = async |number| {
        let from = store.check_from_image(stage.resource, &image(number)).await;
        from.unwrap().unwrap()
    };
    let first = from("1").await;
    let found = [(image("x"), Vec::new())];
    let saved = store.save_versions(stage.resource, &first, &found).await;
    saved.unwrap();
    assert_eq!(from("1").await.version, Some(image("x")));
    let other = from("2").await;
    assert_eq!(other.version, None);
    assert!(other.scope > first.scope);
    let gone = store
        .check_from_image(ResourceId(987_654), &image("1"))
        .await;
    assert_eq!(gone.unwrap(), None);
}

async fn builds_that_check_are_listed_if_somebody_asked(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let create = async |reason| {
        let check = NewCheck {
            team: stage.team,
            pipeline: stage.pipeline,
            resource: Some(stage.resource),
            plan: &plan(),
            reason,
        };
        store.create_check(check).await.unwrap()
    };
    let asked = create(CheckReason::Asked { by: Some("me") }).await;
    let due = create(CheckReason::Due).await;
    assert_eq!((&*asked.name, asked.is_check), ("check", true));
    assert_eq!(asked.resource_name.as_deref(), Some("a"));
    assert_eq!(asked.created_by.as_deref(), Some("me"));
    let page = BuildPage::default();
    let listed = store.builds(&BuildFilter::default(), page).await.unwrap();
    assert_eq!(listed, [asked]);
    assert_eq!(store.build_plan(due.id).await.unwrap(), Some(plan()));
    let summaries = store.check_summaries(ChecksOf::Everybody).await.unwrap();
    let [(resource, summary)] = summaries.as_slice() else {
        panic!("{summaries:?}");
    };
    assert_eq!(*resource, stage.resource);
    let build = summary.build.unwrap();
    assert_eq!((build.id, build.status), (due.id, BuildStatus::Started));
}

async fn all_but_the_last_check_are_collected(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let ended = async |status, ended_at| {
        let check = EndedCheck {
            team: stage.team,
            pipeline: stage.pipeline,
            resource: stage.resource,
            plan: &plan(),
            status,
            started_at: Micros(1),
            ended_at: Micros(ended_at),
        };
        let build = store.save_check(check).await.unwrap();
        store.log_closed(build).await.unwrap();
        build
    };
    let builds: Vec<BuildId> = [
        ended(BuildStatus::Failed, 10).await,
        ended(BuildStatus::Succeeded, 20).await,
        ended(BuildStatus::Failed, 30).await,
    ]
    .into();
    assert_eq!(store.collect_checks(Micros(15), 10).await.unwrap().len(), 1);
    assert_eq!(
        store.collect_checks(Micros(100), 10).await.unwrap().len(),
        1
    );
    assert_eq!(
        store.collect_checks(Micros(100), 10).await.unwrap().len(),
        0
    );
    assert!(store.build(builds[2]).await.unwrap().is_some());
    let known = store.checkable(stage.resource).await.unwrap().unwrap();
    assert_eq!(known.shown, Some(BuildStatus::Failed));
    let of = ChecksOf::Pipeline(stage.pipeline);
    let summaries = store.check_summaries(of).await.unwrap();
    assert_eq!(summaries[0].1.build.map(|build| build.id), Some(builds[2]));
}

async fn images_are_known_by_their_digest(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, team) = (&stage.store, stage.team);
    let found = ImageCheck {
        version: Some(Version::from([("v", "1")])),
        started_at: Micros(1),
        ended_at: Micros(2),
        succeeded: true,
    };
    store.note_image_check(team, "x", &found).await.unwrap();
    assert_eq!(
        store.image_check(team, "x").await.unwrap(),
        Some(found.clone())
    );
    assert_eq!(store.image_check(team, "y").await.unwrap(), None);
    // What was found before stays known when a later check fails.
    let failed = ImageCheck {
        version: None,
        ended_at: Micros(3),
        succeeded: false,
        ..found.clone()
    };
    store.note_image_check(team, "x", &failed).await.unwrap();
    let known = store.image_check(team, "x").await.unwrap().unwrap();
    assert!(!known.succeeded && known.version.is_some());
    assert_eq!(store.collect_image_checks(Micros(3), 10).await.unwrap(), 0);
    assert_eq!(store.collect_image_checks(Micros(4), 10).await.unwrap(), 1);
    // A type's is forgotten by its name.
    store.note_image_check(team, "x", &found).await.unwrap();
    let own = store.own_image_check(stage.pipeline, "type", (team, "x"));
    own.await.unwrap();
    for (name, removed) in [("other", 0), ("type", 1), ("type", 0)] {
        let cleared = store.clear_type_versions(stage.pipeline, name).await;
        assert_eq!(cleared.unwrap(), removed, "{name}");
    }
    assert_eq!(store.image_check(team, "x").await.unwrap(), None);
}
