//! Many rows with few statements: what a pipeline has in the hundreds is not written one by one.

use super::{On, Sql, Tx, Value, query, query::Row, query_as};
use crate::Result;

/// The most values that a statement binds. SQLite takes 32766, Postgres 65535.
const MAX_BOUND_VALUES: usize = 30_000;

/// `INSERT INTO {into} VALUES {row}, {row}, … {then}`, in as few statements as the limit allows. A
/// `?` in `row` stands for the next value. Pieces of SQL only, never values.
pub(crate) async fn insert<const VALUES: usize>(
    tx: &mut Tx,
    into: &str,
    row: &str,
    rows: Vec<[Value; VALUES]>,
    then: &str,
) -> Result<()> {
    let mut rows = rows.into_iter();
    loop {
        let values: Vec<Value> = rows
            .by_ref()
            .take(MAX_BOUND_VALUES / VALUES)
            .flatten()
            .collect();
        if values.is_empty() {
            return Ok(());
        }
        let tuples = vec![row; values.len() / VALUES].join(",");
        run(
            tx,
            format!("INSERT INTO {into} VALUES {tuples} {then}"),
            values,
        )
        .await?;
    }
}

/// `{head} (…)`, where the list in parentheses holds the ids.
pub(crate) async fn execute_for(tx: &mut Tx, head: &str, ids: &[i64]) -> Result<()> {
    for ids in ids.chunks(MAX_BOUND_VALUES) {
        let text = format!("{head} ({})", vec!["?"; ids.len()].join(","));
        run(tx, text, ids.iter().map(|id| Value::from(*id)).collect()).await?;
    }
    Ok(())
}

async fn run(tx: &mut Tx, text: String, values: Vec<Value>) -> Result<()> {
    let text = match tx {
        // To SQLite `$1` is a name, and it looks for each among all before it.
        Tx::Sqlite(..) => text,
        Tx::Postgres(..) => numbered(&text),
    };
    query(Sql::built(text))
        .once()
        .bind_all(values)
        .execute(tx)
        .await?;
    Ok(())
}

/// Returns the text with `$1`, `$2`, … in place of each `?`.
fn numbered(text: &str) -> String {
    let mut pieces = text.split('?');
    let mut numbered = pieces.next().unwrap_or_default().to_owned();
    for (number, piece) in (1..).zip(pieces) {
        numbered.push_str(&format!("${number}"));
        numbered.push_str(piece);
    }
    numbered
}

/// Number of values looked for at once: to SQLite `$1` is a name, and each is looked for among all.
const LOOKED_FOR: usize = 500;

/// All rows of `{head} (…)`, where the list in parentheses holds the values and `$1` is the first.
pub(crate) async fn fetch_for<'a, T: Row>(
    on: impl Into<On<'a>>,
    head: &str,
    first: Value,
    values: Vec<Value>,
) -> Result<Vec<T>> {
    let mut on = on.into();
    let mut rows = Vec::new();
    for values in values.chunks(LOOKED_FOR) {
        let list: Vec<String> = (2..values.len() + 2).map(|at| format!("${at}")).collect();
        let text = format!("{head} ({})", list.join(","));
        let mut query = query_as(Sql::built(text)).bind(first.clone());
        if values.len() > 1 {
            query = query.once();
        }
        let query = query.bind_all(values.iter().cloned());
        rows.extend(query.fetch_all(on.again()).await?);
    }
    Ok(rows)
}
