//! Requests and answers.

use std::{
    io::{self, BufRead, Read, Write},
    time::Duration,
};

use crate::{Address, Error, ResponseBody, connect::Connection};

/// No head of an answer is longer.
const MAX_HEAD: u64 = 64 << 10;
/// The longest pause that a server may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
/// Characters of an answer that an error repeats: enough for a reason, too few for what a server
/// keeps.
const MOST_WORDS: usize = 160;

/// The body of a request.
pub enum Payload<'a> {
    Nothing,
    Bytes(&'a [u8]),
    /// This many bytes of a reader. Such a request is made once, since they cannot be read again.
    Stream(&'a mut dyn Read, u64),
}

pub struct Request<'a> {
    pub method: &'static str,
    pub address: Address,
    pub headers: Vec<(String, String)>,
    pub payload: Payload<'a>,
    /// Addresses of this machine and of its link are refused, whatever name leads there.
    pub(crate) not_nearby: bool,
}

impl<'a> Request<'a> {
    pub fn new(method: &'static str, address: Address) -> Self {
        Self {
            method,
            address,
            headers: Vec::new(),
            payload: Payload::Nothing,
            not_nearby: false,
        }
    }

    pub fn get(address: Address) -> Self {
        Self::new("GET", address)
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Refuses addresses of this machine (loopback) and of its link, where clouds have services
    /// that hand out keys. For addresses that a stranger's server chose.
    pub fn not_nearby(mut self) -> Self {
        self.not_nearby = true;
        self
    }

    pub fn payload(mut self, payload: Payload<'a>) -> Self {
        self.payload = payload;
        self
    }

    /// Writes the head of the request; a line break in a header is refused, since it would begin
    /// another header.
    pub(crate) fn head(&self, whole_address: bool) -> Result<String, Error> {
        let address = &self.address;
        let mut head = if whole_address {
            format!(
                "{} {}{} HTTP/1.1\r\n",
                self.method,
                address.origin(),
                address.target()
            )
        } else {
            format!("{} {} HTTP/1.1\r\n", self.method, address.target())
        };
        head += &format!("Host: {}\r\nUser-Agent: airside\r\n", address.authority());
        let length = match &self.payload {
            Payload::Nothing if matches!(self.method, "GET" | "HEAD") => None,
            Payload::Nothing => Some(0),
            Payload::Bytes(bytes) => Some(bytes.len() as u64),
            Payload::Stream(_, length) => Some(*length),
        };
        if let Some(length) = length {
            head += &format!("Content-Length: {length}\r\n");
        }
        for (name, value) in &self.headers {
            if name.contains(['\r', '\n', ':']) || value.contains(['\r', '\n']) {
                return Err(Error::Protocol {
                    host: address.authority(),
                    what: format!("the header {name:?} would have a line break in it"),
                });
            }
            head += &format!("{name}: {value}\r\n");
        }
        Ok(head + "\r\n")
    }

    pub(crate) fn send(&mut self, to: &mut impl Write) -> io::Result<()> {
        match &mut self.payload {
            Payload::Nothing => {}
            Payload::Bytes(bytes) => to.write_all(bytes)?,
            Payload::Stream(from, length) => {
                let sent = io::copy(&mut from.take(*length), to)?;
                if sent != *length {
                    return Err(io::Error::other(
                        "there is less to send than the length that was given",
                    ));
                }
            }
        }
        to.flush()
    }

    pub(crate) fn may_repeat(&self) -> bool {
        !matches!(self.payload, Payload::Stream(..))
    }
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: ResponseBody,
    /// Address of the server that answered, after all redirections.
    pub address: Address,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The whole body, if it is not longer than this.
    pub fn bytes(mut self, limit: u64) -> Result<Vec<u8>, Error> {
        self.body.read_all(limit)
    }

    /// This answer if it is a success, or else an error with the server's text.
    pub fn success(self, method: &'static str) -> Result<Self, Error> {
        if self.is_success() {
            return Ok(self);
        }
        let (status, url) = (self.status, self.address.to_string());
        let retry_after = retry_after(&self.headers);
        let text = self.body.some(2 << 10);
        let text = String::from_utf8_lossy(&text);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let answer = text.into_owned();
        let words = words.chars().filter(|c| !c.is_control());
        Err(Error::Status {
            method,
            url,
            status,
            words: words.take(MOST_WORDS).collect(),
            answer,
            retry_after,
        })
    }
}

pub(crate) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut found = headers
        .iter()
        .filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.as_str())
}

/// Returns the pause that a server asks for, an hour at most. A date is answered by our own pause.
pub(crate) fn retry_after(headers: &[(String, String)]) -> Option<Duration> {
    let seconds = find(headers, "retry-after")?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

/// The reason why a response has no head.
pub(crate) enum BadHead {
    Io(io::Error),
    /// The beginning of a first line that is not of HTTP.
    NotHttp(String),
}

impl From<io::Error> for BadHead {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads up to the empty line.
pub(crate) fn read_head(connection: &mut Connection) -> Result<Head, BadHead> {
    let mut limited = connection.take(MAX_HEAD);
    let mut line = || -> io::Result<String> {
        let mut bytes = Vec::new();
        limited.read_until(b'\n', &mut bytes)?;
        if !bytes.ends_with(b"\n") {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.splitn(3, ' ');
    let version = words.next().unwrap_or_default();
    let status = words.next().and_then(|word| word.parse().ok());
    let (true, Some(status)) = (version.starts_with("HTTP/1."), status) else {
        return Err(BadHead::NotHttp(first.chars().take(80).collect()));
    };
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        if line.is_empty() {
            return Ok(Head { status, headers });
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_pauses_are_an_hour_at_most() {
        let hour = Duration::from_secs(3600);
        for (text, expected) in [
            ("0", Some(Duration::ZERO)),
            ("7", Some(Duration::from_secs(7))),
            ("3600", Some(hour)),
            ("3601", Some(hour)),
            ("18446744073709551615", Some(hour)),
            ("18446744073709551616", None),
            ("-1", None),
            ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            let headers = [("Retry-After".to_owned(), text.to_owned())];
            assert_eq!(retry_after(&headers), expected, "{text}");
        }
    }
}
