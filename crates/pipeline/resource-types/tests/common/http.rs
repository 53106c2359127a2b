//! A small HTTP server on loopback: a closure answers each request. What it may do wrong is up to
//! it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

pub struct Request {
    pub method: String,
    /// Path with the query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter();
        let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Bytes of the body that are sent before the connection is cut.
    pub cut: Option<usize>,
}

impl Response {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            cut: None,
        }
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// Serves until the test's process ends, and returns `host:port`.
pub fn serve(answer: impl Fn(Request) -> Response + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || one(stream, &*answer));
        }
    });
    address
}

fn one(stream: TcpStream, answer: &dyn Fn(Request) -> Response) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => break,
        }
    }
    let mut request = Request {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    if request.header("expect").is_some() {
        (&stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    request.body = body(&mut reader, &request)?;
    let head = request.method == "HEAD";
    let response = answer(request);
    let mut text = format!(
        "HTTP/1.1 {} Words\r\nConnection: close\r\n",
        response.status
    );
    let given = |name: &str| response.headers.iter().any(|(key, _)| key == name);
    if !given("Content-Length") {
        text += &format!("Content-Length: {}\r\n", response.body.len());
    }
    for (name, value) in &response.headers {
        text += &format!("{name}: {value}\r\n");
    }
    (&stream).write_all(format!("{text}\r\n").as_bytes()).ok()?;
    if !head {
        let end = response.cut.unwrap_or(response.body.len());
        (&stream).write_all(&response.body[..end]).ok()?;
    }
    Some(())
}

fn body(reader: &mut impl BufRead, request: &Request) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    if let Some(length) = request.header("content-length") {
        let length = length.parse().ok()?;
        reader.take(length).read_to_end(&mut body).ok()?;
        return Some(body);
    }
    if request.header("transfer-encoding") != Some("chunked") {
        return Some(body);
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = u64::from_str_radix(line.trim(), 16).ok()?;
        reader.take(length).read_to_end(&mut body).ok()?;
        reader.read_line(&mut String::new()).ok()?;
        if length == 0 {
            return Some(body);
        }
    }
}
