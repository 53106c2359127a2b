//! Processes that people run beside the step's: while it runs, and after it ended.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod support;

use std::{fs, path::Path};

use airside_model::Handle;
use airside_protocol::{Exit, Hijack, HubSays, Order, ShimSays, ToHub, ToShim, Tty};
use bytes::Bytes;
use support::{Connection, Finished, HANDLE, Hub, SESSION, Shim, eventually, script};

/// `sh -c script` where the step is.
fn guest(text: &str) -> Hijack {
    Hijack {
        id: "h1".into(),
        path: "sh".into(),
        args: vec!["-c".into(), text.into()],
        env: vec![],
        dir: None,
        user: None,
        tty: None,
        scratch: false,
    }
}

/// Asks for a hijack and lets its process start.
async fn hijack(hub: &Hub, control: &mut Connection, hijack: Hijack) -> Connection {
    let id = hijack.id.clone();
    control.say(HubSays::Hijack(Box::new(hijack))).await;
    let mut connection = hub.accept().await;
    let answer = ShimSays::Answer {
        handle: Handle::new(HANDLE),
        session: SESSION.into(),
        id,
    };
    assert_eq!(connection.hear().await, ToHub::Control(answer));
    connection.say(HubSays::Begin).await;
    connection
}

/// A step that runs until its folder holds a file `go`, or is gone with the test.
fn waiting(dir: &Path) -> Order {
    let mut order = script(
        dir,
        "echo ready; until [ -e go ] || [ ! -d \"$PWD\" ]; do sleep 0.02; done",
    );
    order.env = vec![("PARAM".into(), "of the step".into())];
    order
}

async fn running(hub: &Hub, shim: &Shim) -> Connection {
    let (mut control, _) = hub.claimed(&waiting(shim.folder.path()), 0).await;
    control
        .output(&mut Finished::default(), "ready\n".len())
        .await;
    control
}

/// A step that has ended, with its result committed.
async fn ended(hub: &Hub, shim: &Shim) -> Connection {
    let (mut control, _) = hub.claimed(&script(shim.folder.path(), "exit 1"), 0).await;
    control.finish().await;
    control.say(HubSays::Committed).await;
    control
}

#[tokio::test]
async fn it_has_the_steps_environment_and_folder_and_streams_of_its_own() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = running(&hub, &shim).await;
    let mut wanted = guest("echo $PARAM, $MORE; pwd; echo err >&2; exit 7");
    wanted.env = vec![("MORE".into(), "and mine".into())];
    let said = hijack(&hub, &mut control, wanted).await.finish().await;
    let folder = shim.folder.path().canonicalize().unwrap();
    assert!(said.started);
    let expected = format!("of the step, and mine\n{}\n", folder.display());
    assert_eq!(said.text(), expected);
    assert_eq!(said.stderr, b"err\n");
    assert_eq!(said.exit, Some(Exit::Code(7)));
}

#[tokio::test]
async fn input_is_passed_on_byte_for_byte_and_closed() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    let mut cat = hijack(&hub, &mut control, guest("cat")).await;
    let piece: Vec<u8> = (0..=255).cycle().take(60_000).collect();
    for _ in 0..5 {
        cat.send(ToShim::Chunk(Bytes::from(piece.clone()))).await;
    }
    cat.say(HubSays::CloseInput).await;
    let said = cat.finish().await;
    assert_eq!(said.stdout, piece.repeat(5));
    assert_eq!(said.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn a_terminal_has_the_size_it_is_given_and_changes_it() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    let mut wanted =
        guest("stty size; trap 'stty size; exit 3' WINCH; echo on; while :; do sleep 0.02; done");
    wanted.tty = Some(Tty {
        columns: 80,
        rows: 24,
    });
    let mut terminal = hijack(&hub, &mut control, wanted).await;
    let mut said = Finished::default();
    terminal.output(&mut said, "24 80\r\non\r\n".len()).await;
    let size = Tty {
        columns: 132,
        rows: 43,
    };
    terminal.say(HubSays::Resize(size)).await;
    let rest = terminal.finish().await;
    let all = [said.stdout, rest.stdout].concat();
    assert_eq!(String::from_utf8(all).unwrap(), "24 80\r\non\r\n43 132\r\n");
    assert_eq!(rest.exit, Some(Exit::Code(3)));
}

#[tokio::test]
async fn closing_the_input_of_a_terminal_ends_what_reads_it() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    let mut wanted = guest("stty -echo; echo on; cat");
    wanted.tty = Some(Tty {
        columns: 80,
        rows: 24,
    });
    let mut terminal = hijack(&hub, &mut control, wanted).await;
    terminal
        .output(&mut Finished::default(), "on\r\n".len())
        .await;
    terminal
        .send(ToShim::Chunk(Bytes::from_static(b"line\n")))
        .await;
    terminal.say(HubSays::CloseInput).await;
    let said = terminal.finish().await;
    assert_eq!(said.stdout, b"line\r\n");
    assert_eq!(said.exit, Some(Exit::Code(0)));
}

/// However a guest ended, the next one finds nothing of it.
#[tokio::test]
async fn a_folder_for_temporary_files_goes_with_its_guest() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    for rest in ["", "; sleep 1000"] {
        let mut wanted = guest(&format!("echo key >$TMPDIR/key; echo $TMPDIR{rest}"));
        wanted.scratch = true;
        let mut connection = hijack(&hub, &mut control, wanted).await;
        let mut said = Finished::default();
        connection.output(&mut said, 2).await;
        if rest.is_empty() {
            connection.finish().await;
        }
        drop(connection);
        let folder = said.text().trim().to_owned();
        assert!(folder.contains("airside-guest-h1"), "{folder}");
        eventually("the folder goes", || !Path::new(&folder).exists()).await;
    }
}

/// A check of a native type runs the shim's own program.
#[tokio::test]
async fn a_guest_may_be_the_shims_own_program() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    let wanted = Hijack {
        path: airside_protocol::OWN_PROGRAM.into(),
        args: ["resource", "mock", "check"].map(str::to_owned).to_vec(),
        ..guest("")
    };
    let mut connection = hijack(&hub, &mut control, wanted).await;
    let request = Bytes::from_static(br#"{"source": {"force_version": "v1"}}"#);
    connection.send(ToShim::Chunk(request)).await;
    connection.say(HubSays::CloseInput).await;
    let said = connection.finish().await;
    // The type adds how privileged the user of the test is.
    assert!(said.text().contains(r#""version":"v1""#), "{said:?}");
    assert_eq!(said.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn what_cannot_be_started_is_told_apart() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    for (change, not_found) in [
        (
            (|wanted: &mut Hijack| wanted.path = "no-such-shell".into()) as fn(&mut Hijack),
            true,
        ),
        (|wanted| wanted.dir = Some("/no/such/folder".into()), false),
        (|wanted| wanted.user = Some("no-such-user".into()), false),
    ] {
        let mut wanted = guest("true");
        change(&mut wanted);
        let said = hijack(&hub, &mut control, wanted).await.finish().await;
        assert!(!said.started);
        match said.exit {
            Some(Exit::NotFound(_)) => assert!(not_found),
            Some(Exit::Broken(words)) => assert!(!not_found && words.contains("no"), "{words}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn it_ends_with_its_connection_and_takes_its_children_along() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = running(&hub, &shim).await;
    let text = "trap '' TERM HUP; sleep 1000 & echo $! > child; echo $$; wait";
    let mut connection = hijack(&hub, &mut control, guest(text)).await;
    let mut said = Finished::default();
    connection.output(&mut said, 2).await;
    let child = fs::read_to_string(shim.folder.path().join("child")).unwrap();
    drop(connection);
    for pid in [said.text(), child] {
        let process = Path::new("/proc").join(pid.trim());
        eventually("the guest's processes end", || !process.exists()).await;
    }
    fs::write(shim.folder.path().join("go"), "").unwrap();
    assert_eq!(control.finish().await.exit, Some(Exit::Code(0)));
}

/// The first process of a container kills all that is left; guests are not the step's.
#[tokio::test]
async fn the_end_of_the_step_neither_waits_for_guests_nor_ends_them() {
    let root = rustix::process::getuid().is_root();
    let hub = Hub::start().await;
    for first in [false, true].into_iter().filter(|first| root || !*first) {
        let shim = if first {
            Shim::start_first(&hub)
        } else {
            Shim::start(&hub)
        };
        let folder = shim.folder.path();
        let text = "(setsid sh -c 'echo $$ > left; exec sleep 1000' &); echo ready; \
                    until [ -e go ] && [ -s left ]; do sleep 0.02; done";
        let (mut control, _) = hub.claimed(&script(folder, text), 0).await;
        control
            .output(&mut Finished::default(), "ready\n".len())
            .await;
        let mut connection = hijack(
            &hub,
            &mut control,
            guest("echo on; read line; kill -0 $(cat left) 2>&1; echo $line"),
        )
        .await;
        connection
            .output(&mut Finished::default(), "on\n".len())
            .await;
        fs::write(folder.join("go"), "").unwrap();
        assert_eq!(control.finish().await.exit, Some(Exit::Code(0)));
        connection
            .send(ToShim::Chunk(Bytes::from_static(b"still here\n")))
            .await;
        let said = connection.finish().await;
        let text = said.text();
        assert!(text.contains("No such process"), "{text}");
        assert!(text.ends_with("still here\n"), "{text}");
        assert_eq!(said.exit, Some(Exit::Code(0)));
        control.say(HubSays::Committed).await;
        control.say(HubSays::Exit).await;
        assert!(shim.left().await.0.success());
    }
}

#[tokio::test]
async fn leaving_ends_guests() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    let mut connection = hijack(&hub, &mut control, guest("echo $$; exec sleep 1000")).await;
    let mut said = Finished::default();
    connection.output(&mut said, 2).await;
    control.say(HubSays::Exit).await;
    assert!(shim.left().await.0.success());
    let process = Path::new("/proc").join(said.text().trim());
    eventually("the guest ends", || !process.exists()).await;
}

/// The hub repeats itself after a reconnection; a guest that is no longer wanted runs nothing.
#[tokio::test]
async fn a_refused_answer_runs_nothing() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    let mut control = ended(&hub, &shim).await;
    let wanted = guest("touch ran");
    control.say(HubSays::Hijack(Box::new(wanted))).await;
    let mut connection = hub.accept().await;
    connection.hear().await;
    let refused = HubSays::Refused {
        reason: "nobody waits".into(),
        retry: false,
    };
    connection.say(refused).await;
    assert!(connection.next().await.is_none());
    assert!(!fs::exists(shim.folder.path().join("ran")).unwrap());
}

#[tokio::test]
async fn after_a_reconnection_kept_shims_answer_as_before() {
    let hub = Hub::start().await;
    let shim = Shim::start(&hub);
    drop(ended(&hub, &shim).await);
    let (mut control, _) = hub.claimed(&script(Path::new("/"), "never run"), 0).await;
    let said = hijack(&hub, &mut control, guest("echo $PWD"))
        .await
        .finish()
        .await;
    let folder = shim.folder.path().canonicalize().unwrap();
    assert_eq!(said.text(), format!("{}\n", folder.display()));
    assert!(!shim.log().contains("lost output"), "{}", shim.log());
}
