use airside_model::{BuildId, JobId, SaveJob};
use serde_json::json;

use super::*;
use crate::{NewBuild, Newsstand, Pausing, testing::TestDatabase};

crate::on_both_databases!(
    an_object_sets_a_pipeline_until_it_is_released,
    settings_of_an_object_are_applied_when_they_change,
    what_an_object_sets_is_refused_to_others,
    a_claim_needs_the_version_that_was_looked_at,
    an_object_loses_pipelines_that_are_renamed_or_destroyed,
    a_build_sets_a_pipeline_through_an_object,
);

struct Stage {
    store: Store,
    team: TeamId,
    _database: TestDatabase,
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    Stage {
        store,
        team,
        _database: database,
    }
}

impl Stage {
    fn save(&self, name: &str) -> SavePipeline {
        SavePipeline {
            team: self.team,
            name: name.into(),
            instance_vars: InstanceVars::default(),
            config: json!({}),
            jobs: vec![SaveJob::named("j")],
            resources: Vec::new(),
            expected_version: None,
        }
    }

    async fn claim(&self, id: PipelineId, version: i64, object: PipelineObject) -> Result<()> {
        self.store.claim_pipeline(id, version, &object).await
    }

    async fn set(&self, object: &PipelineObject) -> Saved {
        let claim = PipelineClaim::Object(object);
        let saved = self
            .store
            .save_claimed_pipeline(self.save("p"), None, claim);
        saved.await.unwrap()
    }
}

fn object(generation: i64) -> PipelineObject {
    PipelineObject {
        cluster: "c".into(),
        namespace: "ci-main".into(),
        name: "app".into(),
        uid: "u1".into(),
        generation,
        hash: "h".into(),
        deletion_policy: DeletionPolicy::default(),
        applied_paused: None,
        applied_exposed: None,
    }
}

fn all(news: &mut Newsstand) -> Vec<News> {
    std::iter::from_fn(|| news.waiting())
        .map(|one| one.unwrap())
        .collect()
}

#[test]
fn policies_have_names() {
    for policy in ["Archive", "Destroy", "Keep"] {
        assert_eq!(DeletionPolicy::parse(policy).unwrap().as_str(), policy);
    }
    assert_eq!(DeletionPolicy::parse("archive"), None);
}

async fn an_object_sets_a_pipeline_until_it_is_released(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let first = object(1);
    let saved = stage.set(&first).await;
    let id = saved.pipeline.id;
    assert!(saved.created && saved.pipeline.paused);
    assert_eq!(
        store.pipeline_object(id).await.unwrap(),
        Some(first.clone())
    );
    let head = |name| store.pipeline_head(stage.team, name, &saved.pipeline.instance_vars);
    let expected = PipelineHead {
        id,
        archived: false,
        config_version: saved.pipeline.config_version,
        object: Some(first.clone()),
    };
    assert_eq!(head("p").await.unwrap(), Some(expected));
    assert_eq!(head("q").await.unwrap(), None);

    let second = PipelineObject {
        uid: "u2".into(),
        deletion_policy: DeletionPolicy::Keep,
        ..object(2)
    };
    assert!(!stage.set(&second).await.created);
    let listed = store.pipeline_objects("c", "ci-main").await.unwrap();
    assert_eq!(listed, [(id, second)]);
    assert_eq!(store.pipeline_objects("c", "other").await.unwrap(), []);
    assert_eq!(
        store.places_of_pipeline_objects().await.unwrap(),
        [("c".to_owned(), "ci-main".to_owned())]
    );

    let mut news = store.news();
    assert!(store.release_pipeline(id).await.unwrap());
    assert!(!store.release_pipeline(id).await.unwrap());
    assert_eq!(all(&mut news), [News::PipelineChanged(id)]);
    assert_eq!(store.pipeline_object(id).await.unwrap(), None);
    assert_ne!(store.object_hash(b"a"), store.object_hash(b"b"));
}

async fn settings_of_an_object_are_applied_when_they_change(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let with = |generation, paused, exposed| PipelineObject {
        applied_paused: paused,
        applied_exposed: exposed,
        ..object(generation)
    };
    let saved = stage.set(&with(1, Some(false), Some(true))).await;
    let id = saved.pipeline.id;
    assert!(!saved.pipeline.paused && saved.pipeline.public);

    // A user pauses and hides it, which stays for as long as the object says the same.
    let pause = Pausing::Pause { by: "ann" };
    store.set_pipeline_paused(id, pause).await.unwrap();
    store.set_pipeline_public(id, false).await.unwrap();
    let saved = stage.set(&with(2, Some(false), Some(true))).await;
    assert!(saved.pipeline.paused && !saved.pipeline.public);
    let saved = stage.set(&with(3, None, None)).await;
    assert!(saved.pipeline.paused && !saved.pipeline.public);

    let mut news = store.news();
    let version = saved.pipeline.config_version;
    let claimed = stage.claim(id, version, with(4, Some(false), None));
    claimed.await.unwrap();
    let pipeline = store.pipeline_by_id(id).await.unwrap().unwrap();
    assert!(!pipeline.paused && pipeline.paused_by.is_none());
    assert_eq!(
        all(&mut news),
        [News::PipelineUnpaused(id), News::PipelineChanged(id)]
    );

    let saved = stage.set(&with(5, Some(true), None)).await;
    let pipeline = store.pipeline_by_id(id).await.unwrap().unwrap();
    assert!(saved.pipeline.paused && pipeline.paused);
    assert_eq!(
        pipeline.paused_by.as_deref(),
        Some("kubernetes:ci-main/app")
    );
    assert_eq!(
        all(&mut news),
        [News::PipelineSet(id), News::PipelinePaused(id)]
    );
}

async fn what_an_object_sets_is_refused_to_others(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let saved = stage.set(&object(1)).await;
    let id = saved.pipeline.id;
    let parent = Parent {
        job: JobId(1),
        build: BuildId(1),
    };
    for parent in [None, Some(parent)] {
        let save = stage.save("p");
        let refused = store.save_claimed_pipeline(save, parent, PipelineClaim::Server);
        let error = refused.await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the pipeline is set by pipeline.ci.airside.dev/app in ci-main; change it there"
        );
    }
    let found = store.pipeline_by_id(id).await.unwrap().unwrap();
    assert_eq!(found, saved.pipeline, "nothing changed");

    let claim = PipelineClaim::Release;
    let saved = store.save_claimed_pipeline(stage.save("p"), None, claim);
    assert_eq!(saved.await.unwrap().pipeline.id, id);
    assert_eq!(store.pipeline_object(id).await.unwrap(), None);
    store.save_pipeline(stage.save("p")).await.unwrap();
}

async fn a_claim_needs_the_version_that_was_looked_at(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let old = store.save_pipeline(stage.save("p")).await.unwrap().pipeline;
    let new = store.save_pipeline(stage.save("p")).await.unwrap().pipeline;
    let refused = stage.claim(old.id, old.config_version, object(1));
    assert!(matches!(
        refused.await.unwrap_err(),
        Error::ConfigVersion { current: None }
    ));
    let claimed = stage.claim(old.id, new.config_version, object(1));
    claimed.await.unwrap();
    assert!(store.pipeline_object(old.id).await.unwrap().is_some());
    store.archive_pipeline(old.id).await.unwrap();
    let refused = stage.claim(old.id, new.config_version, object(2));
    refused.await.unwrap_err();
}

async fn an_object_loses_pipelines_that_are_renamed_or_destroyed(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let owner = || store.object_of_any_instance(stage.team, "p");
    let id = stage.set(&object(1)).await.pipeline.id;
    assert_eq!(owner().await.unwrap(), Some(object(1)));
    assert_eq!(
        store.object_of_any_instance(stage.team, "q").await.unwrap(),
        None
    );

    let mut news = store.news();
    assert!(store.rename_pipelines(stage.team, "p", "q").await.unwrap());
    assert_eq!(all(&mut news), [News::PipelineChanged(id)]);
    assert_eq!(store.pipeline_object(id).await.unwrap(), None);

    let again = stage.set(&object(1)).await;
    assert!(again.created);
    store.destroy_pipeline(again.pipeline.id).await.unwrap();
    assert_eq!(owner().await.unwrap(), None);
    assert_eq!(store.pipeline_objects("c", "ci-main").await.unwrap(), []);
}

async fn a_build_sets_a_pipeline_through_an_object(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    let outer = store.save_pipeline(stage.save("outer")).await.unwrap();
    let job = store.jobs(outer.pipeline.id).await.unwrap()[0].id;
    let new = || NewBuild {
        job,
        created_by: None,
    };
    let older = store.create_build(new()).await.unwrap().id;
    let newer = store.create_build(new()).await.unwrap().id;
    let first = object(1);
    let claim = PipelineClaim::Object(&first);
    let set = |build| {
        let parent = Some(Parent { job, build });
        store.save_claimed_pipeline(stage.save("p"), parent, claim)
    };
    let saved = set(newer).await.unwrap();
    assert!(
        !saved.pipeline.paused,
        "as every pipeline that a build sets"
    );
    assert!(matches!(set(older).await, Err(Error::SetByNewerBuild)));
    let id = saved.pipeline.id;
    assert_eq!(
        store.pipeline_object(id).await.unwrap(),
        Some(first.clone())
    );
}
