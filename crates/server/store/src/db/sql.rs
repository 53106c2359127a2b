//! Statements. Every one is registered, so that a test can prepare them all on both databases.

use std::borrow::Cow;

/// A statement that was written with [`sql!`], or put together from such pieces.
pub(crate) struct Sql(pub(crate) Cow<'static, str>);

impl Sql {
    /// A statement whose shape depends on what is asked for. Pieces only, never values; whoever
    /// uses it tests each shape.
    pub(crate) fn built(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

#[cfg(test)]
#[linkme::distributed_slice]
pub(crate) static STATEMENTS: [&'static str];

/// A statement, in one or more literal pieces.
macro_rules! sql {
    ($($piece:expr),+ $(,)?) => {{
        #[cfg(test)]
        #[linkme::distributed_slice($crate::db::STATEMENTS)]
        static STATEMENT: &str = concat!($($piece),+);
        $crate::db::Sql(std::borrow::Cow::Borrowed(concat!($($piece),+)))
    }};
}
pub(crate) use sql;
