//! Glyphs, icons and other small marks as markup.

use std::borrow::Borrow;

use askama::filters::{Html, escape};

use crate::PageStatus;

/// Returns the glyph of a status for the eye, followed by its word for readers.
pub(crate) fn status_glyph(status: impl Borrow<PageStatus>, size: &str) -> String {
    let status = *status.borrow();
    format!(
        "{}<span class=\"hidden-text\">{}</span>",
        glyph(status, size),
        status.word()
    )
}

/// Returns the glyph of a status; the text beside it says which.
pub(crate) fn glyph(status: impl Borrow<PageStatus>, size: &str) -> String {
    let name = status.borrow().name();
    let size = spaced(size);
    format!(
        "<svg class=\"glyph{size} s-{name}\" aria-hidden=\"true\"><use href=\"#g-{name}\"/></svg>"
    )
}

/// Returns an icon.
pub(crate) fn icon(name: &str, size: &str) -> String {
    let size = spaced(size);
    format!("<svg class=\"icon{size}\" aria-hidden=\"true\"><use href=\"#i-{name}\"/></svg>")
}

fn spaced(size: &str) -> String {
    if size.is_empty() {
        String::new()
    } else {
        format!(" {size}")
    }
}

/// Returns a text with its http(s) addresses as links.
pub(crate) fn linked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let safe = escaped(word);
        if is_address(word) {
            out.push_str(&format!(
                "<a class=\"link\" href=\"{safe}\" rel=\"noopener noreferrer\">{safe}</a>"
            ));
        } else {
            out.push_str(&safe);
        }
    }
    out
}

fn is_address(word: &str) -> bool {
    let rest = word
        .strip_prefix("https://")
        .or_else(|| word.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        rest.chars().next().is_some_and(char::is_alphanumeric)
            && !rest.chars().any(|it| it.is_whitespace() || it.is_control())
    })
}

fn escaped(text: &str) -> String {
    escape(text, Html).map_or_else(|never| match never {}, |safe| safe.to_string())
}

#[cfg(test)]
mod tests {
    use super::linked;

    #[test]
    fn addresses_become_links_and_nothing_else_does() {
        assert_eq!(
            linked("see https://a.example/x?y=1&z=\"2\" or javascript:alert(1) <b>"),
            "see <a class=\"link\" href=\"https://a.example/x?y=1&#38;z=&#34;2&#34;\" rel=\"noopener noreferrer\">\
             https://a.example/x?y=1&#38;z=&#34;2&#34;</a> or javascript:alert(1) &#60;b&#62;"
        );
        assert_eq!(linked("http:// https://-"), "http:// https://-");
    }
}
