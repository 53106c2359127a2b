use serde_json::json;

use crate::{Error, testing::TestDatabase};

crate::on_both_databases!(
    the_main_team_is_made_once_and_its_members_follow_the_settings,
    teams_are_made_changed_renamed_and_destroyed,
    hostile_teams_get_no_number_of_an_earlier_team,
);

async fn the_main_team_is_made_once_and_its_members_follow_the_settings(database: TestDatabase) {
    let store = database.open().await;
    assert_eq!(store.teams().await.unwrap(), []);

    let first = json!({"owner": {"users": ["local:ann"], "groups": []}});
    let made = store.ensure_main_team(&first).await.unwrap();
    assert_eq!(
        (made.id.0, made.name.as_str(), made.admin),
        (1, "main", true)
    );
    assert_eq!(made.auth, first);

    let second = json!({"owner": {"users": ["local:bob"], "groups": []}});
    store.ensure_main_team(&second).await.unwrap();
    store.close().await;

    let store = database.open().await;
    let teams = store.teams().await.unwrap();
    assert_eq!(teams.len(), 1);
    assert_eq!(teams[0].auth, second);
    assert_eq!(store.team("main").await.unwrap().as_ref(), Some(&teams[0]));
    assert_eq!(store.team("other").await.unwrap(), None);
}

async fn teams_are_made_changed_renamed_and_destroyed(database: TestDatabase) {
    let store = database.open().await;
    let main = store.ensure_main_team(&json!({})).await.unwrap();
    let (team, made) = store.save_team("a", &json!({"owner": 1})).await.unwrap();
    assert!(made && !team.admin);
    let (same, made) = store.save_team("a", &json!({"owner": 2})).await.unwrap();
    assert!(!made && same.id == team.id && same.auth == json!({"owner": 2}));

    let taken = store.rename_team(team.id, "main").await.unwrap_err();
    assert!(matches!(taken, Error::NameTaken { .. }), "{taken}");
    store.rename_team(team.id, "a").await.unwrap();
    store.rename_team(team.id, "b").await.unwrap();
    assert_eq!(store.team("a").await.unwrap(), None);
    assert_eq!(store.team("b").await.unwrap().unwrap().id, team.id);

    assert!(!store.destroy_team(main.id).await.unwrap());
    assert!(store.destroy_team(team.id).await.unwrap());
    assert!(!store.destroy_team(team.id).await.unwrap());
    assert_eq!(store.teams().await.unwrap().len(), 1);
}

async fn hostile_teams_get_no_number_of_an_earlier_team(database: TestDatabase) {
    let store = database.open().await;
    store.ensure_main_team(&json!({})).await.unwrap();
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let (team, made) = store.save_team("a", &json!({"owner": 1})).await.unwrap();
        assert!(made);
        assert!(!numbers.contains(&team.id), "{numbers:?}: {}", team.id);
        numbers.push(team.id);
        assert!(store.destroy_team(team.id).await.unwrap());
    }
    store.ensure_main_team(&json!({})).await.unwrap();
    assert_eq!(store.team("main").await.unwrap().unwrap().id.0, 1);
}
