//! Parts of a page that a browser fetches again after a change, by their ids.
//!
//! A template brackets such a part with comments: `<!--[steps]-->` and `<!--[/steps]-->`. Text of
//! users cannot forge them, since templates escape `<`.

/// Returns the parts of these ids, one after the other. An id that the page does not have is left
/// out.
pub fn fragments(body: &str, ids: &str) -> String {
    let mut found = String::new();
    for id in ids.split(',').take(MAX_FRAGMENTS) {
        found.push_str(fragment(body, id).unwrap_or_default());
    }
    found
}

/// The largest number of parts in one request.
const MAX_FRAGMENTS: usize = 32;

fn fragment<'a>(body: &'a str, id: &str) -> Option<&'a str> {
    let opening = format!("<!--[{id}]-->");
    let (_, rest) = body.split_once(&opening)?;
    let (part, _) = rest.split_once(&format!("<!--[/{id}]-->"))?;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::fragments;

    #[test]
    fn parts_are_found_by_their_ids() {
        let page = "a<!--[b]--><p id=\"b\">B</p><!--[/b]-->c<!--[d]--><p id=\"d\">D</p><!--[/d]-->";
        assert_eq!(fragments(page, "b"), "<p id=\"b\">B</p>");
        assert_eq!(
            fragments(page, "d,x,b"),
            "<p id=\"d\">D</p><p id=\"b\">B</p>"
        );
        assert_eq!(fragments(page, ""), "");
    }
}
