use airside_model::{BuildId, PlanId, WorkerName};
use futures::FutureExt as _;

use super::*;

fn container_ref(handle: &str) -> ContainerRef {
    let (worker, handle) = (WorkerName::new("w"), Handle::new(handle));
    ContainerRef::new(&worker, &handle, BuildId(1), &PlanId::new("1"))
}

fn handle(found: &HostLookup) -> &str {
    match found {
        HostLookup::There(host) => host.container_ref.handle.as_str(),
        HostLookup::Nothing(_) => "nothing",
        HostLookup::Refused(words) => words,
    }
}

/// Returns the host that is found at once; none if the caller has to wait.
fn now(hosts: &Arc<Hosts>, name: &str, asker: Asker) -> Option<HostLookup> {
    hosts.find(name, asker, false).now_or_never()
}

fn turn(hosts: &Arc<Hosts>, name: &str, asker: Asker) -> HostTicket {
    match now(hosts, name, asker) {
        Some(HostLookup::Nothing(ticket)) => ticket,
        other => panic!("{:?}", other.as_ref().map(handle)),
    }
}

#[tokio::test]
async fn one_places_and_the_others_wait() {
    let hosts = Arc::new(Hosts::default());
    let ticket = turn(&hosts, "a", Asker::Placer);
    for asker in [Asker::Placer, Asker::Booker] {
        assert!(now(&hosts, "a", asker).is_none());
    }
    // Other names do not wait.
    drop(turn(&hosts, "b", Asker::Placer));
    let waiting = {
        let hosts = hosts.clone();
        tokio::spawn(async move { handle(&hosts.find("a", Asker::Booker, false).await).to_owned() })
    };
    ticket.offer(container_ref("h"), None);
    assert_eq!(waiting.await.unwrap(), "h");
    assert_eq!(handle(&now(&hosts, "a", Asker::Placer).unwrap()), "h");
}

#[tokio::test]
async fn whoever_books_leaves_it_to_the_first_who_places() {
    let hosts = Arc::new(Hosts::default());
    let booked = turn(&hosts, "a", Asker::Booker);
    assert!(now(&hosts, "a", Asker::Booker).is_none());
    let ticket = turn(&hosts, "a", Asker::Placer);
    // The booking has served its end: giving it up changes nothing.
    drop(booked);
    assert!(now(&hosts, "a", Asker::Booker).is_none());
    drop(ticket);
    drop(turn(&hosts, "a", Asker::Booker));
    drop(turn(&hosts, "a", Asker::Placer));
}

#[tokio::test]
async fn what_was_refused_is_not_tried_at_once_unless_somebody_asks() {
    let hosts = Arc::new(Hosts::default());
    turn(&hosts, "a", Asker::Placer).refuse("no");
    assert_eq!(handle(&now(&hosts, "a", Asker::Booker).unwrap()), "no");
    let asked = hosts.find("a", Asker::Placer, true).await;
    assert_eq!(handle(&asked), "nothing");
    drop(asked);
    drop(turn(&hosts, "a", Asker::Booker));
}

#[tokio::test]
async fn what_may_be_outdated_takes_nobody_new() {
    let hosts = Arc::new(Hosts::default());
    let hour = Duration::from_secs(3600);
    turn(&hosts, "b", Asker::Placer).offer(container_ref("young"), Some(hour));
    assert_eq!(handle(&now(&hosts, "b", Asker::Booker).unwrap()), "young");
    let ticket = turn(&hosts, "a", Asker::Placer);
    let host = ticket.offer(container_ref("old"), Some(Duration::ZERO));
    let place = host.places.acquire().await.unwrap();
    turn(&hosts, "a", Asker::Placer).offer(container_ref("new"), None);
    assert_eq!(handle(&now(&hosts, "a", Asker::Booker).unwrap()), "new");
    // A guest that is inside stays to the end.
    let (old, new) = (Handle::new("old"), Handle::new("new"));
    assert!(hosts.has(&old) && hosts.is_busy(&old) && hosts.has(&new));
    drop(place);
    drop(host);
    assert!(!hosts.has(&old) && hosts.has(&new));
}

#[tokio::test]
async fn what_is_lost_is_placed_again() {
    let hosts = Arc::new(Hosts::default());
    let lost = Handle::new("lost");
    let host = turn(&hosts, "a", Asker::Placer).offer(container_ref("lost"), None);
    assert!(hosts.is_busy(&lost));
    hosts.withdraw(&lost);
    assert!(!hosts.has(&lost));
    assert!(host.places.acquire().await.is_err());
    drop(turn(&hosts, "a", Asker::Placer));
}

#[tokio::test]
async fn use_is_written_down_now_and_then() {
    let host = Host::new(container_ref("h"), None);
    assert!(!host.touch() && host.is_busy());
    {
        let mut used = host.used.lock();
        used.last -= NOTE;
        used.noted -= NOTE;
    }
    assert!(!host.is_busy());
    assert!(host.touch());
    assert!(!host.touch() && host.is_busy());
}
