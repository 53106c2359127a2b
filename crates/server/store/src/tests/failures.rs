//! Errors of a broken database say which statement failed, where, and why.

use std::time::Duration;

use airside_model::chain;
use serde_json::json;

use crate::{
    DatabaseTimeout, Error, Store,
    db::{Sql, here, query},
    testing::TestDatabase,
};

crate::on_both_databases!(
    a_missing_table_is_named,
    a_row_that_is_missing_is_named,
    a_closed_database_is_said_to_be_closed,
);

async fn a_missing_table_is_named(database: TestDatabase) {
    let store = database.open().await;
    for statement in [
        "ALTER TABLE teams RENAME TO lost",
        "ALTER TABLE settings RENAME TO lost_too",
    ] {
        let renamed = query(Sql::built(statement.to_owned())).execute(&store.write);
        renamed.await.unwrap();
    }
    let read = chain(&store.team("main").await.unwrap_err());
    assert!(
        read.starts_with("cannot read teams (teams::team): "),
        "{read}"
    );
    assert!(
        read.contains("teams\"") || read.contains("no such table: teams"),
        "{read}"
    );
    let written = chain(&store.probe().await.unwrap_err());
    assert!(
        written.starts_with("cannot insert into settings (Store::probe): "),
        "{written}"
    );
}

async fn a_row_that_is_missing_is_named(database: TestDatabase) {
    let store = database.open().await;
    let text = "SELECT name FROM teams WHERE id = -1".to_owned();
    let missing = crate::db::query_scalar::<String>(Sql::built(text));
    let error = missing.fetch_one(&store.read).await.unwrap_err();
    assert!(
        chain(&error).starts_with("cannot read teams: no rows"),
        "{}",
        chain(&error)
    );
}

async fn a_closed_database_is_said_to_be_closed(database: TestDatabase) {
    let store = database.open().await;
    store.close().await;
    let read = chain(&store.workers().await.unwrap_err());
    assert!(
        read.starts_with("cannot read workers (workers::workers): "),
        "{read}"
    );
    assert!(read.contains("closed pool"), "{read}");
    let saved = chain(&store.save_team("crew", &json!({})).await.unwrap_err());
    assert!(
        saved.starts_with("cannot begin a transaction (teams::save_team): "),
        "{saved}"
    );
}

async fn begun_and_stopped(database: &TestDatabase, store: &Store) -> Error {
    let mut tx = store.write.begin(here!()).await.unwrap();
    query(Sql::built("UPDATE teams SET name = 'x'".to_owned()))
        .execute(&mut tx)
        .await
        .unwrap();
    database.stop_server().await;
    tx.commit().await.unwrap_err()
}

#[tokio::test]
async fn a_server_that_is_away_is_said_to_be_away() {
    let database = TestDatabase::own_postgres();
    let store = database
        .open_patiently(DatabaseTimeout(Duration::from_millis(300)))
        .await;
    let error = begun_and_stopped(&database, &store).await;
    assert!(matches!(error, Error::Uncertain { .. }) && error.is_transient());
    let committed = chain(&error);
    let expected = "cannot commit a transaction (tests::failures::begun_and_stopped): ";
    assert!(committed.starts_with(expected), "{committed}");
    assert!(committed.len() > expected.len(), "{committed}");
    let error = store.teams().await.unwrap_err();
    assert!(error.is_transient());
    let read = chain(&error);
    assert!(
        read.starts_with("cannot read teams (teams::teams): "),
        "{read}"
    );
    assert!(
        read.contains("No such file") || read.contains("refused") || read.contains("timed out"),
        "{read}"
    );
}
