//! Search filters, as they go to the directory. Names are put in as bytes of their own, not into a
//! text that is read afterwards, so that they stay names.

use super::ber::{joined, tagged, text};

const AND: u8 = 0xa0;
const OR: u8 = 0xa1;
const NOT: u8 = 0xa2;
const EQUAL: u8 = 0xa3;
const SUBSTRINGS: u8 = 0xa4;
const AT_LEAST: u8 = 0xa5;
const AT_MOST: u8 = 0xa6;
const PRESENT: u8 = 0x87;
const ABOUT: u8 = 0xa8;
const EXTENSIBLE: u8 = 0xa9;

/// The deepest nesting of filters.
const DEEPEST: usize = 32;

/// A whole filter, encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter(pub(crate) Vec<u8>);

impl Filter {
    /// Reads a filter as people write it: `(objectClass=person)`; the outer parentheses may be left
    /// out.
    pub(crate) fn parse(given: &str) -> Option<Self> {
        let given = given.trim();
        let whole = if given.starts_with('(') {
            given.to_owned()
        } else {
            format!("({given})")
        };
        let mut parser = Parser(&whole);
        let filter = parser.filter(DEEPEST)?;
        parser.0.trim().is_empty().then_some(Self(filter))
    }

    /// Entries whose attribute has this value, and that fit the other filter, too.
    pub(crate) fn equal(attribute: &str, value: &str, and: Option<&Self>) -> Self {
        let equal = joined(EQUAL, &[text(attribute), text(value)]);
        match and {
            Some(Self(other)) => Self(joined(AND, &[other.clone(), equal])),
            None => Self(equal),
        }
    }
}

struct Parser<'a>(&'a str);

impl<'a> Parser<'a> {
    fn eat(&mut self, c: char) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(c)?;
        Some(())
    }

    fn filter(&mut self, depth: usize) -> Option<Vec<u8>> {
        let depth = depth.checked_sub(1)?;
        self.eat('(')?;
        let filter = if self.eat('&').is_some() {
            joined(AND, &self.list(depth)?)
        } else if self.eat('|').is_some() {
            joined(OR, &self.list(depth)?)
        } else if self.eat('!').is_some() {
            tagged(NOT, &self.filter(depth)?)
        } else {
            let (item, _) = self.0.split_once(')')?;
            self.0 = &self.0[item.len()..];
            comparison(item)?
        };
        self.eat(')')?;
        Some(filter)
    }

    fn list(&mut self, depth: usize) -> Option<Vec<Vec<u8>>> {
        let mut filters = Vec::new();
        while self.0.trim_start().starts_with('(') {
            filters.push(self.filter(depth)?);
        }
        (!filters.is_empty()).then_some(filters)
    }
}

fn comparison(item: &str) -> Option<Vec<u8>> {
    let (left, value) = item.split_once('=')?;
    let (kind, attribute) = match left
        .trim()
        .split_at_checked(left.trim().len().checked_sub(1)?)?
    {
        (attribute, ">") => (AT_LEAST, attribute),
        (attribute, "<") => (AT_MOST, attribute),
        (attribute, "~") => (ABOUT, attribute),
        (rule, ":") => return extensible(rule, value),
        _ => (EQUAL, left.trim()),
    };
    if !is_name(attribute) || value.contains('(') {
        return None;
    }
    match value {
        "*" if kind == EQUAL => Some(tagged(PRESENT, attribute.as_bytes())),
        value if kind == EQUAL && value.contains('*') => substrings(attribute, value),
        value => Some(pair(kind, attribute, &unescape(value)?)),
    }
}

fn pair(kind: u8, attribute: &str, value: &[u8]) -> Vec<u8> {
    joined(kind, &[text(attribute), tagged(0x04, value)])
}

fn substrings(attribute: &str, value: &str) -> Option<Vec<u8>> {
    let parts: Vec<&str> = value.split('*').collect();
    let last = parts.len() - 1;
    let mut encoded = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        let tag = match index {
            0 => 0x80,
            index if index == last => 0x82,
            _ => 0x81,
        };
        if !part.is_empty() {
            encoded.push(tagged(tag, &unescape(part)?));
        }
    }
    let parts = joined(0x30, &encoded);
    Some(joined(SUBSTRINGS, &[text(attribute), parts]))
}

/// `attribute:dn:rule:=value`, of which the attribute, `dn` or the rule may be missing.
fn extensible(rule: &str, value: &str) -> Option<Vec<u8>> {
    let mut words = rule.split(':').map(str::trim);
    let attribute = words.next()?;
    let mut rules: Vec<&str> = words.collect();
    let with_dn = rules
        .first()
        .is_some_and(|word| word.eq_ignore_ascii_case("dn"));
    if with_dn {
        rules.remove(0);
    }
    let named = !attribute.is_empty() || !rules.is_empty();
    let good = rules
        .iter()
        .chain([&attribute].into_iter().filter(|name| !name.is_empty()));
    if rules.len() > 1 || !named || !good.into_iter().all(|name| is_name(name)) {
        return None;
    }
    let mut parts = Vec::new();
    parts.extend(rules.first().map(|rule| tagged(0x81, rule.as_bytes())));
    if !attribute.is_empty() {
        parts.push(tagged(0x82, attribute.as_bytes()));
    }
    parts.push(tagged(0x83, &unescape(value)?));
    if with_dn {
        parts.push(tagged(0x84, &[0xff]));
    }
    Some(joined(EXTENSIBLE, &parts))
}

/// An attribute or a rule, by name or by number, perhaps with options.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ';' | '_');
    !name.is_empty() && name.chars().all(allowed)
}

/// `\2a` stands for a byte.
fn unescape(value: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn filters_are_encoded_as_the_standard_has_it() {
        for (filter, expected) in [
            ("(a=b)", "a306040161040162"),
            (" a = b ", "a30704016104022062"),
            ("(a=*)", "870161"),
            ("(a>=b)", "a506040161040162"),
            ("(a<=b)", "a606040161040162"),
            ("(a~=b)", "a806040161040162"),
            ("(a=\\2a\\28)", "a30704016104022a28"),
            ("(!(a=b))", "a208a306040161040162"),
            ("(&(a=b)(c=*))", "a00ba306040161040162870163"),
            ("(|(a=b))", "a108a306040161040162"),
            ("(a=b*c*d)", "a40e0401613009800162810163820164"),
            ("(a=*c)", "a4080401613003820163"),
            ("(a:1.2:=b)", "a90b8103312e32820161830162"),
            ("(:dn:1.2:=b)", "a90b8103312e328301628401ff"),
        ] {
            let encoded = Filter::parse(filter).unwrap_or_else(|| panic!("{filter}"));
            assert_eq!(hex(&encoded.0), expected, "{filter}");
        }
    }

    #[test]
    fn names_stay_names() {
        for name in ["*", "a)(uid=*", "a\\b", "a\0b", "ünï", ""] {
            let mut expected = vec![0xa3, 0, 4, 3, b'u', b'i', b'd', 4, name.len() as u8];
            expected.extend(name.as_bytes());
            expected[1] = expected.len() as u8 - 2;
            assert_eq!(Filter::equal("uid", name, None).0, expected, "{name:?}");
        }
        let other = Filter::parse("(a=b)").unwrap();
        let both = Filter::equal("c", "d", Some(&other));
        assert_eq!(both, Filter::parse("(&(a=b)(c=d))").unwrap());
    }

    #[test]
    fn what_is_no_filter_is_found_out_at_once() {
        let deep = format!("{}(a=b){}", "(!".repeat(99), ")".repeat(99));
        for bad in [
            "",
            "(",
            "()",
            "(a)",
            "(a=b",
            "(a=b))",
            "(a=b)(c=d)",
            "a b c",
            "(=b)",
            "(&)",
            "(!)",
            "(a b=c)",
            "(a=(b)",
            "(a=\\2)",
            "(a=\\zz)",
            "(a:=b",
            "(:=b)",
            "(a:b:c:=d)",
            "(é=b)",
            &deep,
        ] {
            assert_eq!(Filter::parse(bad), None, "{bad}");
        }
    }
}
