//! Free ports, which stay free while a server is down.

use std::{
    net::{IpAddr, TcpListener},
    ops::Range,
    sync::{
        LazyLock,
        atomic::{AtomicU16, Ordering},
    },
};

/// Range below the kernel's own choice and below a cluster's node ports: while a killed server is
/// down, no other program gets its port by accident.
const RANGE: Range<u16> = 20_000..30_000;

/// Returns a port that was free a moment ago on the address, and that no other test of this program
/// has.
pub(crate) fn free(ip: IpAddr) -> u16 {
    static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| AtomicU16::new(rand::random()));
    let is_free = |port: &u16| TcpListener::bind((ip, *port)).is_ok();
    (0..200)
        .map(|_| RANGE.start + NEXT.fetch_add(1, Ordering::Relaxed) % RANGE.len() as u16)
        .find(is_free)
        .expect("of ten thousand ports, some are free")
}
