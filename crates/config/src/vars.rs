//! Finds `((variables))`, which this version cannot fill in yet.

/// The first variable in a text, with its parentheses. `((1 + 2))` of a shell script is none.
pub(crate) fn first(text: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(open) = text[from..].find("((") {
        let start = from + open;
        let name = &text[start + 2..];
        let length = name.find(|c: char| !is_name_char(c)).unwrap_or(name.len());
        if length > 0 && name[length..].starts_with("))") {
            return Some(&text[start..start + 2 + length + 2]);
        }
        from = start + 1;
    }
    None
}

fn is_name_char(c: char) -> bool {
    c.is_alphabetic() || c.is_ascii_digit() || matches!(c, '-' | '/' | '.' | ':' | '@' | '"' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_variables_and_nothing_else() {
        assert_eq!(first("a ((b)) ((c))"), Some("((b))"));
        assert_eq!(first("((vault:\"x.y\".z))"), Some("((vault:\"x.y\".z))"));
        assert_eq!(first("(((x)))"), Some("((x))"));
        assert_eq!(first("((é))"), Some("((é))"));
        for text in [
            "",
            "((",
            "(())",
            "$((1 + 2))",
            "((a b))",
            "((a)",
            "(( ((a )) ",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
    }
}
