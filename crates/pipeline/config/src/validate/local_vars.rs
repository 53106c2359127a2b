//! The variables of the build that are known at each step, to warn of those that hide others.

use std::collections::HashSet;

pub(crate) struct LocalVars(Vec<HashSet<String>>);

pub(super) enum Declared {
    New,
    Repeated,
    Shadows,
}

impl Default for LocalVars {
    fn default() -> Self {
        Self(vec![HashSet::new()])
    }
}

impl LocalVars {
    pub(crate) fn open(&mut self) {
        self.0.push(HashSet::new());
    }

    pub(crate) fn close(&mut self) {
        self.0.pop();
    }

    pub(super) fn declare(&mut self, name: &str) -> Declared {
        let known_outside = self.0.iter().any(|scope| scope.contains(name));
        let Some(scope) = self.0.last_mut() else {
            return Declared::New;
        };
        if !scope.insert(name.to_owned()) {
            Declared::Repeated
        } else if known_outside {
            Declared::Shadows
        } else {
            Declared::New
        }
    }
}
