//! Tests that both databases must pass alike.

use std::time::Duration;

use airside_model::BuildStatus;
use serde_json::json;
use sqlx::{Connection, Executor};

use crate::{
    BuildChoice, BuildFilter, BuildPage, BuildRange, DatabaseTimeout, DatabaseUrl, Error,
    InstanceVars, Micros, SavePipeline, Sealer, Store,
    db::{Pool, STATEMENTS, here, query, query_scalar, sql},
    now,
    testing::TestDatabase,
};

mod failures;
mod outage;
mod sealing;

crate::on_both_databases!(
    every_statement_can_be_prepared,
    builds_can_be_listed_by_anything,
    many_servers_can_start_at_once,
    a_change_is_heard_by_every_server,
    everything_is_sealed_anew_with_a_new_key,
    a_database_that_comes_back_is_used_again,
);

async fn every_statement_can_be_prepared(database: TestDatabase) {
    let store = database.open().await;
    assert!(STATEMENTS.len() > 60, "only {}", STATEMENTS.len());
    for statement in STATEMENTS {
        let text = sqlx::SqlStr::from_static(statement);
        let prepared = match &store.write {
            Pool::Sqlite(pool) => pool.prepare(text).await.map(drop),
            Pool::Postgres(pool) => pool.prepare(text).await.map(drop),
        };
        prepared.unwrap_or_else(|error| panic!("{error}:\n{statement}"));
    }
}

async fn builds_can_be_listed_by_anything(database: TestDatabase) {
    let store = database.open().await;
    let choices = [
        BuildChoice::All,
        BuildChoice::Unfinished,
        BuildChoice::Finished,
        BuildChoice::Status(BuildStatus::Started),
        BuildChoice::Status(BuildStatus::Failed),
    ];
    for shape in 0..128 {
        let chosen = |bit: u8| (shape >> bit & 1 == 1).then_some(1);
        let filter = BuildFilter {
            team: chosen(0).map(airside_model::TeamId),
            pipeline: chosen(1).map(airside_model::PipelineId),
            job: chosen(2).map(airside_model::JobId),
            exposed_beyond: chosen(5).map(|id| vec![airside_model::TeamId(id); 2]),
            choice: choices[shape as usize % choices.len()],
        };
        let range = match chosen(6) {
            None => BuildRange::Ids {
                from: chosen(3).map(airside_model::BuildId),
                to: chosen(4).map(airside_model::BuildId),
            },
            Some(_) => BuildRange::Started {
                from: chosen(3).map(Micros),
                to: chosen(4).map(Micros),
            },
        };
        let page = BuildPage { limit: 2, range };
        assert_eq!(store.builds(&filter, page).await.unwrap(), []);
    }
    store.unfinished_builds().await.unwrap();
    store.builds_with_open_log().await.unwrap();
    store.next_build(airside_model::JobId(1)).await.unwrap();
    store.finished_build(airside_model::JobId(1)).await.unwrap();
}

async fn many_servers_can_start_at_once(database: TestDatabase) {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let url = database.url.clone();
        tasks.spawn(Store::open(url, Sealer::new(&[0; 32]).unwrap()));
    }
    let stores: Vec<Store> = tasks
        .join_all()
        .await
        .into_iter()
        .map(|s| s.unwrap())
        .collect();
    let mut installations = Vec::new();
    for store in &stores {
        installations.push(store.installation().await.unwrap());
    }
    assert!(installations.iter().all(|id| *id == installations[0]));
    if let DatabaseUrl::Postgres(_) = database.url {
        let alone = stores[0].take_alone().await.unwrap();
        assert!(matches!(stores[1].take_alone().await, Err(Error::InUse)));
        // Nor may a newcomer change the key under a server that has the database.
        let rotated = Sealer::new(&[1; 32])
            .unwrap()
            .with_old_key(&[0; 32])
            .unwrap();
        let opened = Store::open(database.url.clone(), rotated).await;
        assert!(matches!(opened, Err(Error::InUse)));
        drop(alone);
    }
}

async fn a_change_is_heard_by_every_server(database: TestDatabase) {
    let one = database.open().await;
    let other = match database.url {
        DatabaseUrl::Postgres(_) => database.open().await,
        DatabaseUrl::Sqlite(_) => one.clone(),
    };
    let mut heard = other.subscribe();
    heard.mark_unchanged();
    one.ensure_main_team(&json!({})).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(10), heard.changed()).await;
    waited.expect("word arrives").unwrap();
}

async fn everything_is_sealed_anew_with_a_new_key(database: TestDatabase) {
    let (old, new) = ([1; 32], [2; 32]);
    let store = database.open_with(Sealer::new(&old).unwrap()).await;
    let team = store.ensure_main_team(&json!({"owner": 1})).await.unwrap();
    let later = now().plus(Duration::from_secs(60));
    store
        .save_token("hash", &json!({"a": 1}), later)
        .await
        .unwrap();
    let save = SavePipeline {
        team: team.id,
        name: "p".into(),
        instance_vars: InstanceVars::default(),
        config: json!({"jobs": []}),
        jobs: Vec::new(),
        resources: Vec::new(),
        expected_version: None,
    };
    let key = crate::SigningKey {
        id: "k".to_owned(),
        algorithm: "ES256".to_owned(),
        private_key: b"private".to_vec(),
        created_at: crate::now(),
    };
    store.save_signing_key(&key).await.unwrap();
    store.save_pipeline(save).await.unwrap();
    store.close().await;

    let sealer = Sealer::new(&new).unwrap();
    let refused = Store::open(&database.url, sealer.clone()).await;
    assert!(matches!(refused.err(), Some(Error::OtherKey)));
    let rotated = sealer.clone().with_old_key(&old).unwrap();
    database.open_with(rotated).await.close().await;

    let store = database.open_with(sealer.clone()).await;
    assert_eq!(store.teams().await.unwrap(), std::slice::from_ref(&team));
    assert_eq!(
        store.token("hash").await.unwrap().unwrap().0,
        json!({"a": 1})
    );
    let pipeline = store.pipeline(team.id, "p").await.unwrap().unwrap();
    assert_eq!(pipeline.config, json!({"jobs": []}));
    let keys = store.signing_keys().await.unwrap();
    assert_eq!(keys[0].private_key, b"private");
    for column in [
        "teams.auth",
        "tokens.claims",
        "pipelines.config",
        "signing_keys.private_key",
    ] {
        let (table, column) = column.split_once('.').unwrap();
        let text = format!("SELECT count(*) FROM {table} WHERE substr({column}, 1, 5) = $1");
        let count: i64 = query_scalar(crate::db::Sql::built(text))
            .bind(sealer.mark().to_vec())
            .fetch_one(&store.read)
            .await
            .unwrap();
        assert_eq!(count, 1, "{table}");
    }
    store.close().await;
    let refused = Store::open(&database.url, Sealer::new(&old).unwrap()).await;
    assert!(matches!(refused.err(), Some(Error::OtherKey)));
}

async fn a_database_that_comes_back_is_used_again(database: TestDatabase) {
    let patience = DatabaseTimeout(Duration::from_secs(3));
    let store = database.open_patiently(patience).await;
    let other = database.open().await;
    let lock = match &database.url {
        // Another program holds the file's lock.
        DatabaseUrl::Sqlite(_) => {
            let mut tx = other.write.begin(here!()).await.unwrap();
            query(sql!("DELETE FROM components"))
                .execute(&mut tx)
                .await
                .unwrap();
            Some(tx)
        }
        DatabaseUrl::Postgres(_) => {
            database.set_reachable(false).await;
            None
        }
    };
    let error = store.ensure_main_team(&json!({})).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    drop(lock);
    database.set_reachable(true).await;
    while store.ensure_main_team(&json!({})).await.is_err() {}
    assert_eq!(store.teams().await.unwrap().len(), 1);

    // Word of changes arrives again, too.
    let mut heard = store.subscribe();
    heard.mark_unchanged();
    let teller = if matches!(database.url, DatabaseUrl::Postgres(_)) {
        &other
    } else {
        &store
    };
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        assert!(tokio::time::Instant::now() < deadline, "no word");
        let _ = teller.ensure_main_team(&json!({})).await;
        let word = tokio::time::timeout(Duration::from_millis(50), heard.changed()).await;
        if word.is_ok_and(|word| word.is_ok()) {
            break;
        }
    }
}

/// The first version kept members in clear, configurations as hex without a mark of the key.
#[tokio::test]
async fn a_database_of_the_first_version_is_brought_up_to_date() {
    let database = TestDatabase::sqlite();
    let DatabaseUrl::Sqlite(path) = &database.url else {
        panic!("not a file");
    };
    let sealer = Sealer::new(&[0; 32]).unwrap();
    let config = json!({"jobs": [], "groups": [{"name": "g"}]});
    let sealed = sealer.seal("pipeline config", config.to_string().as_bytes());
    let options = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut old = sqlx::SqliteConnection::connect_with(&options)
        .await
        .unwrap();
    sqlx::migrate!("migrations/sqlite")
        .run_direct(Some(1), &mut old, false)
        .await
        .unwrap();
    let filled = format!(
        "INSERT INTO teams (id, name, admin, auth) VALUES (1, 'main', TRUE, '{{\"owner\": 1}}');
         INSERT INTO tokens VALUES ('hash', '{{}}', 9);
         INSERT INTO pipelines (id, team_id, name, ordering, paused, public, archived, config,
           config_version, updated_at) VALUES (7, 1, 'p', 1, FALSE, TRUE, FALSE, '{}', 3, 5);
         INSERT INTO jobs VALUES (9, 7, 'j', TRUE, FALSE, 0, 2);",
        hex::encode(&sealed[5..])
    );
    old.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(filled)))
        .await
        .unwrap();
    old.close().await.unwrap();

    let store = database.open().await;
    let team = store.team("main").await.unwrap().unwrap();
    assert_eq!(team.auth, json!({"owner": 1}));
    let listed = store.pipelines(Some(team.id)).await.unwrap();
    assert_eq!(
        (listed[0].id.0, listed[0].outline.as_str()),
        (7, r#"{"groups":[{"name":"g"}]}"#)
    );
    let pipeline = store.pipeline(team.id, "p").await.unwrap().unwrap();
    assert_eq!((pipeline.config, pipeline.config_version), (config, 3));
    let jobs = store.jobs(pipeline.id).await.unwrap();
    assert_eq!(jobs[0].id.0, 9, "what belongs to a pipeline stays");
    store.destroy_pipeline(pipeline.id).await.unwrap();
    while store.collect_destroyed(1).await.unwrap().rows > 0 {}
    assert!(
        store.job_by_id(jobs[0].id).await.unwrap().is_none(),
        "and goes with it"
    );
}
