//! Output by lines: windows, searches, raw text, and who gets them.

use crate::support::{Server, TP, TestResponse, request};
use airside_logs::LogWriter;
use airside_model::{
    BuildId, BuildStatus, PlanId,
    event::{Event, Origin},
};
use axum::body::{Body, to_bytes};
use http::StatusCode;
use serde_json::{Value, json};

fn log(step: &str, time: i64, text: &str) -> Event {
    Event::Log {
        time,
        origin: Origin::step(&PlanId::new(step)),
        payload: text.to_owned(),
    }
}

async fn write(writer: &LogWriter, events: Vec<Event>) {
    let from = writer.position("all") + 1;
    let entries = (from..).zip(events).collect();
    writer.append_all("all", entries).await.unwrap();
}

/// A build of three steps: a bar and colours, many lines, an error.
async fn printed(server: &Server, build: BuildId) -> LogWriter {
    let writer = server.logs.writer(build, 1).await.unwrap();
    let origin = |step: &str| Origin::step(&PlanId::new(step));
    let mut events = vec![
        Event::SelectedWorker {
            time: 1,
            origin: origin("get"),
            selected_worker: "w".into(),
        },
        log("get", 2, "10%\r20%"),
        log("task", 3, "line 1\r\nline 2\r\n"),
        log(
            "get",
            4,
            "\r100%\x1b[K\n\x1b[1;31mred\x1b[0m \x1b]8;;https://a/b\x07link\x1b]8;;\x07 ",
        ),
        log("get", 5, "\x1b[38;2;1;2;255;48;5;208mé\x1b[m\n"),
        Event::Finish {
            origin: origin("get"),
            time: 6,
            succeeded: true,
        },
    ];
    for number in 3..=5000 {
        events.push(log("task", 7, &format!("line {number}\r\n")));
    }
    events.push(Event::Error {
        message: "it broke".into(),
        origin: origin("task"),
        time: 8,
    });
    write(&writer, events).await;
    writer
}

struct Asking<'a> {
    server: &'a Server,
    token: &'a str,
    build: BuildId,
}

impl Asking<'_> {
    async fn ask(&self, rest: &str) -> TestResponse {
        let path = format!("/airside/v1/builds/{}/{rest}", self.build);
        self.server.get(self.token, &path).await
    }

    async fn json(&self, rest: &str) -> Value {
        let answer = self.ask(rest).await;
        assert_eq!(answer.status, StatusCode::OK, "{rest}: {}", answer.text);
        answer.json()
    }

    /// The hits of a search, and the place where it goes on.
    async fn find(&self, rest: &str) -> (Vec<Value>, Value) {
        let answer = self.ask(&format!("find?{rest}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{rest}: {}", answer.text);
        assert_eq!(
            answer.header("content-type"),
            "application/x-ndjson; charset=utf-8"
        );
        let lines = answer.text.lines();
        let mut parts: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let end = parts.pop().unwrap();
        (parts, end["after"].clone())
    }
}

/// The text of each row of a window.
fn texts(window: &Value) -> Vec<String> {
    let rows = window["rows"].as_array().unwrap();
    let text = |row: &Value| {
        let spans = row[1].as_array().unwrap().iter();
        spans.map(|span| span[0].as_str().unwrap()).collect()
    };
    rows.iter().map(text).collect()
}

#[tokio::test]
async fn steps_and_their_lines_are_shown_as_a_terminal_shows_them() {
    let (server, ann, build) = Server::with_build().await;
    let writer = printed(&server, build).await;
    let asking = Asking {
        server: &server,
        token: &ann,
        build,
    };
    let steps = json!({"steps": [["get", 3, true], ["task", 5000, true]], "closed": false});
    assert_eq!(asking.json("lines").await, steps);
    assert_eq!(asking.json("lines?quick=1").await, steps);
    let window = asking.json("lines?step=get").await;
    let expected = json!({
        "step": "get", "from": 1, "total": 3, "settled": 3, "ended": true, "closed": false,
        "rows": [
            [1000, [["selected worker: ", {"a": 1}], ["w"]]],
            [4000, [["100%"]]],
            [5000, [["red", {"f": 1, "a": 1}], [" "], ["link", {"l": "https://a/b"}], [" "],
                ["é", {"f": "#0102ff", "b": 208}]]],
        ],
    });
    assert_eq!(window, expected);
    assert_eq!(asking.json("lines?step=get&from=1&quick=1").await, expected);
    writer.close().await.unwrap();
    assert_eq!(asking.json("lines").await["closed"], true);
}

#[tokio::test]
async fn windows_are_anywhere_and_joined_they_are_the_whole() {
    let (server, ann, build) = Server::with_build().await;
    let writer = printed(&server, build).await;
    let asking = Asking {
        server: &server,
        token: &ann,
        build,
    };
    let window = asking.json("lines?step=task&from=4001&count=3").await;
    assert_eq!(texts(&window), ["line 4001", "line 4002", "line 4003"]);
    assert_eq!(
        (&window["from"], &window["error"]),
        (&json!(4001), &json!("it broke"))
    );
    let mut all = Vec::new();
    while all.len() < 5000 {
        let window = asking
            .json(&format!("lines?step=task&from={}&count=777", all.len() + 1))
            .await;
        all.extend(texts(&window));
    }
    let expected: Vec<String> = (1..=5000).map(|number| format!("line {number}")).collect();
    assert_eq!(all, expected);
    // Of a build that runs, later windows have what came.
    write(&writer, vec![log("late", 9, "a\nb"), log("late", 9, "c\n")]).await;
    let tail = asking.json("lines?step=late&tail=1").await;
    assert_eq!(
        (texts(&tail), &tail["from"], &tail["ended"]),
        (vec!["bc".to_owned()], &json!(2), &json!(false))
    );
    let tail = asking.json("lines?step=task&tail=99999").await;
    assert_eq!((texts(&tail).len(), &tail["from"]), (2000, &json!(3001)));
    // What is not there is empty.
    let behind = asking.json("lines?step=task&from=9999").await;
    assert_eq!(
        (&behind["rows"], &behind["from"]),
        (&json!([]), &json!(5001))
    );
    let unknown = asking.json("lines?step=nowhere").await;
    assert_eq!(
        (&unknown["rows"], &unknown["ended"]),
        (&json!([]), &json!(false))
    );
}

#[tokio::test]
async fn a_search_finds_lines_of_all_steps() {
    let (server, ann, build) = Server::with_build().await;
    printed(&server, build).await;
    let asking = Asking {
        server: &server,
        token: &ann,
        build,
    };
    let (hits, after) = asking.find("q=LINE%2049").await;
    assert_eq!(after, Value::Null);
    assert_eq!(hits.len(), 1 + 10 + 100);
    assert_eq!(hits[0], json!(["task", 49, [[0, 7]]]));
    let (hits, _) = asking.find("q=r.d%7C%5Eline%207%24&regex=1").await;
    assert_eq!(
        hits,
        [json!(["get", 3, [[0, 3]]]), json!(["task", 7, [[0, 6]]])]
    );
    assert_eq!(asking.find("q=LINE&case=1").await.0, [] as [Value; 0]);
    assert_eq!(asking.find("q=line&step=get").await.0, [] as [Value; 0]);
    // What a bar showed before is not there any more.
    assert_eq!(asking.find("q=20%25").await.0, [] as [Value; 0]);
}

#[tokio::test]
async fn a_search_with_many_hits_goes_on_where_it_ended() {
    let (server, ann, build) = Server::with_build().await;
    printed(&server, build).await;
    let asking = Asking {
        server: &server,
        token: &ann,
        build,
    };
    let (mut lines, mut after) = (Vec::new(), String::new());
    loop {
        let (hits, next) = asking.find(&format!("q=line&after={after}")).await;
        lines.extend(hits.iter().map(|hit| hit[1].as_u64().unwrap()));
        match next {
            Value::Null => break,
            next => after = next.as_str().unwrap().to_owned(),
        }
    }
    assert_eq!(lines, (1..=5000).collect::<Vec<u64>>());
}

#[tokio::test]
async fn the_raw_text_is_what_was_printed() {
    let (server, ann, build) = Server::with_build().await;
    let writer = server.logs.writer(build, 1).await.unwrap();
    let events = vec![
        log("a", 1, "\x1b[1mx\r\n"),
        log("b", 2, "part"),
        log("a", 3, "y\nz\n"),
    ];
    write(&writer, events).await;
    let asking = Asking {
        server: &server,
        token: &ann,
        build,
    };
    let whole = asking.ask("log.txt").await;
    assert_eq!(whole.text, "\x1b[1mx\r\nparty\nz\n");
    assert_eq!(whole.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(whole.header("x-content-type-options"), "nosniff");
    assert_eq!(
        asking.ask("log.txt?step=a").await.text,
        "\x1b[1mx\r\ny\nz\n"
    );
    let timed = asking.ask("log.txt?time=1").await.text;
    let expected = "1970-01-01T00:00:01Z \x1b[1mx\r\n1970-01-01T00:00:02Z party\n\
        1970-01-01T00:00:03Z z\n";
    assert_eq!(timed, expected);
    // More than is read at once.
    let long = format!("{}\n", "long ".repeat(10_000));
    write(&writer, (0..20).map(|_| log("c", 4, &long)).collect()).await;
    assert_eq!(asking.ask("log.txt?step=c").await.text, long.repeat(20));
}

#[tokio::test]
async fn nonsense_is_refused() {
    let (server, ann, build) = Server::with_build().await;
    let asking = Asking {
        server: &server,
        token: &ann,
        build,
    };
    let long = "a".repeat(300);
    for bad in [
        "lines?step=a&from=1&tail=1".to_owned(),
        "lines?step=a&from=x".to_owned(),
        "lines?step=a&count=-1".to_owned(),
        format!("lines?step={long}"),
        format!("log.txt?step={long}"),
        "find".to_owned(),
        "find?q=".to_owned(),
        format!("find?q={long}"),
        "find?q=(&regex=1".to_owned(),
        "find?q=(a%7B1,99%7D)%7B1,99%7D%7B1,99%7D&regex=1".to_owned(),
        "find?q=a&after=7".to_owned(),
        "find?q=a&after=x-y".to_owned(),
    ] {
        let answer = asking.ask(&bad).await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_REQUEST,
            "{bad}: {}",
            answer.text
        );
    }
    for fine in [
        "lines?step=a&from=18446744073709551615&count=18446744073709551615",
        "lines?step=a&from=0",
        "find?q=a&after=18446744073709551615-18446744073709551615",
        "find?q=a&after=0-18446744073709551615",
    ] {
        assert_eq!(asking.ask(fine).await.status, StatusCode::OK, "{fine}");
    }
}

#[tokio::test]
async fn output_of_exposed_pipelines_is_open_where_the_job_is_public() {
    let (server, ann, hidden) = Server::with_build().await;
    let open = server.trigger(&ann, "open").await.json()["id"]
        .as_i64()
        .unwrap();
    for build in [hidden, BuildId(open)] {
        let writer = server.logs.writer(build, 1).await.unwrap();
        write(&writer, vec![log("a", 1, "words\n")]).await;
        writer.close().await.unwrap();
    }
    let bob = server.login("bob").await;
    let ways = ["lines", "lines?step=a", "find?q=words", "log.txt"];
    let status = async |token: Option<&str>, build: BuildId, way: &str| {
        let path = format!("/airside/v1/builds/{build}/{way}");
        server.call(token, "GET", &path).await.status
    };
    for way in ways {
        for build in [hidden, BuildId(open)] {
            assert_eq!(
                status(None, build, way).await,
                StatusCode::UNAUTHORIZED,
                "{way}"
            );
            assert_eq!(
                status(Some(&bob), build, way).await,
                StatusCode::FORBIDDEN,
                "{way}"
            );
            assert_eq!(
                status(Some(&ann), build, way).await,
                StatusCode::OK,
                "{way}"
            );
        }
        let nowhere = status(Some(&ann), BuildId(999), way).await;
        assert_eq!(nowhere, StatusCode::NOT_FOUND, "{way}");
    }
    assert_eq!(
        server.put(&ann, &format!("{TP}/expose")).await.status,
        StatusCode::OK
    );
    for way in ways {
        for token in [None, Some(bob.as_str())] {
            assert_eq!(
                status(token, BuildId(open), way).await,
                StatusCode::OK,
                "{way}"
            );
            assert_ne!(status(token, hidden, way).await, StatusCode::OK, "{way}");
        }
    }
}

#[tokio::test]
async fn lines_of_a_reaped_log_are_said_to_be_gone() {
    let (server, ann, build) = Server::with_build().await;
    let minute = std::time::Duration::from_secs(60);
    let lease = server.store.take_build(build, "me", "here", minute).await;
    let lease = lease.unwrap().unwrap();
    let failed = BuildStatus::Failed;
    server.store.finish_build(&lease, failed).await.unwrap();
    server.store.log_closed(build).await.unwrap();
    server.store.reap_builds(&[build]).await.unwrap();
    let asking = Asking {
        server: &server,
        token: &ann,
        build,
    };
    let steps = json!({"steps": [], "closed": true, "removed": true});
    assert_eq!(asking.json("lines").await, steps);
    let window = asking.json("lines?step=a").await;
    assert_eq!(
        (&window["removed"], &window["ended"], &window["rows"]),
        (&json!(true), &json!(true), &json!([]))
    );
    assert_eq!(asking.find("q=a").await, (vec![], Value::Null));
    assert!(asking.ask("log.txt").await.text.contains("log was removed"));
}

#[tokio::test]
async fn browsers_get_compressed_answers_to_their_end() {
    use std::io::Read as _;
    let (server, ann, build) = Server::with_build().await;
    let writer = printed(&server, build).await;
    writer.close().await.unwrap();
    for (rest, end) in [("find?q=line", "{\"after\":"), ("log.txt", "it broke\n")] {
        let path = format!("/airside/v1/builds/{build}/{rest}");
        let asked = request(Some(&ann), "GET", &path).header("accept-encoding", "gzip");
        let answer = server.send(asked.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.headers()["content-encoding"], "gzip");
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(bytes.as_ref());
        decoder.read_to_string(&mut text).unwrap();
        let last = text.lines().last().unwrap();
        assert!(format!("{last}\n").contains(end), "{rest}: {last}");
    }
}
