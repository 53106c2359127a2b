//! The scalars of a document as they are written, for callers that edit the text.

use crate::document::{Document, Kind};
use crate::events::Style;
use crate::{Error, Span};

/// Returns the places of the scalars that have neither quotes nor a tag and are not behind `|` or
/// `>`, in the order of the text.
pub fn plain_scalars(text: &str) -> Result<Vec<Span>, Error> {
    let document = Document::compose(text)?;
    let is_plain = |kind: &Kind| {
        matches!(
            kind,
            Kind::Scalar {
                style: Style::Plain,
                tag: None,
                ..
            }
        )
    };
    let nodes = document.nodes().iter();
    let mut found: Vec<Span> = nodes
        .filter(|node| is_plain(&node.kind))
        .map(|node| node.span)
        .collect();
    found.sort_by_key(|span| span.start);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_scalars_are_found() {
        let text = "a: 'b'\n\"c\": [d, !!str e, &f g, *f]\nh: |\n  i\nj: k\n  l\n";
        let found = plain_scalars(text).unwrap();
        let written: Vec<&str> = found
            .iter()
            .map(|span| &text[span.start.offset..span.end.offset])
            .collect();
        assert_eq!(written, ["a", "d", "g", "h", "j", "k\n  l"]);
        assert!(plain_scalars("[").is_err());
    }
}
