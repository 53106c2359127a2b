//! The addresses of steps: four for each, two of which are used.

use std::{fmt, fs, net::Ipv4Addr, str::FromStr};

use serde::{Deserialize, Serialize};

/// Names of the machine's ends.
pub(crate) const PREFIX: &str = "airside";

/// A block of 65,536 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    first: Ipv4Addr,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a pool of addresses: write one like 10.80.0.0/16")]
pub struct BadPool(String);

const BITS: u32 = 16;
const PER_STEP: u32 = 4;
pub(crate) const PAIRS: u32 = (1 << (32 - BITS)) / PER_STEP;

/// One step's two addresses, and the name of the machine's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub name: String,
    pub machine: Ipv4Addr,
    pub step: Ipv4Addr,
}

impl Pair {
    pub(crate) const MASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 252);
}

impl Pool {
    /// The first of a few usual blocks that the machine has no route to.
    pub(super) fn free() -> Option<Self> {
        let routes = fs::read_to_string("/proc/net/route").unwrap_or_default();
        let blocks = (80..=95).map(|second| Ipv4Addr::new(10, second, 0, 0));
        blocks
            .map(|first| Self { first })
            .find(|pool| !routes.lines().skip(1).any(|line| pool.is_taken_by(line)))
    }

    /// Returns true if a line of the kernel's table leads to some of the pool, over an interface
    /// that is not ours.
    fn is_taken_by(self, line: &str) -> bool {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [name, destination, _, _, _, _, _, mask, ..] = fields.as_slice() else {
            return false;
        };
        let address = |text: &str| u32::from_str_radix(text, 16).map(u32::swap_bytes);
        let (Ok(destination), Ok(mask)) = (address(destination), address(mask)) else {
            return false;
        };
        let shared = mask & (u32::MAX << (32 - BITS));
        let ours = name
            .strip_prefix(PREFIX)
            .is_some_and(|rest| rest.parse::<u32>().is_ok());
        mask != 0 && !ours && destination & shared == u32::from(self.first) & shared
    }

    /// Spreads steps, so that few look for the same pair.
    pub(super) fn start_for(self, handle: &str) -> u32 {
        hash(handle) % PAIRS
    }

    /// All pairs, each once, beginning somewhere.
    pub(crate) fn pairs(self, start: u32) -> impl Iterator<Item = Pair> {
        (0..PAIRS).map(move |step| {
            let number = (start + step) % PAIRS;
            let base = u32::from(self.first) + number * PER_STEP;
            Pair {
                name: format!("{PREFIX}{number}"),
                machine: (base + 1).into(),
                step: (base + 2).into(),
            }
        })
    }
}

/// Spreads names evenly over all numbers, always in the same way (FNV-1a).
pub(super) fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811C_9DC5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{BITS}", self.first)
    }
}

impl FromStr for Pool {
    type Err = BadPool;

    fn from_str(text: &str) -> Result<Self, BadPool> {
        let bad = || BadPool(text.to_owned());
        let first = text.strip_suffix("/16").ok_or_else(bad)?;
        let first: Ipv4Addr = first.parse().map_err(|_| bad())?;
        match first.octets() {
            [a, _, 0, 0] if a != 0 && a != 127 => Ok(Self { first }),
            _ => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        "10.80.0.0/16".parse().unwrap()
    }

    #[test]
    fn pairs_share_no_address() {
        let pairs: Vec<_> = pool().pairs(PAIRS - 1).collect();
        assert_eq!(pairs.len(), PAIRS as usize);
        assert_eq!(pairs[0].name, format!("airside{}", PAIRS - 1));
        assert_eq!(pairs[0].step, Ipv4Addr::new(10, 80, 255, 254));
        assert_eq!(pairs[1].machine, Ipv4Addr::new(10, 80, 0, 1));
        assert_eq!(pairs[1].step, Ipv4Addr::new(10, 80, 0, 2));
        assert_eq!(pairs[2].machine, Ipv4Addr::new(10, 80, 0, 5));
    }

    #[test]
    fn a_pool_with_a_route_to_it_is_taken() {
        let line = |name: &str, destination: &str, mask: &str| {
            format!("{name}\t{destination}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0")
        };
        for (line, taken) in [
            (line("eth0", "00000000", "00000000"), false),
            (line("eth0", "000000C0", "00FFFFFF"), false),
            (line("cni0", "0000500A", "0000FFFF"), true),
            (line("cni0", "0005500A", "00FFFFFF"), true),
            (line("tun0", "0000000A", "000000FF"), true),
            (line("airside7", "1C00500A", "FCFFFFFF"), false),
            (line("airbr", "1C00500A", "FCFFFFFF"), true),
            (String::new(), false),
        ] {
            assert_eq!(pool().is_taken_by(&line), taken, "{line}");
        }
    }

    #[test]
    fn only_whole_blocks_are_pools() {
        assert_eq!(pool().to_string(), "10.80.0.0/16");
        for bad in [
            "",
            "10.80.0.0",
            "10.80.1.0/16",
            "10.80.0.0/24",
            "127.0.0.0/16",
            "x/16",
        ] {
            assert!(bad.parse::<Pool>().is_err(), "{bad}");
        }
    }
}
