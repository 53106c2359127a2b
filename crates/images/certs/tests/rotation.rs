//! Years of certificates, with real handshakes: a client that trusts the last published bundle is
//! never refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use airside_image_certs::{Lifetimes, Material, Served, renew};
use jiff::{SignedDuration, Timestamp};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    time_provider::TimeProvider,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

const NAME: &str = "hook.images.svc";

#[derive(Debug)]
struct At(Timestamp);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.as_second()).unwrap();
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(
            seconds,
        )))
    }
}

fn client(bundle: &str, now: Timestamp) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_details(provider, Arc::new(At(now)))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A handshake over a pipe, at a time, by a client that trusts these.
async fn shake(served: &Served, bundle: &str, name: &str, now: Timestamp) -> Result<(), String> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let acceptor = TlsAcceptor::from(served.server_config().unwrap());
    let server = tokio::spawn(async move { acceptor.accept(theirs).await.map(drop) });
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let outcome = client(bundle, now).connect(name, ours).await;
    // Ends with the pipe, whatever came of it.
    drop(server);
    outcome.map(drop).map_err(|error| error.to_string())
}

fn lives() -> Lifetimes {
    Lifetimes::default()
}

fn names() -> Vec<String> {
    vec![NAME.to_owned()]
}

fn start() -> Timestamp {
    "2026-11-16T00:00:00Z".parse().unwrap()
}

fn made(kept: Option<&Material>, now: Timestamp) -> airside_image_certs::Renewal {
    renew(kept, "hook", &names(), lives(), now).unwrap()
}

#[tokio::test]
async fn a_client_that_was_told_an_hour_ago_is_served_for_years() {
    let mut now = start();
    let mut renewal = made(None, now);
    let served = Served::new(&renewal.material).unwrap();
    // What clients know: news reach them late, but before a new authority signs.
    let mut told = renewal.material.bundle();
    let mut renewals = 0;
    while now < start() + SignedDuration::from_hours(4 * 365 * 24) {
        assert!(renewal.next > now, "something is due at {now} and not done");
        now = renewal.next;
        let next = made(Some(&renewal.material), now);
        assert!(next.is_new);
        served.replace(&next.material).unwrap();
        shake(&served, &told, NAME, now)
            .await
            .unwrap_or_else(|error| panic!("at {now}, by a client that knows the past: {error}"));
        told = next.material.bundle();
        shake(&served, &told, NAME, now).await.unwrap();
        renewals += 1;
        renewal = next;
    }
    assert!((10..200).contains(&renewals), "{renewals} in four years");
    let authorities = told.matches("BEGIN CERTIFICATE").count();
    assert!(authorities <= 2, "{authorities} are trusted");
}

#[test]
fn nothing_changes_before_it_is_due() {
    let renewal = made(None, start());
    let early = renewal.next - SignedDuration::from_secs(60);
    let again = made(Some(&renewal.material), early);
    assert!(!again.is_new);
    assert_eq!(again.next, renewal.next);
}

#[tokio::test]
async fn another_name_gets_another_certificate_of_the_same_authority() {
    let first = made(None, start());
    let renamed = vec!["other.images.svc".to_owned()];
    let second = renew(Some(&first.material), "hook", &renamed, lives(), start()).unwrap();
    assert!(second.is_new);
    assert_eq!(second.material.bundle(), first.material.bundle());
    let served = Served::new(&second.material).unwrap();
    let bundle = second.material.bundle();
    shake(&served, &bundle, "other.images.svc", start())
        .await
        .unwrap();
    shake(&served, &bundle, NAME, start()).await.unwrap_err();
}

#[tokio::test]
async fn after_a_long_sleep_everything_is_new() {
    let old = made(None, start());
    let late = start() + SignedDuration::from_hours(3 * 365 * 24);
    let new = made(Some(&old.material), late);
    assert_ne!(new.material.bundle(), old.material.bundle());
    let served = Served::new(&new.material).unwrap();
    shake(&served, &new.material.bundle(), NAME, late)
        .await
        .unwrap();
    shake(&served, &old.material.bundle(), NAME, late)
        .await
        .unwrap_err();
}

#[tokio::test]
async fn news_come_to_those_who_wait_for_them() {
    let first = made(None, start());
    let served = Served::new(&first.material).unwrap();
    let mut bundle = served.bundle();
    bundle.mark_unchanged();
    // Only the leaf: no client has to learn of it.
    let leaf = made(Some(&first.material), first.next);
    served.replace(&leaf.material).unwrap();
    assert!(!bundle.has_changed().unwrap());
    let late = start() + SignedDuration::from_hours(300 * 24);
    let both = made(Some(&leaf.material), late);
    served.replace(&both.material).unwrap();
    assert!(bundle.has_changed().unwrap());
    assert_eq!(*bundle.borrow_and_update(), both.material.bundle());
}
