//! A registry on plain threads that counts what is asked of it, can be held in the middle of a
//! blob, and fails on demand.

use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead as _, BufReader, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use serde_json::json;
use sha2::{Digest as _, Sha256};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

pub struct CountingRegistry {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    book: Mutex<Book>,
    changed: Condvar,
}

#[derive(Default)]
struct Book {
    things: HashMap<String, (String, Vec<u8>)>,
    login: Login,
    fault: Option<Fault>,
    held: HashSet<String>,
    leads_away: bool,
    requests: Vec<String>,
    bytes: u64,
}

/// The clients that it serves.
#[derive(Clone, Debug, Default)]
pub enum Login {
    #[default]
    Anybody,
    /// This value of `Authorization` alone.
    Only(String),
    /// Clients with a token, which every client can get.
    Token,
}

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// Every request is answered so, with seconds to wait.
    Status(u16, u32),
    /// Blobs have other bytes than they should.
    WrongBytes,
    /// Connections are closed.
    Away,
    /// Every request is answered with a page where people log in.
    LoginPage,
    /// Every request is led to another host, where people log in.
    LoginElsewhere,
    /// Content comes without its length and without an end.
    Endless,
}

/// An image that was pushed.
#[derive(Clone, Debug)]
pub struct Pushed {
    pub manifest: String,
    pub config: String,
    pub layers: Vec<String>,
    pub size: u64,
}

pub fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// A file in a tar archive.
pub fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", content.len()));
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(512) + 1024, 0);
    archive
}

impl Default for CountingRegistry {
    fn default() -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into())
    }
}

impl CountingRegistry {
    pub fn start_at(ip: IpAddr) -> Self {
        let listener = TcpListener::bind((ip, 0)).expect("some port is free");
        let address = listener.local_addr().expect("it has one");
        let shared = Arc::<Shared>::default();
        let visitors = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = visitors.clone();
                thread::spawn(move || while let Ok(true) = shared.serve(&stream) {});
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let changed = change(&mut self.shared.book.lock().expect("nobody failed"));
        self.shared.changed.notify_all();
        changed
    }

    fn put(&self, name: &str, kind: &str, what: &str, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        let path = format!("/v2/{name}/{what}/{digest}");
        self.change(|book| book.things.insert(path, (kind.to_owned(), bytes.to_vec())));
        digest
    }

    fn tag(&self, name: &str, tag: &str, kind: &str, bytes: &[u8]) {
        let path = format!("/v2/{name}/manifests/{tag}");
        self.change(|book| book.things.insert(path, (kind.to_owned(), bytes.to_vec())));
    }

    /// An image of these layers, which are tar archives.
    pub fn push(&self, name: &str, tag: &str, layers: &[Vec<u8>]) -> Pushed {
        let blob = "application/octet-stream";
        let digests: Vec<String> = layers
            .iter()
            .map(|layer| self.put(name, blob, "blobs", layer))
            .collect();
        let config = json!({
            "os": "linux", "architecture": "amd64", "config": {"Cmd": ["/run"]},
            "rootfs": {"type": "layers", "diff_ids": digests},
        })
        .to_string();
        let config_digest = self.put(name, blob, "blobs", config.as_bytes());
        let layered: Vec<_> = layers
            .iter()
            .zip(&digests)
            .map(|(layer, digest)| {
                json!({"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digest, "size": layer.len()})
            })
            .collect();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config_digest, "size": config.len()},
            "layers": layered,
        })
        .to_string();
        let digest = self.put(name, MANIFEST, "manifests", manifest.as_bytes());
        self.tag(name, tag, MANIFEST, manifest.as_bytes());
        let size = layers.iter().map(Vec::len).sum::<usize>() + config.len() + manifest.len();
        Pushed {
            manifest: digest,
            config: config_digest,
            layers: digests,
            size: size as u64,
        }
    }

    /// An index of images that were pushed, by their platforms.
    pub fn push_index(&self, name: &str, tag: &str, images: &[(&str, &Pushed)]) -> String {
        let manifests: Vec<_> = images
            .iter()
            .map(|(platform, image)| {
                let (os, architecture) = platform.split_once('/').expect("os/architecture");
                let path = format!("/v2/{name}/manifests/{}", image.manifest);
                let size = self.change(|book| book.things[&path].1.len());
                json!({"mediaType": MANIFEST, "digest": image.manifest, "size": size, "platform": {"os": os, "architecture": architecture}})
            })
            .collect();
        let index =
            json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}).to_string();
        self.tag(name, tag, INDEX, index.as_bytes());
        self.put(name, INDEX, "manifests", index.as_bytes())
    }

    pub fn serve_to(&self, login: Login) {
        self.change(|book| book.login = login);
    }

    pub fn fail(&self, fault: Option<Fault>) {
        self.change(|book| book.fault = fault);
    }

    /// Blobs are somewhere else, where one gets them without a login and may not ask for more.
    pub fn lead_away(&self) {
        self.change(|book| book.leads_away = true);
    }

    /// Half of what this path has is sent, and the rest when it is released.
    pub fn hold(&self, path: &str) {
        self.change(|book| book.held.insert(path.to_owned()));
    }

    pub fn release(&self, path: &str) {
        self.change(|book| book.held.remove(path));
    }

    /// Returns the number of requests that began with this, such as `GET /v2/`.
    pub fn count(&self, start: &str) -> usize {
        self.change(|book| {
            book.requests
                .iter()
                .filter(|it| it.starts_with(start))
                .count()
        })
    }

    /// Returns the bytes of manifests and blobs that were sent.
    pub fn bytes(&self) -> u64 {
        self.change(|book| book.bytes)
    }

    pub fn requests(&self) -> Vec<String> {
        self.change(|book| book.requests.clone())
    }
}

impl Shared {
    /// Serves one request, and returns true if another one may follow.
    fn serve(&self, stream: &TcpStream) -> io::Result<bool> {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(false);
            }
            match line.trim() {
                "" if lines.is_empty() => {}
                "" => break,
                text => lines.push(text.to_owned()),
            }
        }
        let mut words = lines[0].split(' ');
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let path = target.split('?').next().unwrap_or("").replace("%3A", ":");
        let header = |name: &str| {
            lines.iter().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name)
                    .then(|| value.trim().to_owned())
            })
        };
        self.answer(
            stream,
            method,
            &path,
            header("authorization"),
            header("range"),
        )
    }

    fn answer(
        &self,
        mut stream: &TcpStream,
        method: &str,
        path: &str,
        login: Option<String>,
        range: Option<String>,
    ) -> io::Result<bool> {
        let (thing, wanted, fault) = {
            let mut book = self.book.lock().expect("nobody failed");
            book.requests.push(format!("{method} {path}"));
            (
                book.things.get(path).cloned(),
                book.login.clone(),
                book.fault,
            )
        };
        match fault {
            Some(Fault::Away) => return Ok(false),
            Some(Fault::Status(status, after)) => {
                write!(
                    stream,
                    "HTTP/1.1 {status} x\r\nRetry-After: {after}\r\nContent-Length: 0\r\n\r\n"
                )?;
                return Ok(true);
            }
            Some(Fault::LoginPage) => {
                let page = "<html>log in</html>";
                let length = page.len();
                write!(
                    stream,
                    "HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
                )?;
                if method == "GET" {
                    write!(stream, "{page}")?;
                }
                return Ok(true);
            }
            Some(Fault::LoginElsewhere) if !path.starts_with("/login") => {
                let port = stream.local_addr()?.port();
                write!(
                    stream,
                    "HTTP/1.1 302 x\r\nLocation: http://localhost:{port}/login\r\nContent-Length: 0\r\n\r\n"
                )?;
                return Ok(true);
            }
            Some(Fault::LoginElsewhere) => {
                let page = "HTTP/1.1 200 x\r\nContent-Length: 6\r\n\r\nlog in";
                write!(stream, "{page}")?;
                return Ok(true);
            }
            Some(Fault::Endless) if method == "GET" => {
                write!(
                    stream,
                    "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n"
                )?;
                let piece = vec![b'x'; 64 << 10];
                loop {
                    write!(stream, "{:x}\r\n", piece.len())?;
                    io::Write::write_all(&mut stream, &piece)?;
                    write!(stream, "\r\n")?;
                }
            }
            _ => {}
        }
        if path == "/token" {
            let token = json!({"token": "anybody's"}).to_string();
            write!(
                stream,
                "HTTP/1.1 200 x\r\nContent-Length: {}\r\n\r\n{token}",
                token.len()
            )?;
            return Ok(true);
        }
        if let Some(path) = path.strip_prefix("/elsewhere") {
            let thing = self
                .book
                .lock()
                .expect("nobody failed")
                .things
                .get(path)
                .cloned();
            let (_, bytes) = thing
                .filter(|_| login.is_none() && method == "GET")
                .unwrap_or_default();
            if range.as_deref() == Some("bytes=0-0") && !bytes.is_empty() {
                let whole = bytes.len();
                write!(
                    stream,
                    "HTTP/1.1 206 x\r\nContent-Range: bytes 0-0/{whole}\r\nContent-Length: 1\r\n\r\n"
                )?;
                self.send(stream, path, &bytes[..1])?;
                return Ok(true);
            }
            let status = if bytes.is_empty() { 403 } else { 200 };
            write!(
                stream,
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n",
                bytes.len()
            )?;
            self.send(stream, path, &bytes)?;
            return Ok(true);
        }
        let challenge = match &wanted {
            Login::Only(wanted) if login.as_ref() != Some(wanted) => {
                Some("Basic realm=\"r\"".to_owned())
            }
            Login::Token if login.as_deref() != Some("Bearer anybody's") => {
                let own = stream.local_addr()?;
                Some(format!(
                    "Bearer realm=\"http://{own}/token\",service=\"r\",scope=\"repository:x:pull\""
                ))
            }
            _ => None,
        };
        if let Some(challenge) = challenge {
            write!(
                stream,
                "HTTP/1.1 401 x\r\nWWW-Authenticate: {challenge}\r\nContent-Length: 0\r\n\r\n"
            )?;
            return Ok(true);
        }
        if self.book.lock().expect("nobody failed").leads_away && path.contains("/blobs/") {
            let port = stream.local_addr()?.port();
            write!(
                stream,
                "HTTP/1.1 307 x\r\nLocation: http://localhost:{port}/elsewhere{path}\r\nContent-Length: 0\r\n\r\n"
            )?;
            return Ok(true);
        }
        let Some((kind, mut bytes)) = thing else {
            write!(stream, "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(true);
        };
        let name = digest(&bytes);
        if matches!(fault, Some(Fault::WrongBytes)) && path.contains("/blobs/") {
            bytes[0] ^= 1;
        }
        let from = range.and_then(|range| {
            range
                .strip_prefix("bytes=")?
                .split('-')
                .next()?
                .parse()
                .ok()
        });
        let from: usize = from.unwrap_or(0);
        let sent = &bytes[from.min(bytes.len())..];
        let status = if from > 0 { 206 } else { 200 };
        write!(
            stream,
            "HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nDocker-Content-Digest: {name}\r\nContent-Length: {}\r\n\r\n",
            sent.len()
        )?;
        if method == "GET" {
            self.send(stream, path, sent)?;
        }
        Ok(true)
    }

    fn send(&self, mut stream: &TcpStream, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        stream.write_all(first)?;
        let mut book = self.book.lock().expect("nobody failed");
        while book.held.contains(path) {
            book = self.changed.wait(book).expect("nobody failed");
        }
        book.bytes += bytes.len() as u64;
        drop(book);
        stream.write_all(rest)
    }
}
