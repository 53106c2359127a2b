use airside_model::{MetadataField, ResourceId, ResourceVersionId, Version};
use serde_json::json;

use super::*;
use crate::{
    InstanceVars, News, SaveJob, SavePipeline, SaveResource, Store, testing::TestDatabase,
};

crate::on_both_databases!(
    a_check_that_finds_what_is_known_writes_nothing,
    what_is_found_again_with_something_new_moves_to_the_end,
    what_stands_at_the_end_stays_there,
    many_versions_are_saved_at_once,
    another_source_begins_another_history_and_ids_stay,
    pins_name_whole_versions_or_parts_of_them,
    resources_are_pinned_and_unpinned,
    a_pin_of_the_configuration_wins,
    versions_are_listed_in_pages_and_by_their_pairs,
    versions_are_disabled_and_cleared,
    renamed_jobs_and_resources_keep_their_rows,
);

pub(crate) struct Stage {
    pub(crate) store: Store,
    pub(crate) resource: ResourceId,
    _database: TestDatabase,
}

fn v(number: i64) -> Version {
    Version::from([("v", number.to_string())])
}

fn found(numbers: &[i64]) -> Vec<(Version, Vec<MetadataField>)> {
    numbers
        .iter()
        .map(|number| (v(*number), Vec::new()))
        .collect()
}

fn save(store_team: airside_model::TeamId, source: &str, pin: Option<Version>) -> SavePipeline {
    SavePipeline {
        team: store_team,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({"resources": [{"name": "r", "type": "mock", "source": {"at": source}}]}),
        jobs: vec![SaveJob::named("j")],
        resources: vec![SaveResource::named("r", "mock").pinned(pin)],
        expected_version: None,
    }
}

async fn stage(database: TestDatabase) -> Stage {
    let store = database.open().await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let saved = store.save_pipeline(save(team, "here", None)).await.unwrap();
    let resource = store
        .resource(saved.pipeline.id, "r")
        .await
        .unwrap()
        .unwrap();
    Stage {
        resource: resource.id,
        store,
        _database: database,
    }
}

impl Stage {
    async fn check(&self, versions: &[(Version, Vec<MetadataField>)]) -> SavedVersions {
        let from = self.store.check_from(self.resource).await.unwrap().unwrap();
        let saved = self
            .store
            .save_versions(self.resource, &from, versions)
            .await;
        saved.unwrap()
    }

    async fn check_numbers(&self, numbers: &[i64]) -> SavedVersions {
        self.check(&found(numbers)).await
    }

    async fn set(&self, source: &str, pin: Option<Version>) {
        let team = self.store.ensure_main_team(&json!({})).await.unwrap().id;
        let save = save(team, source, pin);
        self.store.save_pipeline(save).await.unwrap();
    }

    /// All versions, oldest first, as numbers.
    async fn order(&self) -> Vec<String> {
        let page = VersionPage {
            limit: 100,
            ..VersionPage::default()
        };
        let all = Version::default();
        let listed = self
            .store
            .versions(self.resource, &all, page)
            .await
            .unwrap();
        let texts = listed.iter().rev();
        texts
            .map(|version| version.version.0.values().next().unwrap().clone())
            .collect()
    }

    async fn id(&self, version: &Version) -> Option<ResourceVersionId> {
        let found = self.store.version_containing(self.resource, version).await;
        found.unwrap()
    }
}

async fn a_check_that_finds_what_is_known_writes_nothing(database: TestDatabase) {
    let stage = stage(database).await;
    assert!(
        matches!(stage.check_numbers(&[1, 2]).await, SavedVersions::Saved(two) if two.len() == 2)
    );
    let mut news = stage.store.news();
    assert_eq!(stage.check_numbers(&[2]).await, SavedVersions::NothingNew);
    assert_eq!(
        stage.check_numbers(&[2, 1]).await,
        SavedVersions::NothingNew
    );
    assert_eq!(stage.check_numbers(&[]).await, SavedVersions::NothingNew);
    assert_eq!(stage.order().await, ["1", "2"]);
    assert_eq!(news.waiting(), None);
    let from = stage
        .store
        .check_from(stage.resource)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(from.version, Some(v(2)));
    assert_eq!(stage.store.check_from(ResourceId(99)).await.unwrap(), None);
}

async fn what_is_found_again_with_something_new_moves_to_the_end(database: TestDatabase) {
    let stage = stage(database).await;
    stage.check_numbers(&[1, 2, 3]).await;
    let (one, two) = (stage.id(&v(1)).await, stage.id(&v(2)).await);
    let mut news = stage.store.news();
    let SavedVersions::Saved(moved) = stage.check_numbers(&[2, 1, 4]).await else {
        panic!("there is a new one");
    };
    assert_eq!(stage.order().await, ["3", "2", "1", "4"]);
    assert_eq!((stage.id(&v(1)).await, stage.id(&v(2)).await), (one, two));
    let ids: Vec<_> = moved.iter().map(|place| Some(place.version)).collect();
    assert_eq!(ids, [two, one, stage.id(&v(4)).await]);
    let told = news.waiting().unwrap().unwrap();
    let News::VersionsSaved { versions, .. } = told else {
        panic!("told {told:?}");
    };
    assert_eq!(versions, moved);
    // A version twice in an answer counts where it comes last.
    stage.check_numbers(&[5, 1, 5]).await;
    assert_eq!(stage.order().await, ["3", "2", "4", "1", "5"]);
}

async fn what_stands_at_the_end_stays_there(database: TestDatabase) {
    let stage = stage(database).await;
    stage.check_numbers(&[1, 2, 3]).await;
    for (given, moved) in [
        (vec![3, 4], 1),
        (vec![3, 4, 5, 6], 2),
        (vec![5, 6, 7], 1),
        (vec![1, 8], 2),
    ] {
        let SavedVersions::Saved(places) = stage.check_numbers(&given).await else {
            panic!("{given:?} has new ones");
        };
        assert_eq!(places.len(), moved, "{given:?}");
    }
    assert_eq!(
        stage.order().await,
        ["2", "3", "4", "5", "6", "7", "1", "8"]
    );
}

async fn many_versions_are_saved_at_once(database: TestDatabase) {
    let stage = stage(database).await;
    let many: Vec<i64> = (0..3000).collect();
    assert!(
        matches!(stage.check_numbers(&many).await, SavedVersions::Saved(all) if all.len() == 3000)
    );
    assert_eq!(stage.check_numbers(&many).await, SavedVersions::NothingNew);
    let newest = stage.store.latest_version(stage.resource).await.unwrap();
    assert_eq!(newest.unwrap().1, v(2999));
}

async fn another_source_begins_another_history_and_ids_stay(database: TestDatabase) {
    let stage = stage(database).await;
    stage.check_numbers(&[1, 2]).await;
    let two = stage.id(&v(2)).await;
    let before = stage
        .store
        .check_from(stage.resource)
        .await
        .unwrap()
        .unwrap();
    stage.set("here", None).await;
    assert_eq!(stage.order().await, ["1", "2"]);

    let mut news = stage.store.news();
    stage.set("elsewhere", None).await;
    assert_eq!(
        news.waiting(),
        Some(Ok(News::HistoryChanged(stage.resource)))
    );
    assert_eq!(stage.order().await, [""; 0]);
    assert_eq!(stage.id(&v(2)).await, None);
    // What a check of the old source finds after all is of no use.
    let late = stage
        .store
        .save_versions(stage.resource, &before, &found(&[3]))
        .await;
    assert_eq!(late.unwrap(), SavedVersions::Outdated);
    stage.check_numbers(&[2]).await;
    assert_eq!(stage.id(&v(2)).await, two);
    assert_eq!(stage.order().await, ["2"]);
    assert_eq!(stage.store.collect_versions(10).await.unwrap(), 1);
    assert_eq!(stage.order().await, ["2"]);
}

async fn pins_name_whole_versions_or_parts_of_them(database: TestDatabase) {
    let stage = stage(database).await;
    let version = |a: &str, b: &str| Version::from([("a", a), ("b", b)]);
    let all = [
        version("1", "x"),
        version("2", "x"),
        Version::from([("a", "1")]),
        version("1", "y"),
    ];
    let with_nothing: Vec<_> = all.iter().map(|one| (one.clone(), vec![])).collect();
    stage.check(&with_nothing).await;
    let mut ids = Vec::new();
    for version in &all {
        ids.push(stage.id(version).await);
    }
    assert!(ids.iter().all(Option::is_some));
    assert_eq!(stage.id(&Version::from([("b", "x")])).await, ids[1]);
    // The newest that fits: one of two pairs is newer than the one that is just this pair.
    assert_eq!(stage.id(&Version::from([("a", "1")])).await, ids[3]);
    assert_eq!(stage.id(&version("2", "y")).await, None);
    assert_eq!(stage.id(&Version::default()).await, ids[3]);
}

async fn resources_are_pinned_and_unpinned(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, resource) = (&stage.store, stage.resource);
    stage.check_numbers(&[1, 2]).await;
    let one = stage.id(&v(1)).await.unwrap();
    let nothing = store.pin_version(resource, ResourceVersionId(99)).await;
    assert_eq!(nothing.unwrap(), PinOutcome::NoSuchVersion);
    assert_eq!(store.unpin(resource).await.unwrap(), PinOutcome::NotPinned);
    assert!(!store.set_pin_comment(resource, "why").await.unwrap());

    assert_eq!(
        store.pin_version(resource, one).await.unwrap(),
        PinOutcome::Changed
    );
    assert!(store.set_pin_comment(resource, "why").await.unwrap());
    let pin = store.resource_by_id(resource).await.unwrap().unwrap().pin;
    let expected = Pin {
        version: v(1),
        in_config: false,
        comment: "why".into(),
    };
    assert_eq!(pin, Some(expected));
    let from = store.check_from(resource).await.unwrap().unwrap();
    assert_eq!(from.version, Some(v(1)));
    // Setting the pipeline again leaves the pin alone.
    stage.set("here", None).await;
    let pin = store.resource_by_id(resource).await.unwrap().unwrap().pin;
    assert_eq!(pin.unwrap().comment, "why");
    assert_eq!(store.unpin(resource).await.unwrap(), PinOutcome::Changed);
    assert_eq!(
        store.resource_by_id(resource).await.unwrap().unwrap().pin,
        None
    );
}

async fn a_pin_of_the_configuration_wins(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, resource) = (&stage.store, stage.resource);
    stage.check_numbers(&[1, 2]).await;
    let one = stage.id(&v(1)).await.unwrap();
    assert_eq!(
        store.pin_version(resource, one).await.unwrap(),
        PinOutcome::Changed
    );
    store.set_pin_comment(resource, "mine").await.unwrap();
    stage.set("here", Some(v(2))).await;
    let pin = store.resource_by_id(resource).await.unwrap().unwrap().pin;
    let pin = pin.unwrap();
    assert_eq!(
        (pin.version, pin.in_config, pin.comment.as_str()),
        (v(2), true, "")
    );
    let refused = store.pin_version(resource, one).await.unwrap();
    assert_eq!(refused, PinOutcome::InConfig);
    assert_eq!(store.unpin(resource).await.unwrap(), PinOutcome::InConfig);
    stage.set("here", None).await;
    assert_eq!(
        store.resource_by_id(resource).await.unwrap().unwrap().pin,
        None
    );
}

async fn versions_are_listed_in_pages_and_by_their_pairs(database: TestDatabase) {
    let stage = stage(database).await;
    let versions = (1..=9).map(|number: i64| {
        let odd = (number % 2 == 1).to_string();
        (
            Version::from([("n", number.to_string()), ("odd", odd)]),
            vec![],
        )
    });
    stage.check(&versions.collect::<Vec<_>>()).await;
    let id = |number: i64| {
        let version = Version::from([("n", number.to_string())]);
        async { stage.id(&{ version }).await }
    };
    let list = |filter: Version, from: Option<i64>, to: Option<i64>| {
        let (store, resource) = (&stage.store, stage.resource);
        let id = &id;
        async move {
            let page = VersionPage {
                limit: 3,
                from: match from {
                    Some(number) => id(number).await,
                    None => None,
                },
                to: match to {
                    Some(number) => id(number).await,
                    None => None,
                },
            };
            let listed = store.versions(resource, &filter, page).await.unwrap();
            let numbers = listed.iter().map(|version| version.version.0["n"].clone());
            numbers.collect::<Vec<_>>()
        }
    };
    let none = Version::default();
    let odd = Version::from([("odd", "true")]);
    assert_eq!(list(none.clone(), None, None).await, ["9", "8", "7"]);
    assert_eq!(list(none.clone(), None, Some(5)).await, ["5", "4", "3"]);
    assert_eq!(list(none.clone(), Some(5), None).await, ["7", "6", "5"]);
    assert_eq!(list(odd.clone(), None, None).await, ["9", "7", "5"]);
    assert_eq!(list(odd.clone(), None, Some(6)).await, ["5", "3", "1"]);
    assert_eq!(list(odd.clone(), Some(4), None).await, ["9", "7", "5"]);
    let both = Version::from([("n", "3"), ("odd", "true")]);
    assert_eq!(list(both, None, None).await, ["3"]);
    let neither = Version::from([("n", "4"), ("odd", "true")]);
    assert_eq!(list(neither, None, None).await, [""; 0]);
    let places = stage
        .store
        .versions_down(stage.resource, i64::MAX, 100)
        .await
        .unwrap();
    let beyond = stage
        .store
        .versions_beyond(stage.resource, places[1].order, places[7].order);
    let beyond = beyond.await.unwrap();
    assert_eq!(beyond, (Some(places[0].version), Some(places[8].version)));
}

async fn versions_are_disabled_and_cleared(database: TestDatabase) {
    let stage = stage(database).await;
    let (store, resource) = (&stage.store, stage.resource);
    stage.check_numbers(&[1, 2]).await;
    let two = stage.id(&v(2)).await.unwrap();
    assert!(store.enable_version(resource, two, false).await.unwrap());
    assert!(
        !store
            .enable_version(resource, ResourceVersionId(99), false)
            .await
            .unwrap()
    );
    let place = store.version_place(resource, two).await.unwrap().unwrap();
    assert!(!place.enabled);
    let field = MetadataField {
        name: "by".into(),
        value: "me".into(),
    };
    store
        .save_metadata(resource, &v(2), std::slice::from_ref(&field))
        .await
        .unwrap();
    assert_eq!(
        store
            .version(resource, two)
            .await
            .unwrap()
            .unwrap()
            .metadata,
        std::slice::from_ref(&field)
    );

    assert_eq!(store.clear_versions(resource).await.unwrap(), 2);
    assert_eq!(stage.order().await, [""; 0]);
    assert_eq!(store.version_place(resource, two).await.unwrap(), None);
    stage.check_numbers(&[2]).await;
    // What was said of it before still holds.
    let again = store.version(resource, two).await.unwrap().unwrap();
    assert_eq!((again.enabled, again.metadata), (false, vec![field]));
}

async fn renamed_jobs_and_resources_keep_their_rows(database: TestDatabase) {
    let stage = stage(database).await;
    let store = &stage.store;
    stage.check_numbers(&[1]).await;
    let team = store.ensure_main_team(&json!({})).await.unwrap().id;
    let before = store.pipeline(team, "p").await.unwrap().unwrap();
    let job = store.job(before.id, "j").await.unwrap().unwrap();
    let mut renamed = save(team, "here", None);
    renamed.config["resources"][0]["name"] = json!("s");
    renamed.jobs = vec![SaveJob::named("k").formerly("j")];
    renamed.resources = vec![SaveResource::named("s", "mock").formerly("r")];
    for _ in 0..2 {
        // The configuration may say so for as long as it likes.
        store.save_pipeline(renamed.clone()).await.unwrap();
        assert_eq!(store.job(before.id, "k").await.unwrap().unwrap().id, job.id);
        let resource = store.resource(before.id, "s").await.unwrap().unwrap();
        assert_eq!(resource.id, stage.resource);
        assert_eq!(stage.order().await, ["1"]);
    }
    assert_eq!(store.job(before.id, "j").await.unwrap(), None);
}
