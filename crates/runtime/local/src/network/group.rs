//! The mark by which rules distinguish one installation's interfaces from others.

use std::fmt;

use airside_model::InstallationId;
use serde::{Deserialize, Serialize};

/// The kernel's group of interfaces that an installation's ends on the machine are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group(u32);

/// Groups that people number by hand are small, and `ip` knows none above this.
const NOT_BY_HAND: u32 = 1 << 30;

impl Group {
    pub(crate) fn of(installation: &InstallationId) -> Self {
        let hash = super::pool::hash(installation.as_str());
        Self((hash % NOT_BY_HAND) | NOT_BY_HAND)
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
