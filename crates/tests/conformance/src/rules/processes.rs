//! The process of a step: what it gets and what comes back.

use airside_protocol::{Executable, Tty};

use crate::{Bench, step::Ran};

async fn sh(bench: &Bench, script: &str) -> Ran {
    bench.run(script, |_| {}).await
}

pub async fn exit_codes_and_signals(bench: &Bench) {
    for (script, code) in [("true", 0), ("exit 3", 3), ("exit 255", 255)] {
        sh(bench, script).await.assert_exited(code);
    }
    let ran = sh(bench, "kill -9 $$").await;
    ran.assert_exited(128 + 9);
    assert!(ran.stderr.contains("killed by signal 9"), "{ran:#?}");
}

pub async fn what_cannot_be_executed_is_named(bench: &Bench) {
    for path in ["/no/such/program", "no-such-program", "./no-such-script"] {
        let run = Executable::Path(path.to_owned());
        let ran = bench.run("", |request| request.run = run).await;
        assert!(ran.error().contains(path), "{path}: {ran:#?}");
    }
}

pub async fn environment_and_folder(bench: &Bench) {
    let script = "echo \"$FIRST|$SECOND|$PATH\"; pwd; env | grep -c AIRSIDE_ || true";
    let ran = bench
        .run(script, |request| {
            request.dir = "/made/for/this".to_owned();
            request.env = [
                ("FIRST", "a b"),
                ("SECOND", "old"),
                ("SECOND", "new"),
                ("PATH", "/bin"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        })
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "a b|new|/bin\n/made/for/this\n0\n", "{ran:#?}");
}

pub async fn standard_input_is_written_and_closed(bench: &Bench) {
    let stdin = "one\n".repeat(50_000);
    let ran = bench
        .run("wc -c", |request| request.stdin = Some(stdin))
        .await;
    assert_eq!(ran.stdout.trim(), "200000", "{ran:#?}");
    let ran = sh(bench, "cat; echo closed").await;
    assert_eq!(ran.stdout, "closed\n", "{ran:#?}");
}

pub async fn streams_are_separate(bench: &Bench) {
    let ran = sh(bench, "echo out; echo err >&2; printf end").await;
    ran.assert_exited(0);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("out\nend", "err\n")
    );
}

pub async fn a_terminal_is_a_terminal(bench: &Bench) {
    let script = "test -t 0 && test -t 1 && test -t 2 && echo yes; stty size";
    let tty = Some(Tty {
        columns: 132,
        rows: 50,
    });
    let ran = bench.run(script, |request| request.tty = tty).await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "yes\r\n50 132\r\n", "{ran:#?}");
    sh(bench, "test -t 0 || test -t 1 || test -t 2")
        .await
        .assert_exited(1);
}

pub async fn users_are_switched_to(bench: &Bench) {
    let script = "echo $(id -u) $(id -g) $HOME $USER; touch file && echo mine";
    for (user, expected) in [
        (None, "0 0 /root\nmine\n"),
        (Some("nonroot"), "65532 65532 /home/nonroot nonroot\nmine\n"),
        (Some("nobody"), "65534 65534 / nobody\nmine\n"),
        (Some("2:3"), "2 3 / 2\nmine\n"),
        (Some("77"), "77 0 / 77\nmine\n"),
    ] {
        let ran = bench
            .run(script, |request| {
                request.dir = "/tmp".to_owned();
                request.user = user.map(str::to_owned);
            })
            .await;
        assert_eq!(ran.stdout, expected, "{user:?}: {ran:#?}");
    }
    let ran = bench
        .run("", |request| {
            request.user = Some("nobody-at-all".to_owned())
        })
        .await;
    assert!(ran.error().contains("nobody-at-all"), "{ran:#?}");
}

pub async fn much_output_arrives_unchanged(bench: &Bench) {
    let ran = sh(bench, "seq 1 300000").await;
    ran.assert_exited(0);
    let expected: String = (1..=300_000).map(|number| format!("{number}\n")).collect();
    assert!(
        ran.stdout == expected,
        "{} of {} bytes",
        ran.stdout.len(),
        expected.len()
    );
}
