//! A registry that refuses every request, for the cause of an image that is refused.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{IpAddr, TcpListener, TcpStream},
    thread,
};

use airside_runtime::{Image, PullSource};
use serde_json::json;

const REFUSAL: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                       Content-Length: 0\r\nConnection: close\r\n\r\n";

/// Starts a registry at this address, and returns an image that it gives to no source.
pub fn refused_image(at: IpAddr) -> Image {
    let listener = TcpListener::bind((at, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || refuse(stream));
        }
    });
    let digest = "0".repeat(64);
    let source = json!({"insecure": true});
    Image::Registry {
        reference: format!("{address}/private/image@sha256:{digest}"),
        source: PullSource(source.as_object().cloned().unwrap_or_default()),
        ask_registry: false,
        user: None,
    }
}

fn refuse(mut stream: TcpStream) {
    let Ok(reading) = stream.try_clone() else {
        return;
    };
    // The head ends with an empty line.
    let mut lines = BufReader::new(reading).lines();
    while lines
        .next()
        .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
    {}
    let _ = stream.write_all(REFUSAL.as_bytes());
}
