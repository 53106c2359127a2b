use std::time::Duration;

use serde_json::json;

use crate::{Micros, now, testing::TestDatabase};

crate::on_both_databases!(
    a_token_lives_until_it_expires_or_is_deleted,
    users_the_wall_and_components_are_kept,
);

async fn a_token_lives_until_it_expires_or_is_deleted(database: TestDatabase) {
    let store = database.open().await;
    let claims = json!({"user_name": "ann"});
    let later = now().plus(Duration::from_secs(60));
    store.save_token("live", &claims, later).await.unwrap();
    let past = Micros(now().0 - 1);
    store.save_token("old", &claims, past).await.unwrap();

    assert_eq!(store.token("live").await.unwrap(), Some((claims, later)));
    assert_eq!(store.token("old").await.unwrap(), None);
    assert_eq!(store.token("unknown").await.unwrap(), None);

    assert_eq!(store.collect_tokens(10).await.unwrap(), 1);
    assert_eq!(store.collect_tokens(10).await.unwrap(), 0);
    store.delete_token("live").await.unwrap();
    assert_eq!(store.token("live").await.unwrap(), None);
}

async fn users_the_wall_and_components_are_kept(database: TestDatabase) {
    let store = database.open().await;
    let before = now();
    store.user_logged_in("1", "ann", "local").await.unwrap();
    store.user_logged_in("2", "bob", "local").await.unwrap();
    store.user_logged_in("1", "Ann", "local").await.unwrap();
    let users = store.users_since(before).await.unwrap();
    let names: Vec<_> = users.iter().map(|user| user.username.as_str()).collect();
    assert_eq!(names, ["Ann", "bob"]);
    let tomorrow = now().plus(Duration::from_secs(86400));
    assert_eq!(store.users_since(tomorrow).await.unwrap(), []);

    assert_eq!(store.wall().await.unwrap(), None);
    store.set_wall("hello", None).await.unwrap();
    let wall = store.wall().await.unwrap().unwrap();
    assert_eq!((wall.message.as_str(), wall.remaining()), ("hello", None));
    store.set_wall("gone", Some(Duration::ZERO)).await.unwrap();
    assert_eq!(store.wall().await.unwrap(), None);
    let hour = Duration::from_secs(3600);
    store.set_wall("soon", Some(hour)).await.unwrap();
    assert!(store.wall().await.unwrap().unwrap().remaining().unwrap() <= hour);
    store.clear_wall().await.unwrap();
    assert_eq!(store.wall().await.unwrap(), None);

    assert!(store.component_turn("sweeper", hour).await.unwrap());
    let first = store.components().await.unwrap();
    assert_eq!(
        (first[0].name.as_str(), first[0].interval),
        ("sweeper", hour)
    );
    assert!(store.set_component_paused("sweeper", true).await.unwrap());
    assert!(!store.set_component_paused("other", true).await.unwrap());
    assert!(!store.component_turn("sweeper", hour).await.unwrap());
    assert_eq!(
        store.components().await.unwrap()[0].last_ran,
        first[0].last_ran
    );
    store.set_all_components_paused(false).await.unwrap();
    assert!(store.component_turn("sweeper", hour).await.unwrap());
}
