use super::*;
use crate::monitor::topic::Question;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

fn topic(image: &str) -> Topic {
    Topic {
        question: Question::Image(image.parse().unwrap()),
        secrets: None,
    }
}

fn want(image: &str, every: u64) -> WantedTopic {
    WantedTopic {
        topic: topic(image),
        every: Some(Duration::from_secs(every)),
        platforms: BTreeSet::from(["linux/amd64".to_owned()]),
        seed: None,
        is_new: false,
        is_edited: false,
    }
}

fn known(image: &str) -> KnownTag {
    KnownTag {
        image: image.parse().unwrap(),
        digest: Digest::parse(&format!("sha256:{}", "a".repeat(64))).unwrap(),
        platforms: BTreeMap::new(),
        asked_for: BTreeSet::from(["linux/amd64".to_owned()]),
        mark: None,
        moved: None,
    }
}

fn trouble(retry_after: Option<u64>) -> Trouble {
    Trouble {
        state: TagState::Error,
        words: "it is down".to_owned(),
        retry_after: retry_after.map(Duration::from_secs),
    }
}

/// No jitter at one half.
fn half() -> f64 {
    0.5
}

fn seconds(book: &Book) -> Option<i64> {
    book.next().map(|next| next.as_second() - 1_000_000)
}

#[test]
fn what_is_new_is_asked_at_once_and_then_every_so_often() {
    let mut book = Book::default();
    book.want(vec![want("a", 300)], at(0), &mut half);
    let due = book.due(at(0));
    assert_eq!(due.len(), 1);
    assert_eq!(book.due(at(1)), [], "not twice");
    assert_eq!(book.next(), None);
    book.answered(&due[0], Ok(vec![known("a")]), at(2), &mut half);
    assert_eq!(seconds(&book), Some(302));
    assert_eq!(book.due(at(301)), []);
    assert_eq!(book.due(at(302)).len(), 1);
}

#[test]
fn failures_wait_longer_and_longer_and_what_was_known_stays() {
    let mut book = Book::default();
    book.want(vec![want("a", 300)], at(0), &mut half);
    let first = book.due(at(0)).remove(0);
    book.answered(&first, Ok(vec![known("a")]), at(0), &mut half);
    let mut waits = vec![];
    let mut now = 300;
    for retry_after in [None, None, None, Some(77), None] {
        let due = book.due(at(now)).remove(0);
        book.answered(&due, Err(trouble(retry_after)), at(now), &mut half);
        waits.push(seconds(&book).unwrap() - now);
        now = seconds(&book).unwrap();
    }
    assert_eq!(waits, [5, 10, 20, 77, 80]);
    let entry = book.get(&topic("a")).unwrap();
    assert_eq!((entry.failures, entry.known.len()), (5, 1));
    let due = book.due(at(now)).remove(0);
    book.answered(&due, Ok(vec![known("a")]), at(now), &mut half);
    assert_eq!(book.get(&topic("a")).unwrap().failures, 0);
    assert_eq!(pause(1000), LONGEST_PAUSE);
}

#[test]
fn what_is_not_wanted_any_more_is_forgotten_with_its_answer() {
    let mut book = Book::default();
    book.want(vec![want("a", 300)], at(0), &mut half);
    let old = book.due(at(0)).remove(0);
    book.want(vec![], at(1), &mut half);
    assert!(!book.is_awaited(&old.topic, old.turn));
    book.want(vec![want("a", 300)], at(2), &mut half);
    let new = book.due(at(2)).remove(0);
    book.answered(&old, Ok(vec![known("a")]), at(3), &mut half);
    assert!(
        book.get(&topic("a")).unwrap().known.is_empty(),
        "an old answer"
    );
    book.answered(&new, Ok(vec![known("a")]), at(3), &mut half);
    assert_eq!(book.get(&topic("a")).unwrap().known.len(), 1);
}

#[test]
fn edits_count_at_once() {
    let mut book = Book::default();
    book.want(vec![want("a", 3600)], at(0), &mut half);
    let due = book.due(at(0)).remove(0);
    book.answered(&due, Ok(vec![known("a")]), at(0), &mut half);
    book.want(vec![want("a", 60)], at(10), &mut half);
    assert_eq!(seconds(&book), Some(60), "sooner");
    book.want(vec![want("a", 600)], at(10), &mut half);
    assert_eq!(seconds(&book), Some(600), "later");
    book.want(vec![want("a", 5)], at(10), &mut half);
    assert_eq!(seconds(&book), Some(10), "overdue");
    let never = WantedTopic {
        every: None,
        ..want("a", 0)
    };
    book.want(vec![never.clone()], at(10), &mut half);
    assert_eq!(seconds(&book), None, "never");
    let mut more = never;
    more.platforms.insert("linux/arm64".to_owned());
    book.want(vec![more], at(20), &mut half);
    assert_eq!(seconds(&book), Some(20), "another platform");
    let again = WantedTopic {
        is_new: true,
        ..want("a", 600)
    };
    book.want(vec![again.clone()], at(30), &mut half);
    assert_eq!(seconds(&book), Some(600), "it was asked lately");
    book.want(vec![again], at(100), &mut half);
    assert_eq!(seconds(&book), Some(100), "somebody began anew");
}

#[test]
fn several_who_want_the_same_share_it() {
    let mut book = Book::default();
    book.want(
        vec![want("a", 300), want("docker.io/library/a:latest", 60)],
        at(0),
        &mut half,
    );
    let due = book.due(at(0));
    assert_eq!(due.len(), 1);
    book.answered(&due[0], Ok(vec![known("a")]), at(0), &mut half);
    assert_eq!(
        seconds(&book),
        Some(60),
        "as often as the one who wants it most often"
    );
}

#[test]
fn hostile_pauses_end_within_an_hour() {
    let mut book = Book::default();
    book.want(vec![want("a", 300)], at(0), &mut half);
    let due = book.due(at(0)).remove(0);
    let longest = || 1.0;
    book.answered(&due, Err(trouble(Some(u64::MAX))), at(0), &mut { longest });
    assert_eq!(seconds(&book), Some(3600));
    let due = book.due(at(3600)).remove(0);
    assert_eq!(jittered(Duration::MAX, 1.0), jittered(Duration::MAX, 0.9));
    book.answered(&due, Ok(vec![known("a")]), at(3600), &mut half);
    assert_eq!(seconds(&book), Some(3900));
}

#[test]
fn after_a_start_nothing_is_forgotten_and_not_all_is_asked_at_once() {
    let seeded = |next: Option<i64>| WantedTopic {
        seed: Some(Seed {
            known: vec![known("a")],
            checked: Some(at(-100)),
            next: next.map(at),
        }),
        ..want("a", 300)
    };
    for (next, expected) in [(Some(200), 200), (Some(-5), 30), (None, 30)] {
        let mut book = Book::default();
        book.want(vec![seeded(next)], at(0), &mut half);
        assert_eq!(seconds(&book), Some(expected), "{next:?}");
        assert_eq!(book.get(&topic("a")).unwrap().known.len(), 1);
    }
    let mut other = seeded(Some(200));
    other.platforms.insert("linux/arm64".to_owned());
    let mut book = Book::default();
    book.want(vec![other], at(0), &mut half);
    assert_eq!(
        seconds(&book),
        Some(0),
        "a platform came while nobody looked"
    );
    let edited = WantedTopic {
        is_edited: true,
        ..seeded(Some(200))
    };
    let mut book = Book::default();
    book.want(vec![edited], at(0), &mut half);
    assert_eq!(seconds(&book), Some(0), "another spec is another question");
    assert_eq!(
        book.get(&topic("a")).unwrap().known.len(),
        1,
        "nodes keep what they have until it is answered"
    );
}

#[test]
fn a_digest_is_asked_about_once() {
    let digest = format!("a@sha256:{}", "a".repeat(64));
    let mut book = Book::default();
    book.want(vec![want(&digest, 60)], at(0), &mut half);
    let due = book.due(at(0)).remove(0);
    book.answered(&due, Ok(vec![known(&digest)]), at(0), &mut half);
    assert_eq!(seconds(&book), None);
}
