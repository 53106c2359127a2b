//! Traces as a collector receives them: real OTLP over HTTP, decoded.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod support;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::any_value::Value,
    trace::v1::{ResourceSpans, Span},
};
use prost::Message as _;
use rustix::process::Signal;
use support::{Home, Server, wait_until};

/// The smallest collector there is.
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    heads: Vec<String>,
    spans: Vec<ResourceSpans>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<Received>>::default();
        let into = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let into = into.clone();
                std::thread::spawn(move || while take(&stream, &into).is_some() {});
            }
        });
        Self { address, received }
    }

    fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        let scopes = received.spans.iter().flat_map(|spans| &spans.scope_spans);
        scopes.flat_map(|scope| scope.spans.clone()).collect()
    }
}

/// One request of a connection, or its end.
fn take(stream: &TcpStream, into: &Mutex<Received>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line == "\r\n" {
            break;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&lower);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
    let mut received = into.lock().unwrap();
    received.heads.push(head);
    received.spans.extend(request.resource_spans);
    drop(received);
    let mut stream = stream;
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .ok()
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|pair| pair.key == name)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

#[test]
fn requests_and_transactions_reach_the_collector_as_part_of_the_callers_trace() {
    let (home, collector) = (Home::new(), Collector::start());
    home.file("headers", "Authorization: Bearer abc\n\nX-Scope: ci\n");
    let endpoint = format!("http://{}", collector.address);
    let mut server = Server::start(home.web().args([
        "--otlp-endpoint",
        &endpoint,
        "--otlp-headers-file",
        "headers",
        "--otlp-service-name",
        "ci-server",
    ]));
    let answer = server.get(
        "/api/v1/teams/main/pipelines",
        &format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n"),
    );
    assert!(answer.starts_with("HTTP/1.0 200"), "{answer}");
    server.get("/no/such/path", "traceparent: rubbish\r\n");
    server.signal(Signal::TERM);
    assert!(server.wait().success(), "{}", server.log());

    let spans = collector.spans();
    let asked = "GET /api/v1/teams/{team_name}/pipelines";
    let request = spans.iter().find(|span| span.name == asked);
    let request = request.unwrap_or_else(|| panic!("{spans:#?}"));
    assert_eq!(hex(&request.trace_id), TRACE);
    assert_eq!(hex(&request.parent_span_id), PARENT);
    assert_eq!(
        attribute(request, "http.response.status_code").unwrap(),
        "200"
    );
    assert_eq!(
        attribute(request, "http.route").unwrap(),
        "/api/v1/teams/{team_name}/pipelines"
    );
    // A path without a route counts under no name of its own.
    let unknown = spans
        .iter()
        .find(|span| span.name == "GET unknown")
        .unwrap();
    assert_eq!(
        attribute(unknown, "http.response.status_code").unwrap(),
        "404"
    );
    assert!(unknown.parent_span_id.is_empty());
    let transaction = spans
        .iter()
        .find(|span| span.name == "transaction")
        .unwrap();
    assert_eq!(attribute(transaction, "db.system.name").unwrap(), "sqlite");

    let received = collector.received.lock().unwrap();
    let head = &received.heads[0];
    assert!(head.starts_with("post /v1/traces "), "{head}");
    assert!(head.contains("authorization: bearer abc"), "{head}");
    assert!(head.contains("x-scope: ci"), "{head}");
    let resource = format!("{:?}", received.spans[0].resource);
    assert!(resource.contains("ci-server"), "{resource}");
    assert!(
        !server.log().contains("request{"),
        "spans are not in the log"
    );
}

/// Logs in, sets a pipeline of one task and triggers it as part of a trace.
fn run_a_build(server: &Server) {
    let form =
        "Content-Type: application/x-www-form-urlencoded\r\nAuthorization: Basic Zmx5OlpteDU=\r\n";
    let grant = "grant_type=password&username=admin&password=secret";
    let answer = server.request("POST", "/sky/issuer/token", form, grant);
    let token = answer.split("\"access_token\":\"").nth(1).expect(&answer);
    let token = token.split('"').next().unwrap();
    let login = format!("Authorization: Bearer {token}\r\n");
    let ask = |method: &str, path: &str, more: &str, body: &str| {
        let answer = server.request(method, path, &format!("{login}{more}"), body);
        assert!(answer.starts_with("HTTP/1.0 20"), "{path}: {answer}");
        answer
    };
    let pipeline = "jobs: [{name: j, plan: [{task: t, config: {platform: linux, \
                    image_resource: {type: host}, run: {path: 'true'}}}]}]";
    let base = "/api/v1/teams/main/pipelines/p";
    let yaml = "Content-Type: application/x-yaml\r\n";
    ask("PUT", &format!("{base}/config"), yaml, pipeline);
    ask("PUT", &format!("{base}/unpause"), "", "");
    let traced = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\n");
    ask("POST", &format!("{base}/jobs/j/builds"), &traced, "");
    // There is no worker, so that the task errs.
    wait_until("the build ends", || {
        ask("GET", "/api/v1/builds/1", "", "").contains("\"status\":\"errored\"")
    });
}

#[test]
fn a_build_and_its_steps_are_part_of_the_trace_that_triggered_it() {
    let (home, collector) = (Home::new(), Collector::start());
    let endpoint = format!("http://{}/v1/traces", collector.address);
    let mut server = Server::start(home.web().args(["--otlp-endpoint", &endpoint]));
    run_a_build(&server);
    server.signal(Signal::TERM);
    assert!(server.wait().success(), "{}", server.log());

    let spans = collector.spans();
    let named = |name: &str| {
        let of_trace = spans.iter().filter(|span| hex(&span.trace_id) == TRACE);
        let found: Vec<&Span> = of_trace.filter(|span| span.name == name).collect();
        assert_eq!(found.len(), 1, "{name}: {spans:#?}");
        found[0]
    };
    let route = "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/builds";
    let (request, build, step) = (
        named(&format!("POST {route}")),
        named("build"),
        named("step"),
    );
    assert_eq!(build.parent_span_id, request.span_id);
    assert_eq!(step.parent_span_id, build.span_id);
    assert_eq!(attribute(build, "build").unwrap(), "1");
    assert_eq!(attribute(build, "pipeline").unwrap(), "p");
    assert_eq!(attribute(build, "job").unwrap(), "j");
    assert_eq!(attribute(build, "status").unwrap(), "errored");
    assert_eq!(attribute(step, "kind").unwrap(), "task");
    assert_eq!(attribute(step, "status").unwrap(), "errored");
}

#[test]
fn a_dead_collector_is_told_of_once_and_stops_nothing() {
    let home = Home::new();
    // No server listens there.
    let endpoint = "http://127.0.0.1:1";
    let mut server = Server::start(home.web().args(["--otlp-endpoint", endpoint]));
    wait_until("the loss is told", || {
        assert!(server.get("/api/v1/info", "").starts_with("HTTP/1.0 200"));
        server.log().contains("traces lost")
    });
    server.signal(Signal::TERM);
    assert!(server.wait().success(), "{}", server.log());
    assert_eq!(
        server.log().matches("traces lost").count(),
        1,
        "{}",
        server.log()
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
