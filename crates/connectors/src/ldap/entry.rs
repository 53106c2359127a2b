//! An entry of a directory, taken apart without trusting that it is one.

use ldap3::{ResultEntry, asn1::StructureTag};

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) dn: String,
    attributes: Vec<(String, Vec<String>)>,
}

impl Entry {
    /// `None` if it is no entry. The library's own reader ends the program then.
    pub(crate) fn read(entry: ResultEntry) -> Option<Self> {
        let mut parts = entry.0.match_id(4)?.expect_constructed()?.into_iter();
        let dn = text(parts.next()?)?;
        let attributes = parts.next()?.expect_constructed()?;
        let attributes = attributes
            .into_iter()
            .map(attribute)
            .collect::<Option<_>>()?;
        Some(Self { dn, attributes })
    }

    /// Names of attributes may be spelt in any case; `DN` is the entry's own name.
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        let mut all = self.attributes.iter();
        match all.find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, values)) => values.iter().map(String::as_str).collect(),
            None if name.eq_ignore_ascii_case("dn") => vec![&self.dn],
            None => Vec::new(),
        }
    }

    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.values(name).first().copied()
    }
}

/// Values that are no text are left out: nobody is called that.
fn attribute(tag: StructureTag) -> Option<(String, Vec<String>)> {
    let mut parts = tag.expect_constructed()?.into_iter();
    let name = text(parts.next()?)?;
    let values = parts.next()?.expect_constructed()?;
    Some((name, values.into_iter().filter_map(text).collect()))
}

fn text(tag: StructureTag) -> Option<String> {
    String::from_utf8(tag.expect_primitive()?).ok()
}
