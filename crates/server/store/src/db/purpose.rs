//! The purpose of a statement, for the error that says it failed.
//!
//! Nothing is written by hand: the first words of a statement give the action and the table, and
//! the function that holds it has a name. Both are worked out only when there is an error to show.

use std::{borrow::Cow, fmt};

/// A statement's or transaction's purpose, such as `cannot read pipelines
/// (pipelines::list::pipelines)`.
#[derive(Debug)]
pub struct Purpose {
    action: String,
    /// The path of the function, as the compiler knows it; empty if the statement was put together.
    function: &'static str,
}

impl Purpose {
    pub(crate) fn of_statement(text: &str, function: &'static str) -> Self {
        Self {
            action: action(text),
            function,
        }
    }

    pub(crate) fn new(action: impl Into<String>, function: &'static str) -> Self {
        Self {
            action: action.into(),
            function,
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.action)?;
        match short(self.function).as_ref() {
            "" => Ok(()),
            function => write!(f, " ({function})"),
        }
    }
}

/// Returns the path of the function that holds the expression.
macro_rules! here {
    () => {
        std::any::type_name_of_val(&|| {})
    };
}
pub(crate) use here;

/// Returns a function's path without the crate, the `impl` block and closures.
fn short(function: &'static str) -> Cow<'static, str> {
    let parts = function.split("::").filter(|part| {
        !matches!(*part, "airside_store" | "{{closure}}") && !part.contains(['<', '>'])
    });
    parts.collect::<Vec<_>>().join("::").into()
}

/// Returns the verb and the table of a statement, such as `update builds`.
fn action(text: &str) -> String {
    let verb = text.split_whitespace().next().unwrap_or_default();
    let (verb, mark) = match verb.to_ascii_uppercase().as_str() {
        "INSERT" => ("insert into", "INTO"),
        "DELETE" => ("delete from", "FROM"),
        "UPDATE" => ("update", "UPDATE"),
        _ => ("read", "FROM"),
    };
    format!(
        "{verb} {}",
        table_after(mark, text).unwrap_or("the database")
    )
}

/// Returns the word after the first mark that is in no parentheses: those hold other statements.
fn table_after<'a>(mark: &str, text: &'a str) -> Option<&'a str> {
    let mut depth = 0;
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if depth == 0 && word.eq_ignore_ascii_case(mark) {
            return words.next();
        }
        depth += word.matches('(').count();
        depth = depth.saturating_sub(word.matches(')').count());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_tell_their_action_and_table() {
        for (text, expected) in [
            ("SELECT id FROM pipelines WHERE id = $1", "read pipelines"),
            ("INSERT INTO teams (name) VALUES ($1)", "insert into teams"),
            ("UPDATE builds\n SET status = 'x'", "update builds"),
            (
                "DELETE FROM volumes WHERE id IN ($1)",
                "delete from volumes",
            ),
            (
                "SELECT count(*), (SELECT name FROM users) FROM jobs j",
                "read jobs",
            ),
            ("WITH x AS (SELECT 1 FROM jobs) SELECT 2 FROM x", "read x"),
            ("SELECT 1", "read the database"),
            ("", "read the database"),
        ] {
            let purpose = Purpose::of_statement(text, "");
            assert_eq!(purpose.to_string(), format!("cannot {expected}"));
        }
    }

    #[tokio::test]
    async fn functions_have_names() {
        let here = async { here!() }.await;
        let purpose = Purpose::new("begin a transaction", here);
        assert_eq!(
            purpose.to_string(),
            "cannot begin a transaction (db::purpose::tests::functions_have_names)"
        );
        let list =
            "airside_store::pipelines::list::<impl airside_store::Store>::pipelines::{{closure}}";
        assert_eq!(short(list), "pipelines::list::pipelines");
    }
}
