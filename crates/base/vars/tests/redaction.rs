//! Redaction does the same however output is cut into pieces, and never lets a secret through.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use std::time::{Duration, Instant};

use airside_vars::{End, REDACTED, Secrets, TooMuch};
use proptest::prelude::*;
use serde_json::json;

/// Feeds `text` in pieces of the given sizes, as a step's output arrives.
fn in_pieces(secrets: &Secrets, text: &[u8], sizes: &[usize]) -> Vec<u8> {
    let (mut shown, mut held, mut rest) = (Vec::new(), Vec::new(), text);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().map_or(1, |size| (*size).clamp(1, rest.len()));
        held.extend_from_slice(&rest[..size]);
        rest = &rest[size..];
        let (more, taken) = secrets.cut(&held, End::Open);
        shown.extend_from_slice(&more);
        held.drain(..taken);
    }
    shown.extend_from_slice(&secrets.cut(&held, End::Final).0);
    shown
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        texts in prop::collection::vec("[ab]{1,5}", 0..5),
        text in "[abc]{0,60}",
        sizes in prop::collection::vec(1usize..7, 1..5),
    ) {
        let secrets = Secrets::default();
        secrets.add(&json!(texts.join("\n"))).unwrap();
        let whole = secrets.cut(text.as_bytes(), End::Final).0.into_owned();
        prop_assert_eq!(in_pieces(&secrets, text.as_bytes(), &sizes), whole);
    }

    #[test]
    fn no_secret_is_left(
        texts in prop::collection::vec("[ab]{2,6}", 1..5),
        text in "[abc]{0,60}",
    ) {
        let secrets = Secrets::default();
        secrets.add(&json!(texts.join("\n"))).unwrap();
        for piece in secrets.redact(&text).split(REDACTED) {
            for secret in &texts {
                prop_assert!(!piece.contains(secret), "{secret} in {piece}");
            }
        }
    }

    #[test]
    fn without_secrets_nothing_changes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let cut = Secrets::default().cut(&bytes, End::Open);
        prop_assert_eq!(cut, (bytes.as_slice().into(), bytes.len()));
    }
}

/// The shortest of a few times that it takes to redact the text: the machine may be busy with other
/// things.
fn time_to_redact(secret: &str, text: &str) -> Duration {
    let secrets = Secrets::default();
    secrets.add(&json!(secret)).unwrap();
    let time = |_| {
        let start = Instant::now();
        std::hint::black_box(secrets.cut(text.as_bytes(), End::Open));
        start.elapsed()
    };
    (0..7).map(time).min().unwrap()
}

/// A hundred times as many secrets, or secrets a hundred times as long, may not take a hundred
/// times as long to find. Deeper automata fit the processor's caches less well, hence the room.
#[test]
fn hostile_secrets_take_no_longer_to_find() {
    let lines = |count: usize| -> String { (0..count).map(|n| format!("a{n:0>7}\n")).collect() };
    let nested = |longest: usize| format!("aa\n{}b", "a".repeat(longest));
    let text = "a".repeat(300_000);
    for (few, many) in [(lines(100), lines(10_000)), (nested(40), nested(4_000))] {
        let (few, many) = (time_to_redact(&few, &text), time_to_redact(&many, &text));
        assert!(many < few * 20, "{few:?} became {many:?}");
    }
}

/// Words that end in many other words are not a burden.
#[test]
fn hostile_secrets_within_secrets_are_found() {
    let secrets = Secrets::default();
    let nested: String = (2..900).map(|length| "a".repeat(length) + "\n").collect();
    secrets.add(&json!(nested)).unwrap();
    let long: String = (0..60)
        .map(|n| format!("{n:x}{}\n", "a".repeat(4000)))
        .collect();
    secrets.add(&json!(long)).unwrap();
    let shown = secrets.redact(&format!("1{}!", "a".repeat(4900)));
    // The longest that begins with `1` has 4,001 times `a`, as 26 is `1a`.
    assert_eq!(shown, format!("{REDACTED}{REDACTED}!"));
}

#[test]
fn hostile_amounts_of_secrets_are_refused_and_change_nothing() {
    let secrets = Secrets::default();
    let value = |n: usize| -> String {
        (0..9_000)
            .map(|line| format!("{n} {line:0>20}\n"))
            .collect()
    };
    let added = (0..100)
        .take_while(|n| secrets.add(&json!(value(*n))).is_ok())
        .count();
    assert!((2..=5).contains(&added), "{added}");
    assert_eq!(secrets.add(&json!(value(added))), Err(TooMuch::InAll));
    assert_eq!(
        secrets.add(&json!(value(0))),
        Ok(()),
        "known ones cost nothing"
    );
    let line = |n: usize| format!("{n} {:0>20}", 1);
    assert_eq!(secrets.redact(&line(0)), REDACTED);
    assert_eq!(secrets.redact(&line(added)), line(added));
}

#[test]
fn secrets_added_one_by_one_are_found_like_those_added_at_once() {
    let (at_once, one_by_one) = (Secrets::default(), Secrets::default());
    let words: Vec<String> = (0..300)
        .map(|n| format!("{}{n}", "ab".repeat(n % 7)))
        .collect();
    at_once.add(&json!(words.join("\n"))).unwrap();
    for word in &words {
        one_by_one.add(&json!(word)).unwrap();
    }
    let text = "xabab17 abababab299 ab 1 babab5".repeat(20);
    assert_eq!(one_by_one.redact(&text), at_once.redact(&text));
    assert!(at_once.redact(&text).contains(REDACTED));
}

#[test]
fn a_very_long_line_does_not_show() {
    let line: String = (0..20_000)
        .map(|n| char::from(b'!' + (n * n % 89) as u8))
        .collect();
    let secrets = Secrets::default();
    secrets.add(&json!(line)).unwrap();
    let shown = secrets.redact(&format!("<{line}>"));
    assert_eq!(shown.replace(REDACTED, ""), "<>");
    let cut = in_pieces(&secrets, format!("<{line}>").as_bytes(), &[1000, 7]);
    assert_eq!(cut, shown.as_bytes());
}
