//! Where in the text the parts of a pipeline stand, by path, for rules that are checked later.

use std::collections::HashMap;

use airside_yaml::Span;

#[derive(Default)]
pub(crate) struct Places(HashMap<String, Span>);

impl Places {
    pub(crate) fn note(&mut self, path: impl Into<String>, span: Span) {
        self.0.insert(path.into(), span);
    }

    pub(crate) fn find(&self, path: &str) -> Option<Span> {
        self.0.get(path).copied()
    }
}
