//! Just enough of an HTTP server.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use serde_json::Value;

pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: HashMap<String, String>,
    pub(super) body: Value,
}

pub(super) type TestAnswer = (u16, Value);

/// Answers until the process ends. Gives the URL.
pub(super) fn serve(answer: impl Fn(Request) -> TestAnswer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it listens"));
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || while_open(&stream, &*answer));
        }
    });
    url
}

fn while_open(stream: &TcpStream, answer: &dyn Fn(Request) -> TestAnswer) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let (status, body) = answer(read(&mut reader)?);
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let length = body.len();
        write!(
            writer,
            "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .ok()?;
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        method,
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}
