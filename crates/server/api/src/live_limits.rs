//! The most live streams at once: of a user, of an address, of all.

use std::time::Duration;

use airside_limits::{Busy, Peer, Transfers, Turn};

use crate::error::ApiError;

/// Streams at once, of all users and of all visitors who have not logged in.
const STREAMS: usize = 4096;
const STREAMS_OF_VISITORS: usize = 1024;

/// A browser has one for all its tabs.
const STREAMS_OF_A_USER: usize = 16;

/// Many users may come by the address of one proxy.
const STREAMS_OF_AN_ADDRESS: usize = 1024;
const STREAMS_OF_A_VISITOR: usize = 32;

const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Counts live streams; clones share the counts.
#[derive(Clone)]
pub(crate) struct LiveLimits {
    users: Transfers<String>,
    addresses: Transfers<Peer>,
    visitors: Transfers<Peer>,
}

/// The right to one stream, until this is dropped.
pub(crate) struct LiveTurn {
    _address: Turn<Peer>,
    _user: Option<Turn<String>>,
}

impl Default for LiveLimits {
    fn default() -> Self {
        Self {
            users: Transfers::new(STREAMS, STREAMS_OF_A_USER),
            addresses: Transfers::new(STREAMS, STREAMS_OF_AN_ADDRESS),
            visitors: Transfers::new(STREAMS_OF_VISITORS, STREAMS_OF_A_VISITOR),
        }
    }
}

impl LiveLimits {
    /// Counts one stream more of a user, or of a visitor without a name.
    pub(crate) fn enter(&self, user: Option<&str>, from: Peer) -> Result<LiveTurn, ApiError> {
        let by_address = match user {
            Some(_) => &self.addresses,
            None => &self.visitors,
        };
        let address = by_address
            .enter(from)
            .map_err(|busy| refused("address", busy))?;
        let user = user.map(|user| self.users.enter(user.to_owned()));
        let user = user.transpose().map_err(|busy| refused("user", busy))?;
        Ok(LiveTurn {
            _address: address,
            _user: user,
        })
    }
}

fn refused(owner: &str, busy: Busy) -> ApiError {
    match busy {
        Busy::Owner(limit) => ApiError::TooMany {
            why: format!("this {owner} has {limit} live streams open, which is the most"),
            retry_after: RETRY_AFTER,
        },
        Busy::Overall(limit) => ApiError::Busy(format!(
            "the server has {limit} live streams open, which is the most"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[test]
    fn neither_users_nor_visitors_take_all_streams() {
        let limits = LiveLimits::default();
        let at = |last: u8| Peer::At(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
        let many = |user: Option<&str>, from, number: usize| -> Vec<_> {
            let turns = (0..number).map(|_| limits.enter(user, from));
            turns.collect::<Result<_, _>>().map_err(drop).unwrap()
        };
        let of_ann = many(Some("ann"), at(1), STREAMS_OF_A_USER);
        let refused = limits.enter(Some("ann"), at(2)).err().unwrap();
        assert!(matches!(refused, ApiError::TooMany { .. }), "{refused}");
        assert!(limits.enter(Some("bob"), at(1)).is_ok());

        let _visitor = many(None, at(1), STREAMS_OF_A_VISITOR);
        assert!(limits.enter(None, at(1)).is_err());
        assert!(limits.enter(None, at(2)).is_ok());
        assert!(
            limits.enter(Some("bob"), at(1)).is_ok(),
            "who logs in has room"
        );
        drop(of_ann);
        assert!(limits.enter(Some("ann"), at(2)).is_ok());
    }
}
