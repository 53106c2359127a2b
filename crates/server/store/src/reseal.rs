//! Changing the key: everything that another key sealed is opened and sealed with the current one.
//! Content that an older version of the format sealed is sealed anew, too.
//!
//! The database remembers which key everything is sealed with, and is told of a new one only after
//! the last row: a pass that was cut short is made again at the next start.

use std::pin::Pin;

use tracing::info;

use crate::{
    Error, Result, SealError, Store,
    db::{Sql, query, query_as, query_scalar, sql},
    nodes, pipelines,
    settings::Setting,
    signing_keys, teams, tokens,
};

/// Number of rows that are read at a time.
const BATCH: i64 = 200;

/// A column of sealed bytes. Both statements know rows by a text.
struct Column {
    what: &'static str,
    /// Rows whose bytes do not begin with `$1`, at most `$2` of them.
    find: fn() -> Sql,
    /// Puts `$1` in the place of `$3` in row `$2`.
    replace: fn() -> Sql,
    /// Returns the name that the bytes of a row are bound to.
    name: fn(&str) -> String,
    /// The name that all rows of the first version of the format were bound to, where it was
    /// another.
    first_name: Option<&'static str>,
    /// True if the first version of the database kept this column in clear.
    once_clear: bool,
}

/// A sealed column of a table whose rows are nodes of a build's plan.
macro_rules! node_column {
    ($what:literal, $table:literal, $column:literal, $name:expr) => {
        Column {
            what: $what,
            find: || {
                sql!(
                    "SELECT CAST(build_id AS TEXT) || '/' || plan_id, ",
                    $column,
                    " FROM ",
                    $table,
                    " WHERE substr(",
                    $column,
                    ", 1, 5) <> $1 LIMIT $2"
                )
            },
            replace: || {
                sql!(
                    "UPDATE ",
                    $table,
                    " SET ",
                    $column,
                    " = $1 WHERE CAST(build_id AS TEXT) || '/' || plan_id = $2 AND ",
                    $column,
                    " = $3"
                )
            },
            name: $name,
            first_name: None,
            once_clear: false,
        }
    };
}

const COLUMNS: &[Column] = &[
    Column {
        what: "teams",
        find: || {
            sql!("SELECT CAST(id AS TEXT), auth FROM teams WHERE substr(auth, 1, 5) <> $1 LIMIT $2")
        },
        replace: || sql!("UPDATE teams SET auth = $1 WHERE CAST(id AS TEXT) = $2 AND auth = $3"),
        name: |id| teams::sealed_as(id),
        first_name: Some("team auth"),
        once_clear: true,
    },
    Column {
        what: "tokens",
        find: || sql!("SELECT hash, claims FROM tokens WHERE substr(claims, 1, 5) <> $1 LIMIT $2"),
        replace: || sql!("UPDATE tokens SET claims = $1 WHERE hash = $2 AND claims = $3"),
        name: tokens::sealed_as,
        first_name: None,
        once_clear: false,
    },
    Column {
        what: "signing keys",
        find: || {
            sql!(
                "SELECT id, private_key FROM signing_keys WHERE substr(private_key, 1, 5) <> $1 LIMIT $2"
            )
        },
        replace: || {
            sql!("UPDATE signing_keys SET private_key = $1 WHERE id = $2 AND private_key = $3")
        },
        name: signing_keys::sealed_as,
        first_name: None,
        once_clear: false,
    },
    Column {
        what: "pipelines",
        find: || {
            sql!(
                "SELECT CAST(id AS TEXT), config FROM pipelines WHERE substr(config, 1, 5) <> $1 LIMIT $2"
            )
        },
        replace: || {
            sql!("UPDATE pipelines SET config = $1 WHERE CAST(id AS TEXT) = $2 AND config = $3")
        },
        name: |id| pipelines::sealed_as(id),
        first_name: Some("pipeline config"),
        once_clear: false,
    },
    Column {
        what: "plans",
        find: || {
            sql!(
                "SELECT CAST(id AS TEXT), plan FROM builds WHERE substr(plan, 1, 5) <> $1 LIMIT $2"
            )
        },
        replace: || sql!("UPDATE builds SET plan = $1 WHERE CAST(id AS TEXT) = $2 AND plan = $3"),
        name: |id| format!("plan of build {id}"),
        first_name: None,
        once_clear: false,
    },
    Column {
        what: "requests",
        find: || {
            sql!(
                "SELECT handle, request FROM containers WHERE substr(request, 1, 5) <> $1 LIMIT $2"
            )
        },
        replace: || sql!("UPDATE containers SET request = $1 WHERE handle = $2 AND request = $3"),
        name: str::to_owned,
        first_name: None,
        once_clear: false,
    },
    node_column!("outcomes", "build_nodes", "hidden", nodes::hidden_name),
    node_column!(
        "beginnings",
        "build_node_starts",
        "settled",
        nodes::settled_name
    ),
];

impl Store {
    /// Seals everything with the current key, unless it is already.
    pub(crate) fn reseal(&self) -> Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> {
        // In a box, as the compiler cannot see through this much nesting that it may be sent.
        Box::pin(self.reseal_all())
    }

    async fn reseal_all(&self) -> Result<()> {
        let mark = self.sealer().mark();
        let known = self.setting(Setting::SealedWith).await?;
        let before = match &known {
            Some(text) => Some(hex::decode(text).map_err(|_| Error::corrupt("mark of the key"))?),
            None => None,
        };
        match &before {
            Some(before) if *before == mark => return Ok(()),
            Some(before) if !self.sealer().knows(before) => return Err(Error::OtherKey),
            _ => {}
        }
        // A change of keys under a running server would take from it what it needs to resume.
        let _alone = match before {
            Some(_) => Some(self.take_alone().await?),
            None => None,
        };
        for column in COLUMNS {
            let count = self.reseal_column(column, before.is_none()).await?;
            if count > 0 {
                info!(
                    rows = count,
                    column.what, "rows sealed with the current key"
                );
            }
        }
        self.fill_summaries().await?;
        self.set_setting(Setting::SealedWith, &hex::encode(mark))
            .await
    }

    async fn reseal_column(&self, column: &'static Column, first: bool) -> Result<u64> {
        let mark = self.sealer().mark().to_vec();
        let mut count = 0;
        loop {
            let rows: Vec<(String, Vec<u8>)> = query_as((column.find)())
                .bind(mark.clone())
                .bind(BATCH)
                .fetch_all(&self.write)
                .await?;
            if rows.is_empty() {
                return Ok(count);
            }
            for (row, bytes) in rows {
                let sealed = self.sealed_anew(column, &row, &bytes, first)?;
                count += query((column.replace)())
                    .bind(sealed)
                    .bind(row)
                    .bind(bytes)
                    .execute(&self.write)
                    .await?;
            }
        }
    }

    fn sealed_anew(
        &self,
        column: &Column,
        row: &str,
        bytes: &[u8],
        first: bool,
    ) -> Result<Vec<u8>> {
        let name = (column.name)(row);
        let sealer = self.sealer();
        let at_first = |_| match column.first_name {
            Some(name) => sealer.open(name, bytes),
            None => Err(SealError::Open),
        };
        let clear = match sealer.open(&name, bytes).or_else(at_first) {
            Err(_) if first && column.once_clear => bytes.to_vec(),
            opened => opened?,
        };
        Ok(self.sealer().seal(&name, &clear))
    }

    /// Pipelines of the first version of the database have no summary.
    async fn fill_summaries(&self) -> Result<()> {
        let without: Vec<i64> = query_scalar(sql!("SELECT id FROM pipelines WHERE summary = ''"))
            .fetch_all(&self.write)
            .await?;
        for id in without {
            let id = airside_model::PipelineId(id);
            if let Some(pipeline) = self.pipeline_by_id(id).await? {
                query(sql!("UPDATE pipelines SET summary = $1 WHERE id = $2"))
                    .bind(pipelines::summary_of(&pipeline.config))
                    .bind(id.0)
                    .execute(&self.write)
                    .await?;
            }
        }
        Ok(())
    }
}
