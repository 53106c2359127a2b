//! The decision of a search for one input.

use airside_model::{BuildId, ResourceVersionId};

use super::walk::Step;

/// The decision for one input so far.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) version: ResourceVersionId,
    pub(super) vouchers: Vouchers,
    pub(super) builds: Vec<BuildId>,
    pub(super) more: bool,
}

/// The upstream jobs that vouched for an input, by their places in `passed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Vouchers(Vec<u64>);

impl Vouchers {
    pub(super) fn has(&self, place: usize) -> bool {
        let word = self.0.get(place / 64).copied().unwrap_or_default();
        word & (1 << (place % 64)) != 0
    }

    fn add(&mut self, place: usize) {
        if self.0.len() <= place / 64 {
            self.0.resize(place / 64 + 1, 0);
        }
        self.0[place / 64] |= 1 << (place % 64);
    }
}

impl Choice {
    /// Returns the choice with the word of one more job, that of the step's build.
    pub(super) fn vouched_for(
        choice: Option<&Self>,
        version: ResourceVersionId,
        place: usize,
        step: &Step<'_>,
    ) -> Self {
        let mut vouched = choice.cloned().unwrap_or_else(|| Self {
            version,
            vouchers: Vouchers::default(),
            builds: Vec::new(),
            more: false,
        });
        vouched.vouchers.add(place);
        vouched.more |= step.more;
        let build = step.build.key.build;
        if !vouched.builds.contains(&build) {
            vouched.builds.push(build);
        }
        vouched
    }
}
