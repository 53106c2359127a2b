//! Makes requests: connections, redirections, and second tries where the server has trouble.

use std::{cell::RefCell, collections::HashMap, thread, time::Instant};

use crate::{
    Error, Request, RequestTimeouts, Response, ResponseBody, Trust,
    connect::{Connected, Connection, connect},
    message::{BadHead, read_head, retry_after},
    nearby,
    tls::{self, Secured, Tls},
};

const REDIRECTIONS: u32 = 8;

/// Headers that may follow a redirection to another origin.
const HARMLESS: &[&str] = &[
    "accept",
    "accept-encoding",
    "accept-language",
    "content-type",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "range",
    "user-agent",
];

pub struct Client {
    tls: Secured,
    patience: RequestTimeouts,
    /// Connections that may be used again, one to a server.
    idle: RefCell<HashMap<String, Connection>>,
}

impl Client {
    pub fn new(trust: &Trust) -> Result<Self, Error> {
        Self::with_patience(trust, RequestTimeouts::default())
    }

    pub fn with_patience(trust: &Trust, patience: RequestTimeouts) -> Result<Self, Error> {
        let tls = Tls {
            trust: trust.clone(),
            ..Tls::default()
        };
        Self::with_tls(&tls, patience)
    }

    /// Makes a client for servers that ask for a certificate, or whose name is not that of their
    /// address.
    pub fn with_tls(tls: &Tls, patience: RequestTimeouts) -> Result<Self, Error> {
        Ok(Self {
            tls: tls::secured(tls)?,
            patience,
            idle: RefCell::default(),
        })
    }

    /// Makes a request and follows redirections. Another origin gets none of the request's headers
    /// but harmless ones: any of the others may be a credential. No server elsewhere leads to this
    /// machine. The answer may have any status.
    pub fn send(&self, mut request: Request<'_>) -> Result<Response, Error> {
        for _ in 0..REDIRECTIONS {
            let response = self.patiently(&mut request)?;
            let location = match response.status {
                301 | 302 | 303 | 307 | 308 => response.header("location"),
                _ => None,
            };
            let (Some(location), true) = (location, request.may_repeat()) else {
                return Ok(response);
            };
            let next = request.address.join(location)?;
            if next.origin() != request.address.origin() {
                if request.address.is_secure() && !next.is_secure() {
                    return Err(Error::Address {
                        url: next.to_string(),
                        why: "an encrypted server leads to it, and it is not encrypted",
                    });
                }
                let harmless = |name: &str| {
                    HARMLESS
                        .iter()
                        .any(|known| name.eq_ignore_ascii_case(known))
                };
                request.headers.retain(|(name, _)| harmless(name));
            }
            if next.host() != request.address.host() && !nearby::is_named(request.address.host()) {
                request.not_nearby = true;
            }
            if response.status == 303 && request.method != "HEAD" {
                request.method = "GET";
                request.payload = crate::Payload::Nothing;
            }
            request.address = next;
        }
        Err(Error::Redirects {
            host: request.address.authority(),
        })
    }

    /// A request whose answer is a success, or an error.
    pub fn expect(&self, request: Request<'_>) -> Result<Response, Error> {
        let method = request.method;
        self.send(request)?.success(method)
    }

    /// The body of a small answer that is a success. The connection serves again.
    pub fn fetch(&self, request: Request<'_>, limit: u64) -> Result<Vec<u8>, Error> {
        let mut response = self.expect(request)?;
        let bytes = response.body.read_all(limit)?;
        self.done(response);
        Ok(bytes)
    }

    /// Keeps the connection of an answer whose body was read, or has none.
    pub fn done(&self, response: Response) {
        let closing = response
            .header("connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if closing {
            return;
        }
        if let Some(connection) = response.body.into_connection() {
            let origin = response.address.origin();
            self.idle.borrow_mut().insert(origin, connection);
        }
    }

    fn patiently(&self, request: &mut Request<'_>) -> Result<Response, Error> {
        let mut pause = self.patience.pause;
        let tries = if request.may_repeat() {
            self.patience.tries
        } else {
            1
        };
        for number in 1.. {
            let result = self.once(request);
            let asked = match &result {
                Ok(response) if matches!(response.status, 429 | 500 | 502 | 503 | 504) => {
                    retry_after(&response.headers)
                }
                Err(error) if error.is_temporary() => None,
                _ => return result,
            };
            let wait = asked.unwrap_or(pause);
            if number >= tries || wait > self.patience.longest_pause {
                return result;
            }
            thread::sleep(wait);
            pause = pause.saturating_mul(2);
        }
        unreachable!("the loop has no end of its own")
    }

    fn once(&self, request: &mut Request<'_>) -> Result<Response, Error> {
        let origin = request.address.origin();
        let kept = self.idle.borrow_mut().remove(&origin);
        if let (Some(connection), true) = (kept, request.may_repeat()) {
            let connected = Connected {
                connection,
                through_proxy: false,
            };
            // The server may have hung up in the meantime.
            if let Ok(response) = self.exchange(request, connected) {
                return Ok(response);
            }
        }
        let connected = connect(
            &request.address,
            &self.tls,
            &self.patience,
            request.not_nearby,
        )?;
        self.exchange(request, connected)
    }

    fn exchange(&self, request: &mut Request<'_>, to: Connected) -> Result<Response, Error> {
        let host = request.address.authority();
        let broken = |source| Error::io(&host, source, self.patience.silence);
        let mut connection = to.connection;
        let head = request.head(to.through_proxy)?;
        let stream = connection.get_mut();
        stream.write_all(head.as_bytes()).map_err(broken)?;
        let sent = request.send(stream);
        let begun = Instant::now();
        let head = loop {
            let head = match read_head(&mut connection) {
                Ok(head) => head,
                // A server that refuses says so, if it can; else that it did not take it all.
                Err(BadHead::Io(error)) => return Err(broken(sent.err().unwrap_or(error))),
                Err(BadHead::NotHttp(what)) => return Err(Error::Protocol { host, what }),
            };
            if head.status >= 200 || begun.elapsed() > self.patience.silence {
                break head;
            }
        };
        let is_empty = request.method == "HEAD" || matches!(head.status, 204 | 304);
        let body = ResponseBody::new(
            connection,
            &head.headers,
            is_empty,
            host.clone(),
            self.patience,
        )?;
        Ok(Response {
            status: head.status,
            headers: head.headers,
            body,
            address: request.address.clone(),
        })
    }
}
