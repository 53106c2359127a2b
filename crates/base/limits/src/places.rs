//! Places for connections, and the choice of the connection that gives way.

use std::{
    collections::HashMap,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io::Read,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;

use crate::Activity;

/// Numbers of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub overall: usize,
    pub per_peer: usize,
    /// A connection that has kept the server waiting for less than this does not give way.
    pub grace: Duration,
}

/// The other end of a connection, as far as places are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// An address; of IPv6 the network that one machine is given whole.
    At(IpAddr),
    /// A process of this machine, by a socket in the file system.
    Here,
    /// The processes of one control group of this machine, such as those of one step.
    Group(u64),
}

/// The most that is read of the kernel's list of a process's control groups.
const MAX_GROUPS_BYTES: u64 = 4096;

impl Peer {
    /// Returns the peer for a process at the other end of a socket in the file system: its control
    /// group, or this machine if the process is gone.
    pub fn of_process(pid: Option<i32>) -> Self {
        let groups = pid.and_then(|pid| {
            let list = File::open(format!("/proc/{pid}/cgroup")).ok()?;
            let mut groups = Vec::new();
            list.take(MAX_GROUPS_BYTES).read_to_end(&mut groups).ok()?;
            Some(groups).filter(|groups| !groups.is_empty())
        });
        groups.map_or(Self::Here, |groups| {
            let mut hasher = DefaultHasher::new();
            groups.hash(&mut hasher);
            Self::Group(hasher.finish())
        })
    }
}

impl From<SocketAddr> for Peer {
    fn from(address: SocketAddr) -> Self {
        Self::At(match address.ip().to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(
                address.to_bits() & !u128::from(u64::MAX),
            )),
        })
    }
}

/// The places for one kind of connection. Clones share them.
#[derive(Clone)]
pub struct Places(Arc<Shared>);

struct Shared {
    limits: Limits,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    overall: usize,
    by_peer: HashMap<Peer, HashMap<u64, Activity>>,
}

impl Places {
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(Shared {
            limits,
            taken: Mutex::default(),
        }))
    }

    /// Returns the numbers of places there are.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }

    /// A place for a connection that has `patience` for its first word. Where there is none, the
    /// connection that has kept the server waiting longest gives way; `None` if the server waits
    /// for none.
    pub fn enter(&self, peer: Peer, patience: Duration) -> Option<ConnectionPlace> {
        let mut taken = self.0.taken.lock();
        let limits = &self.0.limits;
        if taken.by_peer.get(&peer).map_or(0, HashMap::len) >= limits.per_peer {
            taken.make_room(peer, limits.grace)?;
        } else if taken.overall >= limits.overall {
            let greediest = taken.by_peer.iter().max_by_key(|(_, places)| places.len());
            let greediest = greediest.map(|(peer, _)| *peer)?;
            taken.make_room(greediest, limits.grace)?;
        }
        let id = taken.next;
        taken.next += 1;
        taken.overall += 1;
        let activity = Activity::new(patience);
        taken
            .by_peer
            .entry(peer)
            .or_default()
            .insert(id, activity.clone());
        drop(taken);
        Some(ConnectionPlace {
            places: self.clone(),
            peer,
            id,
            activity,
        })
    }

    /// The number of places that are taken.
    pub fn taken(&self) -> usize {
        self.0.taken.lock().overall
    }
}

impl Taken {
    /// Takes the place of the peer's connection that has kept the server waiting longest.
    fn make_room(&mut self, peer: Peer, grace: Duration) -> Option<()> {
        let places = self.by_peer.get(&peer)?.iter();
        let waiting = places.filter_map(|(id, activity)| Some((activity.waited()?, *id)));
        let (waited, id) = waiting.max()?;
        if waited < grace {
            return None;
        }
        let activity = self.leave(peer, id)?;
        activity.give_way();
        Some(())
    }

    fn leave(&mut self, peer: Peer, id: u64) -> Option<Activity> {
        let places = self.by_peer.get_mut(&peer)?;
        let activity = places.remove(&id)?;
        if places.is_empty() {
            self.by_peer.remove(&peer);
        }
        self.overall -= 1;
        Some(activity)
    }
}

/// A connection's place, until it is dropped.
pub struct ConnectionPlace {
    places: Places,
    peer: Peer,
    id: u64,
    activity: Activity,
}

impl ConnectionPlace {
    /// Returns the state of the connection, for those who serve it.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.places.0.taken.lock().leave(self.peer, self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectionEnd;

    const TEST_PATIENCE: Duration = Duration::from_secs(60);

    fn places(overall: usize, per_peer: usize) -> Places {
        Places::new(Limits {
            overall,
            per_peer,
            grace: Duration::ZERO,
        })
    }

    fn peer(last: u8) -> Peer {
        Peer::from(SocketAddr::from(([10, 0, 0, last], 1)))
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_silence_gives_way_to_the_next() {
        let places = places(10, 3);
        let mut held = Vec::new();
        for _ in 0..2000 {
            held.push(places.enter(peer(1), TEST_PATIENCE).unwrap());
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(places.taken(), 3);
        assert_eq!(held[0].activity().ended().await, ConnectionEnd::GaveWay);
        let newest = held.last().unwrap().activity();
        let ended = tokio::time::timeout(TEST_PATIENCE / 2, newest.ended()).await;
        assert!(ended.is_err(), "the newest stays");
        drop(held);
        assert_eq!(places.taken(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_peers_take_no_place_of_others() {
        let places = places(10, 8);
        let _theirs: Vec<_> = (0..8)
            .map(|_| places.enter(peer(1), TEST_PATIENCE))
            .collect();
        let ours = places.enter(peer(2), TEST_PATIENCE).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        let others = [
            places.enter(peer(3), TEST_PATIENCE),
            places.enter(peer(4), TEST_PATIENCE),
        ];
        assert!(others.iter().all(Option::is_some));
        assert_eq!(places.taken(), 10);
        assert!(!matches!(
            tokio::time::timeout(TEST_PATIENCE / 2, ours.activity().ended()).await,
            Ok(ConnectionEnd::GaveWay)
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_served_gives_way_to_nobody() {
        let places = places(2, 2);
        let first = places.enter(peer(1), TEST_PATIENCE).unwrap();
        let second = places.enter(peer(1), TEST_PATIENCE).unwrap();
        let _requests = [
            first.activity().begin(TEST_PATIENCE),
            second.activity().begin(TEST_PATIENCE),
        ];
        tokio::time::advance(TEST_PATIENCE * 10).await;
        assert!(places.enter(peer(1), TEST_PATIENCE).is_none());
        assert!(places.enter(peer(2), TEST_PATIENCE).is_none());
        first.activity().stalls(TEST_PATIENCE);
        assert!(places.enter(peer(2), TEST_PATIENCE).is_some());
    }

    #[test]
    fn processes_of_one_group_are_one_peer() {
        let own = Peer::of_process(i32::try_from(std::process::id()).ok());
        assert!(matches!(own, Peer::Group(_)), "{own:?}");
        assert_eq!(
            own,
            Peer::of_process(i32::try_from(std::process::id()).ok())
        );
        assert_eq!(Peer::of_process(Some(i32::MAX)), Peer::Here);
        assert_eq!(Peer::of_process(None), Peer::Here);
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let peer = |text: &str| Peer::from(text.parse::<SocketAddr>().unwrap());
        assert_eq!(peer("[2001:db8::1]:1"), peer("[2001:db8::2:3]:2"));
        assert_ne!(peer("[2001:db8::1]:1"), peer("[2001:db8:0:1::1]:1"));
        assert_eq!(peer("[::ffff:10.0.0.1]:1"), peer("10.0.0.1:9"));
        assert_ne!(peer("10.0.0.2:1"), peer("10.0.0.1:1"));
    }
}
