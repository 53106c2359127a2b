//! Sealed bytes belong to their row.

use serde_json::json;

use crate::{
    Error, InstanceVars, SavePipeline, Sealer, Store,
    db::{query, sql},
    settings::Setting,
    testing::TestDatabase,
};

crate::on_both_databases!(
    what_is_sealed_can_be_opened_in_its_row_only,
    what_was_bound_to_its_kind_is_bound_to_its_row,
);

async fn with_pipelines(store: &Store) -> airside_model::TeamId {
    let team = store.ensure_main_team(&json!({"owner": 1})).await.unwrap();
    for name in ["one", "other"] {
        let save = SavePipeline {
            team: team.id,
            name: name.into(),
            instance_vars: InstanceVars::default(),
            config: json!({"name": name}),
            jobs: Vec::new(),
            resources: Vec::new(),
            expected_version: None,
        };
        store.save_pipeline(save).await.unwrap();
    }
    team.id
}

async fn what_is_sealed_can_be_opened_in_its_row_only(database: TestDatabase) {
    let store = database.open().await;
    let team = with_pipelines(&store).await;
    store
        .save_team("crew", &json!({"viewer": 1}))
        .await
        .unwrap();
    query(sql!(
        "UPDATE pipelines SET config = (SELECT config FROM pipelines WHERE name = 'one')"
    ))
    .execute(&store.write)
    .await
    .unwrap();
    query(sql!(
        "UPDATE teams SET auth = (SELECT auth FROM teams WHERE name = 'main')"
    ))
    .execute(&store.write)
    .await
    .unwrap();
    let one = store.pipeline(team, "one").await.unwrap().unwrap();
    assert_eq!(one.config, json!({"name": "one"}));
    let moved = store.pipeline(team, "other").await;
    assert!(matches!(moved, Err(Error::Seal(_))), "{moved:?}");
    let moved = store.team("crew").await;
    assert!(matches!(moved, Err(Error::Seal(_))), "{moved:?}");
}

/// Seals a value in the first version of the format.
fn first_format(sealer: &Sealer, name: &str, clear: &serde_json::Value) -> Vec<u8> {
    let mut sealed = sealer.seal(name, clear.to_string().as_bytes());
    sealed[0] = 1;
    sealed
}

async fn what_was_bound_to_its_kind_is_bound_to_its_row(database: TestDatabase) {
    let sealer = Sealer::new(&[0; 32]).unwrap();
    let store = database.open_with(sealer.clone()).await;
    let team = with_pipelines(&store).await;
    query(sql!("UPDATE pipelines SET config = $1"))
        .bind(first_format(&sealer, "pipeline config", &json!({"old": 1})))
        .execute(&store.write)
        .await
        .unwrap();
    query(sql!("UPDATE teams SET auth = $1"))
        .bind(first_format(&sealer, "team auth", &json!({"old": 2})))
        .execute(&store.write)
        .await
        .unwrap();
    let mut mark = sealer.mark();
    mark[0] = 1;
    store
        .set_setting(Setting::SealedWith, &hex::encode(mark))
        .await
        .unwrap();
    store.close().await;

    let store = database.open_with(sealer).await;
    let pipeline = store.pipeline(team, "other").await.unwrap().unwrap();
    assert_eq!(pipeline.config, json!({"old": 1}));
    let team = store.team("main").await.unwrap().unwrap();
    assert_eq!(team.auth, json!({"old": 2}));
}
