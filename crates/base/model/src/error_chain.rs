//! Errors as text for logs, events and people.

use std::error::Error;

/// Returns an error with all of its causes on one line, joined by ": ".
///
/// Our errors never repeat their source in their own text, while those of some libraries do: a
/// cause that the text contains already is left out. The JSON log prints nothing but a field's own
/// text, so a log line must be given the whole chain: `warn!(error = %chain(&error), "image pull
/// failed")`.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        #[source]
        cause: Option<Box<Layer>>,
    }

    fn layers(texts: &[&'static str]) -> Layer {
        let (text, rest) = texts.split_first().unwrap();
        Layer {
            text,
            cause: (!rest.is_empty()).then(|| Box::new(layers(rest))),
        }
    }

    #[test]
    fn all_causes_are_joined() {
        let error = layers(&[
            "cannot list pipelines",
            "pool timed out",
            "connection refused",
        ]);
        assert_eq!(
            chain(&error),
            "cannot list pipelines: pool timed out: connection refused"
        );
        assert_eq!(chain(&layers(&["alone"])), "alone");
    }

    #[test]
    fn a_cause_in_the_text_is_not_repeated() {
        let error = layers(&["cannot connect: refused", "refused", "os error 111", ""]);
        assert_eq!(chain(&error), "cannot connect: refused: os error 111");
    }
}
