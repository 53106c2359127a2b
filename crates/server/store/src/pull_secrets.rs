//! The names of Secrets that runtimes made for pulling images. The Secrets themselves are in
//! clusters.

use airside_model::WorkerName;

use crate::{
    Result, Store,
    db::{query, query_scalar, sql},
    now,
};

impl Store {
    /// Notes a Secret that is about to be made. A Secret that is known already stays noted.
    pub async fn remember_pull_secret(&self, worker: &WorkerName, name: &str) -> Result<()> {
        query(sql!(
            "INSERT INTO pull_secrets (worker, name, created_at) VALUES ($1, $2, $3)
             ON CONFLICT (worker, name) DO NOTHING"
        ))
        .bind(worker.as_str())
        .bind(name)
        .bind(now().0)
        .execute(&self.write)
        .await?;
        Ok(())
    }

    /// Lists the pull secrets of a worker, the oldest first.
    pub async fn pull_secrets(&self, worker: &WorkerName) -> Result<Vec<String>> {
        let names = query_scalar(sql!(
            "SELECT name FROM pull_secrets WHERE worker = $1 ORDER BY created_at, name"
        ))
        .bind(worker.as_str())
        .fetch_all(&self.read)
        .await?;
        Ok(names)
    }

    /// Removes the note of a Secret that was removed.
    pub async fn forget_pull_secret(&self, worker: &WorkerName, name: &str) -> Result<()> {
        query(sql!(
            "DELETE FROM pull_secrets WHERE worker = $1 AND name = $2"
        ))
        .bind(worker.as_str())
        .bind(name)
        .execute(&self.write)
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestDatabase;

    crate::on_both_databases!(names_are_remembered_for_each_worker);

    async fn names_are_remembered_for_each_worker(database: TestDatabase) {
        let store = database.open().await;
        let [one, two] = ["one", "two"].map(WorkerName::new);
        for (worker, name) in [(&one, "a"), (&one, "b"), (&one, "b"), (&two, "a")] {
            store.remember_pull_secret(worker, name).await.unwrap();
        }
        store.forget_pull_secret(&one, "a").await.unwrap();
        store.forget_pull_secret(&one, "unknown").await.unwrap();
        assert_eq!(store.pull_secrets(&one).await.unwrap(), ["b"]);
        assert_eq!(store.pull_secrets(&two).await.unwrap(), ["a"]);
    }
}
