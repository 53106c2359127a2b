//! Ports that nobody uses, and that stay free while a server is down.

use std::{
    net::{IpAddr, TcpListener},
    ops::Range,
};

/// Below what the kernel hands out by itself and below a cluster's node ports: while a killed server is
/// down, nobody gets its port by accident.
const RANGE: Range<u16> = 20_000..30_000;

/// A port that was free a moment ago on the address.
pub(crate) fn free(ip: IpAddr) -> u16 {
    let is_free = |port: &u16| TcpListener::bind((ip, *port)).is_ok();
    (0..200)
        .map(|_| rand::random_range(RANGE))
        .find(is_free)
        .expect("of ten thousand ports, some are free")
}
