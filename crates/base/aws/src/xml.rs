//! Just enough of XML for the answers of AWS: elements by name, and their text.

/// The insides of all elements of a name, in order. They do not nest in themselves.
pub fn elements<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find(&open) {
        let inside = &rest[start + open.len()..];
        let Some(end) = inside.find(&close) else {
            break;
        };
        found.push(&inside[..end]);
        rest = &inside[end + close.len()..];
    }
    found
}

/// The text of the first element of a name.
pub fn text(xml: &str, name: &str) -> Option<String> {
    elements(xml, name).first().map(|inside| unescape(inside))
}

fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let known = rest
            .find(';')
            .and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (character, length) = known.unwrap_or(('&', 1));
        plain.push(character);
        rest = &rest[length..];
    }
    plain + rest
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_and_read() {
        let xml = "<L><C><Key>a&amp;b</Key></C><C><Key>&#x63;&#100;</Key></C><K/></L>";
        let keys: Vec<_> = elements(xml, "C")
            .iter()
            .filter_map(|c| text(c, "Key"))
            .collect();
        assert_eq!(keys, ["a&b", "cd"]);
        assert_eq!(text(xml, "None"), None);
        assert_eq!(
            text("<a>&odd; & &#x110000;</a>", "a").unwrap(),
            "&odd; & &#x110000;"
        );
        assert_eq!(elements("<a><b>", "a"), [] as [&str; 0]);
    }
}
