//! Places in the text of the parts of a pipeline, by path, for rules that are checked later.

use std::{cell::RefCell, collections::HashMap};

use airside_yaml::Span;

/// Places in the order in which they were read. Most pipelines have no problem, so they are sorted
/// only when one is looked up.
#[derive(Default)]
pub(crate) struct Places {
    noted: RefCell<Vec<(String, Span)>>,
    found: RefCell<HashMap<String, Span>>,
}

impl Places {
    /// The last of several notes of one path counts.
    pub(crate) fn note(&mut self, path: impl Into<String>, span: Span) {
        self.noted.get_mut().push((path.into(), span));
    }

    pub(crate) fn find(&self, path: &str) -> Option<Span> {
        let mut found = self.found.borrow_mut();
        found.extend(self.noted.borrow_mut().drain(..));
        found.get(path).copied()
    }
}

#[cfg(test)]
mod tests {
    use airside_yaml::Position;

    use super::*;

    #[test]
    fn places_are_found_whenever_they_were_noted() {
        let at = |line| Span {
            start: Position {
                line,
                ..Position::default()
            },
            ..Span::default()
        };
        let mut places = Places::default();
        places.note("a", at(1));
        assert_eq!(places.find("a"), Some(at(1)));
        assert_eq!(places.find("b"), None);
        places.note("b", at(2));
        places.note("a", at(3));
        assert_eq!(
            (places.find("a"), places.find("b")),
            (Some(at(3)), Some(at(2)))
        );
    }
}
