//! The time to read a text grows with its length and not faster.

use std::time::{Duration, Instant};

use airside_yaml::{ErrorKind, parse};

/// A name, and the text of a given size.
type Shape = (&'static str, fn(usize) -> String);

fn time(text: &str) -> Duration {
    let started = Instant::now();
    let _ = parse(text).map(|node| node.to_json());
    started.elapsed()
}

/// The fastest of a few runs: other work on the machine only ever adds.
fn fastest(text: &str) -> Duration {
    (0..3).map(|_| time(text)).min().unwrap_or_default()
}

#[test]
fn eight_times_the_text_takes_about_eight_times_as_long() {
    let shapes: [Shape; 15] = [
        ("list", |n| "- a\n".repeat(n)),
        ("flow list", |n| format!("[{}]", "a,".repeat(n))),
        ("map", |n| (0..n).map(|i| format!("k{i}: v\n")).collect()),
        ("same key", |n| "k: v\n".repeat(n)),
        ("long plain", |n| "a ".repeat(n)),
        ("long lines", |n| format!("a: {}", "b\n  ".repeat(n))),
        ("long quoted", |n| format!("\"{}\"", "é\\n".repeat(n))),
        ("block text", |n| format!("a: |\n{}", "  x\n".repeat(n))),
        ("comments", |n| "# a\n".repeat(n)),
        ("anchors", |n| {
            (0..n).map(|i| format!("- &a{i} x\n")).collect()
        }),
        ("aliases", |n| format!("- &a x\n{}", "- *a\n".repeat(n))),
        ("merges", |n| {
            let maps: String = (0..n)
                .map(|i| format!("m{i}: {{<<: *b, x: {i}}}\n"))
                .collect();
            format!("b: &b {{y: 1}}\n{maps}")
        }),
        ("nested", |n| {
            format!("- {}1{}\n", "[".repeat(90), "]".repeat(90)).repeat(n / 90)
        }),
        ("open", |n| "[".repeat(n)),
        ("quoted margins", |n| "k: \"x\ny\"\n".repeat(n)),
    ];
    for (name, shape) in shapes {
        let (small, large) = (shape(1_000), shape(8_000));
        // Quadratic would be 64 times; very short times are noise. Other work on the machine can
        // add to any one measurement, but not make the slow fast: once is enough.
        let measure = |_| (fastest(&small), fastest(&large));
        let slow = |(small, large): &(Duration, Duration)| {
            *large >= *small * 24 + Duration::from_millis(50)
        };
        let measured: Vec<_> = (0..10).map(measure).take_while(slow).collect();
        assert!(measured.len() < 10, "{name}: {measured:?}");
    }
}

#[test]
fn alias_bombs_are_refused_quickly() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    let mut merges = String::from("m0: &m0 {k: 1}\n");
    for level in 1..60 {
        let inner = format!("*m{}", level - 1);
        merges.push_str(&format!(
            "m{level}: &m{level} {{<<: [{inner}, {inner}, {inner}]}}\n"
        ));
    }
    for text in [bomb, merges] {
        let started = Instant::now();
        assert_eq!(parse(&text).unwrap_err().kind, ErrorKind::ExcessiveAliasing);
        assert!(started.elapsed() < Duration::from_secs(20));
    }
}
