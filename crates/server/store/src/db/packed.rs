//! Long lists as one value.
//!
//! Rows come from SQLite's thread one by one, each waking up the task that waits for it: for
//! hundreds of them that takes longer than finding them. So the database puts a list together
//! itself, as one text that both kinds of database make alike: a number or flag and a semicolon; or
//! the length of a text in bytes, a colon and the text. A missing value is an empty number, or an
//! empty length.
//!
//! ```text
//! SELECT packed!(num "j.id", text "j.name", text "j.paused_by"; "j.ordering") FROM jobs j
//!     ─▶  7;3:job:8;4:next3:bob
//! ```

use super::{On, Sql, Value, query_scalar};
use crate::{Result, corrupt};

/// All rows of these columns, in this order, as one value. `concat` takes what is not there for
/// nothing.
macro_rules! packed {
    ($kind:ident $first:literal $(, $kinds:ident $column:literal)* ; $order:literal) => {
        concat!(
            "string_agg(concat(",
            $crate::db::field!($kind $first) $(, ", ", $crate::db::field!($kinds $column))*,
            "), '' ORDER BY ", $order, ")"
        )
    };
}
pub(crate) use packed;

macro_rules! field {
    (num $column:literal) => {
        concat!($column, ", ';'")
    };
    (text $column:literal) => {
        concat!("octet_length(", $column, "), ':', ", $column)
    };
}
pub(crate) use field;

/// Something that is read from the fields of one row, in their order.
pub(crate) trait Unpack: Sized {
    fn unpack(fields: &mut Fields<'_>) -> Result<Self>;
}

/// A statement whose only column is [`packed!`].
pub(crate) async fn fetch_packed<'a, T: Unpack>(
    sql: Sql,
    values: impl IntoIterator<Item = Value>,
    on: impl Into<On<'a>>,
) -> Result<Vec<T>> {
    let packed: Option<String> = query_scalar(sql).bind_all(values).fetch_one(on).await?;
    Fields::list(&packed.unwrap_or_default())
}

/// The fields that are still to be read.
pub(crate) struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    /// Reads all rows of a packed list.
    pub(crate) fn list<T: Unpack>(packed: &'a str) -> Result<Vec<T>> {
        let mut fields = Fields(packed);
        let mut rows = Vec::new();
        while !fields.0.is_empty() {
            rows.push(T::unpack(&mut fields)?);
        }
        Ok(rows)
    }

    pub(crate) fn text_if_any(&mut self) -> Result<Option<&'a str>> {
        let Some(length) = self.until(':')? else {
            return Ok(None);
        };
        let field = length.parse().ok();
        let field = field.and_then(|length| self.0.split_at_checked(length));
        let (field, rest) = field.ok_or_else(|| corrupt("a packed list"))?;
        self.0 = rest;
        Ok(Some(field))
    }

    /// Returns the text before the mark, if there is any; the mark is passed over.
    fn until(&mut self, mark: char) -> Result<Option<&'a str>> {
        let found = self.0.split_once(mark);
        let (field, rest) = found.ok_or_else(|| corrupt("a packed list"))?;
        self.0 = rest;
        Ok((!field.is_empty()).then_some(field))
    }

    fn value(&mut self) -> Result<&'a str> {
        self.until(';')?
            .ok_or_else(|| corrupt("a packed list: a number is missing"))
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        self.text_if_any()?
            .ok_or_else(|| corrupt("a packed list: a field is missing"))
    }

    pub(crate) fn owned(&mut self) -> Result<String> {
        self.text().map(str::to_owned)
    }

    pub(crate) fn owned_if_any(&mut self) -> Result<Option<String>> {
        Ok(self.text_if_any()?.map(str::to_owned))
    }

    pub(crate) fn int(&mut self) -> Result<i64> {
        number(self.value()?)
    }

    pub(crate) fn int_if_any(&mut self) -> Result<Option<i64>> {
        self.until(';')?.map(number).transpose()
    }

    /// Reads a flag, which SQLite keeps as a number and Postgres shows as a letter.
    pub(crate) fn flag(&mut self) -> Result<bool> {
        match self.value()? {
            "1" | "t" => Ok(true),
            "0" | "f" => Ok(false),
            other => Err(corrupt(format!("a packed list: {other} is not a flag"))),
        }
    }
}

fn number(text: &str) -> Result<i64> {
    text.parse()
        .map_err(|_| corrupt(format!("a packed list: {text} is not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_were() {
        let mut fields = Fields("7;;0:6:a:1;é:t;0;");
        assert_eq!(fields.int().unwrap(), 7);
        assert_eq!(fields.int_if_any().unwrap(), None);
        assert_eq!(fields.text().unwrap(), "");
        assert_eq!(fields.owned().unwrap(), "a:1;é");
        assert_eq!(fields.text_if_any().unwrap(), None);
        assert!(fields.flag().unwrap());
        assert!(!fields.flag().unwrap());
        assert!(fields.0.is_empty());
    }

    #[test]
    fn what_was_not_packed_is_refused() {
        for broken in ["", "7", ":", "9:short", "x:1", "1:é", "-1:a"] {
            assert!(Fields(broken).text().is_err(), "{broken:?}");
        }
        assert!(Fields("2;").flag().is_err());
        for broken in ["", "7", ";", "x;"] {
            assert!(Fields(broken).int().is_err(), "{broken:?}");
        }
    }
}
