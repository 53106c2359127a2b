//! Search filters into which names are put so that they stay names.

use ldap3::{ldap_escape, parse_filter};

/// Entries that fit the filter and whose attribute has this value.
pub(crate) fn all_of(filter: Option<&str>, attribute: &str, value: &str) -> String {
    let equal = format!("({attribute}={})", ldap_escape(value));
    match filter {
        Some(filter) => format!("(&{}{equal})", in_parentheses(filter)),
        None => equal,
    }
}

/// Whether it is a filter at all.
pub(crate) fn check(filter: &str) -> Result<(), ()> {
    parse_filter(in_parentheses(filter))
        .map(|_| ())
        .map_err(|_| ())
}

fn in_parentheses(filter: &str) -> String {
    match filter.trim() {
        filter if filter.starts_with('(') => filter.to_owned(),
        filter => format!("({filter})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        for (name, expected) in [
            ("ann", "(uid=ann)"),
            ("*", "(uid=\\2a)"),
            ("a)(uid=*", "(uid=a\\29\\28uid=\\2a)"),
            ("a\\b", "(uid=a\\5cb)"),
            ("a\0b", "(uid=a\\00b)"),
            ("ünï", "(uid=ünï)"),
        ] {
            let filter = all_of(None, "uid", name);
            assert_eq!(filter, expected);
            check(&filter).unwrap();
        }
        assert_eq!(
            all_of(Some("objectClass=person"), "uid", "ann"),
            "(&(objectClass=person)(uid=ann))"
        );
        assert_eq!(
            all_of(Some("(|(a=b)(c=d))"), "uid", "ann"),
            "(&(|(a=b)(c=d))(uid=ann))"
        );
    }

    #[test]
    fn what_is_no_filter_is_found_out_at_once() {
        for bad in ["", "(", "(a=b", "(a=b))", "a b c"] {
            assert_eq!(check(bad), Err(()), "{bad}");
        }
    }
}
