use crate::{Micros, SigningKey, testing::TestDatabase};

crate::on_both_databases!(signing_keys_are_kept_newest_first);

async fn signing_keys_are_kept_newest_first(database: TestDatabase) {
    let store = database.open().await;
    for (id, created_at) in [("old", 1), ("new", 3), ("middle", 2)] {
        let key = SigningKey {
            id: id.to_owned(),
            algorithm: "ES256".to_owned(),
            private_key: id.as_bytes().to_vec(),
            created_at: Micros(created_at),
        };
        store.save_signing_key(&key).await.unwrap();
    }
    store.delete_signing_key("middle").await.unwrap();
    let keys = store.signing_keys().await.unwrap();
    let found: Vec<_> = keys
        .iter()
        .map(|key| (key.id.as_str(), key.private_key.as_slice(), key.created_at))
        .collect();
    let expected: [(&str, &[u8], Micros); 2] =
        [("new", b"new", Micros(3)), ("old", b"old", Micros(1))];
    assert_eq!(found, expected);
}
