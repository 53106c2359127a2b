//! The names of the fields of a form, as its derived reader has them.

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor, value},
    forward_to_deserialize_any,
};

/// Returns the names of the fields that a struct is read from.
pub(crate) fn field_names<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // It yields the names, and then an error: there is nothing to read.
    let _ = T::deserialize(NameCollector(&mut names));
    names
}

/// A source of nothing that notes the fields that a struct wants.
struct NameCollector<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for NameCollector<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("there is nothing to read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
