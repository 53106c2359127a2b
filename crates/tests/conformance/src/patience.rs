//! Waiting for conditions, with an end.

use std::{future::Future, time::Duration};

/// Nothing takes this long unless it never happens.
const LIMIT: Duration = Duration::from_secs(120);

/// Returns the result of a future, or panics with what did not happen in time.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(value) => value,
        Err(_) => panic!("gave up waiting: {what}"),
    }
}

/// Asks again and again until the answer is yes.
pub async fn wait_until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    within(what, async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
}
