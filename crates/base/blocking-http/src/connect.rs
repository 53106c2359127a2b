//! A connection to a server: direct or through a proxy, plain or encrypted.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};

use crate::{Address, Error, RequestTimeouts, nearby, tls::Secured};

pub(crate) trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

pub(crate) type Connection = BufReader<Box<dyn Stream>>;

/// A connection, and how requests over it must be written.
pub(crate) struct Connected {
    pub(crate) connection: Connection,
    /// A proxy passes the request on, and wants the whole address.
    pub(crate) through_proxy: bool,
}

pub(crate) fn connect(
    address: &Address,
    tls: &Secured,
    patience: &RequestTimeouts,
    not_nearby: bool,
) -> Result<Connected, Error> {
    let proxy = proxy(address)?;
    if not_nearby && nearby::is_named(address.host()) {
        return Err(nearby::refused(address));
    }
    if proxy.is_some() && nearby::is_closed_link(address.host()) {
        return Err(nearby::link_refused(address));
    }
    let (host, port) = match &proxy {
        Some(proxy) => (proxy.host(), proxy.port()),
        None => (address.host(), address.port()),
    };
    let no_way = |source, refused_on_loopback| Error::Connect {
        host: format!("{host}:{port}"),
        refused_on_loopback,
        source,
    };
    let places = resolve(host, port).map_err(|error| no_way(error, false))?;
    // A proxy is the operator's, wherever it is, and connects to where it may itself.
    if proxy.is_none() {
        nearby::check_link(address, &places)?;
    }
    if not_nearby && proxy.is_none() && places.iter().any(|place| nearby::is_nearby(&place.ip())) {
        return Err(nearby::refused(address));
    }
    let mut tcp = dial(&places, patience).map_err(|error| {
        let refused = is_refused_on_loopback(&places, &error);
        no_way(error, refused)
    })?;
    if !address.is_secure() {
        let stream: Box<dyn Stream> = Box::new(tcp);
        return Ok(Connected {
            connection: BufReader::new(stream),
            through_proxy: proxy.is_some(),
        });
    }
    let peer = format!("{}:{}", address.host(), address.port());
    let broken = |source| Error::io(&peer, source, patience.silence);
    if proxy.is_some() {
        tunnel(&mut tcp, address).map_err(broken)?;
    }
    let name = tls.name.as_deref().unwrap_or_else(|| address.host());
    let name = ServerName::try_from(name.trim_matches(['[', ']']).to_owned()).map_err(|_| {
        Error::Address {
            url: address.to_string(),
            why: "its host is not a name",
        }
    })?;
    let untrusted = |why| Error::untrusted(address.authority(), &why);
    let session = ClientConnection::new(tls.config.clone(), name).map_err(untrusted)?;
    let mut stream = StreamOwned::new(session, tcp);
    // Before anything secret is sent.
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(broken)?;
    }
    let stream: Box<dyn Stream> = Box::new(stream);
    Ok(Connected {
        connection: BufReader::new(stream),
        through_proxy: false,
    })
}

fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let name = host.trim_matches(['[', ']']);
    Ok((name, port).to_socket_addrs()?.collect())
}

/// The first of the addresses that takes us.
fn dial(places: &[SocketAddr], patience: &RequestTimeouts) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name leads nowhere");
    for place in places {
        match TcpStream::connect_timeout(place, patience.connect) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience.silence))?;
                stream.set_write_timeout(Some(patience.silence))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_refused_on_loopback(places: &[SocketAddr], error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
        && places.iter().all(|place| place.ip().is_loopback())
}

/// Returns true if `host` is on loopback alone and nothing listens at its port.
pub fn refuses_on_loopback(host: &str, port: u16, patience: &RequestTimeouts) -> bool {
    let Ok(places) = resolve(host, port) else {
        return false;
    };
    // Another machine is asked nothing.
    places.iter().all(|place| place.ip().is_loopback())
        && dial(&places, patience).is_err_and(|error| is_refused_on_loopback(&places, &error))
}

/// Asks the proxy for a way through.
fn tunnel(stream: &mut TcpStream, address: &Address) -> io::Result<()> {
    let target = format!("{}:{}", address.host(), address.port());
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some(user) = proxy_user(address) {
        head += &format!(
            "Proxy-Authorization: Basic {}\r\n",
            BASE64_STANDARD.encode(user)
        );
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    // One byte at a time: what comes after the head is not ours to read.
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        answer.push(byte[0]);
        if answer.len() > 16 << 10 {
            return Err(io::Error::other("the proxy's answer has no end"));
        }
    }
    let mut status = String::new();
    answer.as_slice().read_line(&mut status)?;
    match status.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(io::Error::other(format!(
            "the proxy does not connect us: {}",
            status.trim()
        ))),
    }
}

fn variable(names: [&str; 2]) -> Option<String> {
    let found = names.iter().find_map(|name| std::env::var(name).ok());
    found.filter(|value| !value.is_empty())
}

fn proxy_text(address: &Address) -> Option<String> {
    let excepted = variable(["no_proxy", "NO_PROXY"]).unwrap_or_default();
    if is_excepted(address.host(), &excepted) {
        return None;
    }
    let text = if address.is_secure() {
        variable(["https_proxy", "HTTPS_PROXY"])
    } else {
        // The upper-case name may come from a request's header where programs are run by a web
        // server.
        variable(["http_proxy", "http_proxy"])
    }?;
    Some(if text.contains("://") {
        text
    } else {
        format!("http://{text}")
    })
}

fn proxy(address: &Address) -> Result<Option<Address>, Error> {
    let Some(text) = proxy_text(address) else {
        return Ok(None);
    };
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", &text));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    Address::parse(&format!("{scheme}://{host}")).map(Some)
}

fn proxy_user(address: &Address) -> Option<String> {
    let text = proxy_text(address)?;
    let (_, rest) = text.split_once("://")?;
    rest.rsplit_once('@').map(|(user, _)| user.to_owned())
}

/// True if a list of names and ends of names has the host.
fn is_excepted(host: &str, list: &str) -> bool {
    list.split(',').map(str::trim).any(|entry| {
        let entry = entry.trim_start_matches("*.").trim_start_matches('.');
        entry == "*"
            || (!entry.is_empty() && (host == entry || host.ends_with(&format!(".{entry}"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_on_loopback_is_known_by_address_and_kind() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let patience = RequestTimeouts::default();
        assert!(!refuses_on_loopback("127.0.0.1", port, &patience));
        drop(listener);
        assert!(refuses_on_loopback("127.0.0.1", port, &patience));
        assert!(refuses_on_loopback("localhost", port, &patience));
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let elsewhere = [SocketAddr::from(([10, 0, 0, 7], port))];
        assert!(!is_refused_on_loopback(&elsewhere, &refused));
        let here = [SocketAddr::from(([127, 0, 0, 1], port))];
        let silent = io::Error::from(io::ErrorKind::TimedOut);
        assert!(is_refused_on_loopback(&here, &refused));
        assert!(!is_refused_on_loopback(&here, &silent));
    }

    #[test]
    fn proxies_have_exceptions() {
        let list = "localhost, .example.com,10.0.0.1";
        for (host, excepted) in [
            ("localhost", true),
            ("example.com", true),
            ("a.example.com", true),
            ("badexample.com", false),
            ("10.0.0.1", true),
            ("h", false),
        ] {
            assert_eq!(is_excepted(host, list), excepted, "{host}");
        }
        assert!(is_excepted("h", "*") && !is_excepted("h", ""));
    }
}
