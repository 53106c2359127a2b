//! The start of the process and the report of its end.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod support;

use std::{fs, os::unix::fs::PermissionsExt};

use airside_protocol::{Executable, Exit, Tty};
use support::{eventually, run, script};

#[tokio::test]
async fn output_and_exit_code_arrive() {
    let finished = run(|dir| script(dir, "echo out; echo err >&2; pwd; exit 3")).await;
    assert!(finished.started);
    assert_eq!(finished.first, Some(0));
    assert!(finished.text().starts_with("out\n/"), "{finished:?}");
    assert_eq!(finished.stderr, b"err\n");
    assert_eq!(finished.exit, Some(Exit::Code(3)));
}

#[tokio::test]
async fn a_signal_is_told_from_an_exit_code() {
    let finished = run(|dir| script(dir, "kill -9 $$")).await;
    assert_eq!(finished.exit, Some(Exit::Signal(9)));
}

/// Many programs close their streams before they end (`touch` does), and daemons long before.
#[tokio::test]
async fn closing_its_terminal_does_not_end_a_process() {
    let finished = run(|dir| {
        let counting = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let text = format!("echo before; exec 0<&- 1>&- 2>&-; {counting}; exit 7");
        let mut order = script(dir, &text);
        order.tty = Some(Tty {
            columns: 80,
            rows: 24,
        });
        order
    })
    .await;
    assert_eq!(finished.text(), "before\r\n");
    assert_eq!(finished.exit, Some(Exit::Code(7)));
}

#[tokio::test]
async fn an_executable_that_cannot_run_is_not_found() {
    for (name, content, mode, words) in [
        ("no-such-program", None, 0, "in no folder of PATH"),
        ("./missing", None, 0, "does not exist"),
        ("./plain", Some("#!/bin/sh\n"), 0o644, "not executable"),
        (
            "./orphan",
            Some("#!/no/such/interpreter\n"),
            0o755,
            "interpreter",
        ),
    ] {
        let finished = run(|dir| {
            if let Some(content) = content {
                let path = dir.join(name);
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            let mut order = script(dir, "");
            order.run = Executable::Path(name.into());
            order
        })
        .await;
        assert!(!finished.started);
        match finished.exit {
            Some(Exit::NotFound(text)) => assert!(text.contains(words), "{name}: {text}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_executable_is_relative_to_the_folder_which_is_made_if_missing() {
    let finished = run(|dir| {
        let path = dir.join("task.sh");
        fs::write(&path, "#!/bin/sh\necho $0 $1; pwd\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let mut order = script(&dir.join("a/b"), "");
        order.run = Executable::Path("../../task.sh".into());
        order.args = vec!["one".into()];
        order
    })
    .await;
    assert!(
        finished.text().contains("../../task.sh one\n"),
        "{finished:?}"
    );
    assert!(finished.text().ends_with("/a/b\n"), "{finished:?}");
}

#[tokio::test]
async fn the_environment_is_the_images_and_the_orders_and_not_the_shims() {
    let finished = run(|dir| {
        let mut order = script(dir, "env; tr '\\0' '\\n' < /proc/$PPID/environ || true");
        order.env = vec![
            ("GREETING".into(), "one".into()),
            ("GREETING".into(), "two".into()),
        ];
        order
    })
    .await;
    let text = finished.text();
    assert!(text.contains("GREETING=two\n"), "{text}");
    assert!(text.contains("CARGO_MANIFEST_DIR="), "{text}");
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with("AIRSIDE_") && !line.ends_with('x')),
        "{text}"
    );
    assert!(!text.contains(support::TOKEN), "{text}");
}

#[tokio::test]
async fn a_terminal_is_one() {
    let finished = run(|dir| {
        let mut order = script(
            dir,
            "tty; stty size; echo err >&2; : < /dev/tty && echo controlled",
        );
        order.tty = Some(Tty {
            columns: 120,
            rows: 40,
        });
        order
    })
    .await;
    let text = finished.text();
    assert!(text.starts_with("/dev/pts/"), "{text}");
    assert!(
        text.ends_with("\r\n40 120\r\nerr\r\ncontrolled\r\n"),
        "{text:?}"
    );
    assert_eq!(finished.exit, Some(Exit::Code(0)));
}

/// A process that changes the terminal waits until what was written before has been read: what is
/// read after a change is taken for written after it.
#[tokio::test]
async fn lines_end_as_the_process_asks_its_terminal() {
    for (asked, expected) in [
        (":", "a\r\nb\r\n"),
        ("stty onlcr", "a\r\nb\r\n"),
        ("stty sane", "a\r\nb\r\n"),
        ("stty -opost", "a\nb\n"),
        ("stty raw", "a\nb\n"),
    ] {
        let finished = run(|dir| {
            let mut order = script(dir, &format!("{asked}; printf 'a\\nb\\n'"));
            order.tty = Some(Tty {
                columns: 80,
                rows: 24,
            });
            order
        })
        .await;
        assert_eq!(finished.text(), expected, "{asked}");
    }
}

#[tokio::test]
async fn a_process_may_let_go_of_its_terminal_and_come_back() {
    let finished = run(|dir| {
        let leave =
            "exec 0</dev/null 1>/dev/null 2>/dev/null; sleep 0.3; echo back > /dev/tty; exit 3";
        let mut order = script(dir, leave);
        order.tty = Some(Tty {
            columns: 500,
            rows: 500,
        });
        order
    })
    .await;
    assert_eq!(finished.exit, Some(Exit::Code(3)));
    assert_eq!(finished.text(), "back\r\n");
}

#[tokio::test]
async fn without_a_terminal_there_is_none() {
    let finished = run(|dir| script(dir, "tty; cat")).await;
    assert_eq!(finished.text(), "not a tty\n");
}

#[tokio::test]
async fn stdin_is_written_and_closed() {
    let long = "0123456789abcdef".repeat(20_000);
    let text = long.clone();
    let finished = run(|dir| {
        let mut order = script(dir, "cat");
        order.stdin = Some(text);
        order
    })
    .await;
    assert_eq!(finished.text(), long);
    let finished = run(|dir| {
        let mut order = script(dir, "exec <&-; echo done");
        order.stdin = Some(long);
        order
    })
    .await;
    assert_eq!(
        (finished.text().as_str(), finished.exit),
        ("done\n", Some(Exit::Code(0)))
    );
}

#[tokio::test]
async fn native_resource_types_run_in_the_shims_own_binary() {
    let finished = run(|dir| {
        let mut order = script(dir, "");
        order.run = Executable::Shim;
        order.args = ["resource", "mock", "in"].map(String::from).to_vec();
        order.args.push(dir.join("get").to_str().unwrap().into());
        order.stdin = Some(r#"{"source":{},"version":{"version":"7"}}"#.into());
        order
    })
    .await;
    assert_eq!(finished.exit, Some(Exit::Code(0)), "{finished:?}");
    assert_eq!(
        finished.text(),
        "{\"version\":{\"version\":\"7\"},\"metadata\":[]}\n"
    );
    assert!(
        String::from_utf8(finished.stderr)
            .unwrap()
            .contains("fetching version: 7")
    );
}

#[tokio::test]
async fn what_the_process_leaves_behind_is_ended() {
    let finished = run(|dir| {
        // In the background, in a session of its own, and holding the output open.
        let background = "setsid sh -c 'echo $$; echo > ready; exec sleep 1000' &";
        script(
            dir,
            &format!("mkfifo ready; {background} read -r line < ready"),
        )
    })
    .await;
    assert_eq!(finished.exit, Some(Exit::Code(0)));
    let pid: u32 = finished.text().trim().parse().unwrap();
    eventually("the background process ends", || {
        !fs::exists(format!("/proc/{pid}")).unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_user_is_switched_to_and_given_the_folders() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let finished = run(|dir| {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
        let made = dir.join("made");
        let mut order = script(
            &made,
            "id -u; id -g; echo $USER; echo $HOME; : > file && echo hi > /dev/stdout",
        );
        order.env.push(("HOME".into(), "/h".into()));
        order.make_dirs = vec![made.to_str().unwrap().into()];
        order.user = Some("nobody:12".into());
        order
    })
    .await;
    assert_eq!(
        finished.text(),
        "65534\n12\nnobody\n/h\nhi\n",
        "{finished:?}"
    );
    let finished = run(|dir| {
        let mut order = script(dir, "true");
        order.user = Some("no-such-user".into());
        order
    })
    .await;
    match finished.exit {
        Some(Exit::Broken(text)) => assert!(text.contains("no-such-user"), "{text}"),
        other => panic!("{other:?}"),
    }
}
