//! A registry on loopback that gives an image to clients with a password, or to all, and notes the
//! requests.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};

/// The login that the registry wants: `user:word`.
pub const LOGIN: &str = "Basic dXNlcjp3b3Jk";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    Everybody,
    WithLogin,
    /// Says yes to every question for a manifest, and has none.
    Lies,
    /// Says that every tag is the image of the layout, and has nothing of it.
    Tag,
}

#[derive(Clone)]
pub struct Standin {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Called with each request's method and path.
type Look = Arc<dyn Fn() + Send + Sync>;

impl Standin {
    pub fn new(layout: &Path, gives: Gives) -> Self {
        Self::with_look(layout, gives, Arc::new(|| {}))
    }

    pub fn with_look(layout: &Path, gives: Gives, look: Look) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let standin = Self {
            port: listener.local_addr().unwrap().port(),
            asked: Arc::default(),
        };
        let (own, layout) = (standin.clone(), layout.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (own, layout, look) = (own.clone(), layout.clone(), look.clone());
                thread::spawn(move || own.answer(stream, &layout, gives, &look));
            }
        });
        standin
    }

    /// The requests since the last time, as `METHOD path`.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn answer(&self, stream: TcpStream, layout: &Path, gives: Gives, look: &Look) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut request = String::new();
        reader.read_line(&mut request).unwrap();
        let mut login = false;
        let mut header = String::new();
        while reader.read_line(&mut header).unwrap() > 2 {
            login |= header.trim_end() == format!("Authorization: {LOGIN}");
            header.clear();
        }
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap_or_default());
        self.asked.lock().unwrap().push(format!("{method} {path}"));
        look();
        let (status, digest, body) = match gives {
            Gives::WithLogin if !login => ("401 No", None, Vec::new()),
            Gives::Lies if path.contains("/manifests/") => {
                let digest = path.rsplit('/').next().unwrap().to_owned();
                ("200 OK", Some(digest), b"{}".to_vec())
            }
            Gives::Tag if path.contains("/manifests/") => {
                ("200 OK", Some(only_manifest(layout)), Vec::new())
            }
            Gives::Tag => ("404 Not Found", None, Vec::new()),
            _ => found(layout, path),
        };
        let digest = digest.map(|digest| format!("Docker-Content-Digest: {digest}\r\n"));
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\
             WWW-Authenticate: Basic realm=\"x\"\r\n{}\r\n",
            body.len(),
            digest.unwrap_or_default(),
        );
        let mut stream = stream;
        let _ = stream.write_all(head.as_bytes());
        if method == "GET" {
            let _ = stream.write_all(&body);
        }
    }
}

fn found(layout: &Path, path: &str) -> (&'static str, Option<String>, Vec<u8>) {
    if path == "/v2/" {
        return ("200 OK", None, Vec::new());
    }
    let digest = path.rsplit('/').next().unwrap();
    let blob: PathBuf = layout
        .join("blobs/sha256")
        .join(digest.trim_start_matches("sha256:"));
    match std::fs::read(blob) {
        Ok(body) => ("200 OK", Some(digest.to_owned()), body),
        Err(_) => ("404 Not Found", None, b"{}".to_vec()),
    }
}

/// The digest of the image that `common::image` made in the layout.
fn only_manifest(layout: &Path) -> String {
    let index = std::fs::read(layout.join("index.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    index["manifests"][1]["digest"].as_str().unwrap().to_owned()
}
