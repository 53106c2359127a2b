//! Pages of lists: `from|to&limit`, as Concourse has them in addresses.

use airside_model::BuildId;
use airside_store::{BuildPage, BuildRange};

use super::PageRequest;

const DEFAULT: i64 = 50;
const LARGEST: i64 = 200;

/// The part of a list that an address names. What cannot be read is the first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ListPage {
    pub(super) limit: i64,
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
}

impl ListPage {
    pub(super) fn of(request: &PageRequest) -> Self {
        let number = |name| {
            let value = request.query(name)?.parse().ok();
            value.filter(|number: &i64| *number > 0)
        };
        Self {
            limit: number("limit").unwrap_or(DEFAULT).min(LARGEST),
            from: number("from"),
            to: number("to"),
        }
    }

    /// Returns true if the page begins with the newest.
    pub(super) fn is_first(self) -> bool {
        (self.from, self.to) == (None, None)
    }

    pub(super) fn builds(self) -> BuildPage {
        BuildPage {
            limit: self.limit,
            range: BuildRange::Ids {
                from: self.from.map(BuildId),
                to: self.to.map(BuildId),
            },
        }
    }

    /// Returns the address of another page of the list at `base`.
    pub(super) fn link(self, base: &str, key: &str, id: i64) -> String {
        let joint = if base.contains('?') { '&' } else { '?' };
        let mut address = format!("{base}{joint}{key}={id}");
        if self.limit != DEFAULT {
            address.push_str(&format!("&limit={}", self.limit));
        }
        address
    }
}
