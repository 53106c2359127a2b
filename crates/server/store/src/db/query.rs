//! Binding values and fetching rows.

use std::{borrow::Cow, marker::PhantomData};

use sqlx::{
    Arguments, AssertSqlSafe, FromRow,
    postgres::{PgArguments, PgRow},
    sqlite::{SqliteArguments, SqliteRow},
};

use super::{Pool, Purpose, Sql, Tx, here};
use crate::{Error, Result};

/// A value that can be bound.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bool(Option<bool>),
    Bytes(Option<Vec<u8>>),
}

macro_rules! values {
    ($($type:ty => $make:expr;)*) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                #[allow(clippy::redundant_closure_call, reason = "the closure is the macro's argument")]
                ($make)(value)
            }
        })*
    };
}

values! {
    i64 => |value| Value::Int(Some(value));
    Option<i64> => Value::Int;
    bool => |value| Value::Bool(Some(value));
    Option<bool> => Value::Bool;
    &str => |value: &str| Value::Text(Some(value.to_owned()));
    String => |value| Value::Text(Some(value));
    &String => |value: &String| Value::Text(Some(value.clone()));
    Option<&str> => |value: Option<&str>| Value::Text(value.map(str::to_owned));
    Option<String> => Value::Text;
    Vec<u8> => |value| Value::Bytes(Some(value));
    Option<Vec<u8>> => Value::Bytes;
}

/// The place where a statement runs: any connection, or a transaction.
pub(crate) enum On<'a> {
    Pool(&'a Pool),
    Tx(&'a mut Tx),
}

impl On<'_> {
    /// Returns the same place for one more statement.
    pub(crate) fn again(&mut self) -> On<'_> {
        match self {
            Self::Pool(pool) => On::Pool(pool),
            Self::Tx(tx) => On::Tx(tx),
        }
    }
}

impl<'a> From<&'a Pool> for On<'a> {
    fn from(pool: &'a Pool) -> Self {
        Self::Pool(pool)
    }
}

impl<'a> From<&'a mut Tx> for On<'a> {
    fn from(tx: &'a mut Tx) -> Self {
        Self::Tx(tx)
    }
}

/// A type that rows of both databases can become.
pub(crate) trait Row:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<T> Row for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{}

pub(crate) struct Query<T> {
    statement: Sql,
    values: Vec<Value>,
    /// True if the connection keeps the statement prepared for the next time.
    kept: bool,
    row: PhantomData<fn() -> T>,
}

/// A statement of which only the number of rows matters.
pub(crate) fn query(sql: Sql) -> Query<()> {
    query_as(sql)
}

pub(crate) fn query_as<T>(sql: Sql) -> Query<T> {
    Query {
        statement: sql,
        values: Vec::new(),
        kept: true,
        row: PhantomData,
    }
}

/// A statement with one column.
pub(crate) struct Scalar<T>(Query<(T,)>);

pub(crate) fn query_scalar<T>(sql: Sql) -> Scalar<T> {
    Scalar(query_as(sql))
}

/// Runs the same call on whichever database it is.
macro_rules! run {
    ($self:ident, $on:expr, $make:ident, $method:ident $($then:tt)*) => {{
        let Query { statement, values, kept, .. } = $self;
        #[allow(unused_mut, reason = "only one of the branches tries again")]
        let mut values = values;
        let failure = Failure::from_statement(&statement);
        let sql = AssertSqlSafe(statement.text);
        let done = match $on.into() {
            On::Pool(Pool::Sqlite(pool)) => {
                sqlx::$make(sql, to_sqlite(values)?).persistent(kept).$method(pool).await.map(|done| done$($then)*)
            }
            On::Pool(Pool::Postgres(pool)) => {
                let mut tries = super::postgres::Tries::new(pool);
                // What only reads may be asked again if the connection broke meanwhile.
                let reads = sql.0.starts_with("SELECT");
                loop {
                    let mut held = match super::postgres::acquire(pool).await {
                        Ok(held) => held,
                        Err(error) => break Err(error),
                    };
                    let values = if reads { values.clone() } else { std::mem::take(&mut values) };
                    let text = AssertSqlSafe(sql.0.clone());
                    let done = sqlx::$make(text, to_postgres(values)?)
                        .persistent(kept)
                        .$method(&mut *held)
                        .await;
                    drop(held);
                    match done {
                        Err(error) if reads && tries.again(&error).await => {}
                        done => break done.map(|done| done$($then)*),
                    }
                }
            }
            On::Tx(Tx::Sqlite(tx, _)) => {
                sqlx::$make(sql, to_sqlite(values)?).persistent(kept).$method(&mut **tx).await.map(|done| done$($then)*)
            }
            On::Tx(Tx::Postgres(tx, _)) => {
                sqlx::$make(sql, to_postgres(values)?).persistent(kept).$method(&mut **tx).await.map(|done| done$($then)*)
            }
        };
        done.map_err(|source| failure.with(source))
    }};
}

/// The part of a statement that its error needs: of a text that was put together, only the purpose.
enum Failure {
    Literal(&'static str, &'static str),
    Built(Purpose),
}

impl Failure {
    fn from_statement(statement: &Sql) -> Self {
        match statement.text {
            Cow::Borrowed(text) => Self::Literal(text, statement.function),
            Cow::Owned(ref text) => Self::Built(Purpose::of_statement(text, statement.function)),
        }
    }

    fn with(self, source: sqlx::Error) -> Error {
        let purpose = match self {
            Self::Literal(text, function) => Purpose::of_statement(text, function),
            Self::Built(purpose) => purpose,
        };
        Error::Sql { purpose, source }
    }
}

impl<T> Query<T> {
    pub(crate) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Does not keep the statement prepared: its text will hardly come again.
    pub(crate) fn once(mut self) -> Self {
        self.kept = false;
        self
    }

    pub(crate) fn bind_all(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        self.values.extend(values);
        self
    }

    /// Runs the statement and returns the number of rows that it changed.
    pub(crate) async fn execute<'a>(self, on: impl Into<On<'a>>) -> Result<u64> {
        run!(self, on, query_with, execute.rows_affected())
    }
}

impl<T: Row> Query<T> {
    pub(crate) async fn fetch_one<'a>(self, on: impl Into<On<'a>>) -> Result<T> {
        let failure = Failure::from_statement(&self.statement);
        let row = self.fetch_optional(on).await?;
        row.ok_or_else(|| failure.with(sqlx::Error::RowNotFound))
    }

    pub(crate) async fn fetch_optional<'a>(self, on: impl Into<On<'a>>) -> Result<Option<T>> {
        if self.writes() {
            // To its end: SQLite gives rows out before it commits, and on a full disk it may not.
            return Ok(self.fetch_all(on).await?.into_iter().next());
        }
        run!(self, on, query_as_with, fetch_optional)
    }

    fn writes(&self) -> bool {
        !self.statement.text.starts_with("SELECT")
    }

    pub(crate) async fn fetch_all<'a>(self, on: impl Into<On<'a>>) -> Result<Vec<T>> {
        run!(self, on, query_as_with, fetch_all)
    }
}

impl<T> Scalar<T>
where
    (T,): Row,
{
    pub(crate) fn bind(self, value: impl Into<Value>) -> Self {
        Self(self.0.bind(value))
    }

    pub(crate) fn bind_all(self, values: impl IntoIterator<Item = Value>) -> Self {
        Self(self.0.bind_all(values))
    }

    pub(crate) async fn fetch_one<'a>(self, on: impl Into<On<'a>>) -> Result<T> {
        Ok(self.0.fetch_one(on).await?.0)
    }

    pub(crate) async fn fetch_optional<'a>(self, on: impl Into<On<'a>>) -> Result<Option<T>> {
        Ok(self.0.fetch_optional(on).await?.map(|row| row.0))
    }

    pub(crate) async fn fetch_all<'a>(self, on: impl Into<On<'a>>) -> Result<Vec<T>> {
        let rows = self.0.fetch_all(on).await?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }
}

fn to_sqlite(values: Vec<Value>) -> Result<SqliteArguments> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            Value::Int(value) => Arguments::add(&mut arguments, value),
            Value::Text(value) => Arguments::add(&mut arguments, without_nul(value)?),
            Value::Bool(value) => Arguments::add(&mut arguments, value),
            Value::Bytes(value) => Arguments::add(&mut arguments, value),
        }
        .map_err(unbound)?;
    }
    Ok(arguments)
}

fn to_postgres(values: Vec<Value>) -> Result<PgArguments> {
    let mut arguments = PgArguments::default();
    for value in values {
        match value {
            Value::Int(value) => Arguments::add(&mut arguments, value),
            Value::Text(value) => Arguments::add(&mut arguments, without_nul(value)?),
            Value::Bool(value) => Arguments::add(&mut arguments, value),
            Value::Bytes(value) => Arguments::add(&mut arguments, value),
        }
        .map_err(unbound)?;
    }
    Ok(arguments)
}

/// Postgres cannot keep a NUL in a text, so SQLite does not either.
fn without_nul(text: Option<String>) -> Result<Option<String>> {
    match text {
        Some(text) if text.contains('\0') => Err(Error::Nul),
        text => Ok(text),
    }
}

fn unbound(error: sqlx::error::BoxDynError) -> Error {
    super::failed_to("bind the values of a statement", here!())(sqlx::Error::Encode(error))
}
