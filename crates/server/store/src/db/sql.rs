//! Statements. Every one is registered, so that a test can prepare them all on both databases.

use std::borrow::Cow;

/// A statement that was written with [`sql!`], or put together from such pieces.
pub(crate) struct Sql {
    pub(crate) text: Cow<'static, str>,
    /// The path of the function that holds it; empty if it was put together.
    pub(crate) function: &'static str,
}

impl Sql {
    /// A statement whose shape depends on its arguments. It is made of pieces only, never of
    /// values; its caller tests each shape.
    pub(crate) fn built(text: String) -> Self {
        Self {
            text: Cow::Owned(text),
            function: "",
        }
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
        $crate::db::Sql {
            text: std::borrow::Cow::Borrowed(concat!($($piece),+)),
            function: $crate::db::here!(),
        }
    }};
}
pub(crate) use sql;
