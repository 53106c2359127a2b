//! Many rows with few statements: what a pipeline has in the hundreds is not written one by one.

use super::{Sql, Tx, Value, query};
use crate::Result;

/// How many values a statement binds at most. SQLite takes 32766, Postgres 65535.
const MOST: usize = 30_000;

/// `INSERT INTO {into} VALUES (…), (…) {then}`, in as few statements as the limit allows. Pieces of
/// SQL only, never values.
pub(crate) async fn insert<const COLUMNS: usize>(
    tx: &mut Tx,
    into: &str,
    rows: Vec<[Value; COLUMNS]>,
    then: &str,
) -> Result<()> {
    let mut rows = rows.into_iter();
    loop {
        let values: Vec<Value> = rows.by_ref().take(MOST / COLUMNS).flatten().collect();
        if values.is_empty() {
            return Ok(());
        }
        let tuples: Vec<String> = (0..values.len() / COLUMNS)
            .map(|row| format!("({})", placeholders(row * COLUMNS + 1, COLUMNS)))
            .collect();
        let text = format!("INSERT INTO {into} VALUES {} {then}", tuples.join(","));
        run(tx, text, values).await?;
    }
}

/// `{head} (…)`, where the list in parentheses holds the ids.
pub(crate) async fn execute_for(tx: &mut Tx, head: &str, ids: &[i64]) -> Result<()> {
    for ids in ids.chunks(MOST) {
        let text = format!("{head} ({})", placeholders(1, ids.len()));
        run(tx, text, ids.iter().map(|id| Value::from(*id)).collect()).await?;
    }
    Ok(())
}

async fn run(tx: &mut Tx, text: String, values: Vec<Value>) -> Result<()> {
    query(Sql::built(text))
        .once()
        .bind_all(values)
        .execute(tx)
        .await?;
    Ok(())
}

fn placeholders(first: usize, count: usize) -> String {
    let numbers: Vec<String> = (first..first + count).map(|n| format!("${n}")).collect();
    numbers.join(",")
}
