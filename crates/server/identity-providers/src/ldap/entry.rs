//! An entry of a directory.

#[derive(Debug)]
pub(crate) struct LdapEntry {
    pub(crate) dn: String,
    pub(crate) attributes: Vec<(String, Vec<String>)>,
}

impl LdapEntry {
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
