//! A registry in the test: serves images that the test makes, counts what is fetched, and fails as
//! it is told.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use airside_scenarios::Environment;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// An image as `ImageSet` tells of it.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// Name with host and tag.
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) id: String,
    pub(crate) layer: String,
    pub(crate) size: u64,
}

#[derive(Default)]
struct State {
    /// Contents with their kinds, by digest.
    things: BTreeMap<String, (String, Vec<u8>)>,
    fetched: BTreeMap<String, u32>,
    /// Layers, as they were fetched.
    order: Vec<String>,
    is_down: bool,
    /// Layers whose digests begin so are not sent.
    held: Option<String>,
    /// Layers that are being waited for while they are held.
    waiting: u32,
    /// Digests that are served with other content.
    swapped: BTreeMap<String, String>,
    /// Status with which a digest is refused.
    refused: BTreeMap<String, u16>,
}

/// A registry that serves until the test ends: its thread goes with the process.
pub(crate) struct Shelf {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// A layer with one file of this many bytes that no compression makes smaller.
fn layer(megabytes: usize) -> Vec<u8> {
    let mut content = vec![0; megabytes * 1_000_000 + 1_000];
    rand::RngCore::fill_bytes(&mut rand::rng(), &mut content);
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append_data(&mut header, "content", &content[..])
        .unwrap();
    tar.into_inner().unwrap()
}

impl Shelf {
    /// Opens a registry on this address, which the nodes of a cluster reach.
    pub(crate) fn open(host: IpAddr) -> Self {
        let listener = TcpListener::bind((host, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let served = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&served);
                thread::spawn(move || attend(&stream, &state));
            }
        });
        Self { address, state }
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Makes an image of random content under this name, such as `app:1`.
    pub(crate) fn image(&self, name: &str, megabytes: usize) -> Image {
        self.of(name, layer(megabytes), "")
    }

    /// One from which a container can run.
    pub(crate) fn runnable(&self, name: &str) -> Image {
        let rootfs = std::fs::read(Environment::get().rootfs).unwrap();
        // Another one each time, though its layer is the same.
        self.of(name, rootfs, &format!("{:x}", rand::random::<u64>()))
    }

    fn of(&self, name: &str, layer: Vec<u8>, mark: &str) -> Image {
        let (layer_digest, size) = (sha256(&layer), layer.len());
        let config = json!({
            "architecture": "amd64", "os": "linux", "config": {"Labels": {"mark": mark}},
            "rootfs": {"type": "layers", "diff_ids": [layer_digest]},
        });
        let config = config.to_string().into_bytes();
        let media = |kind: &str| format!("application/vnd.oci.image.{kind}");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": media("manifest.v1+json"),
            "config": {"mediaType": media("config.v1+json"), "digest": sha256(&config), "size": config.len()},
            "layers": [{"mediaType": media("layer.v1.tar"), "digest": layer_digest, "size": size}],
        });
        let manifest = manifest.to_string().into_bytes();
        let image = Image {
            name: format!("{}/{name}", self.address),
            digest: sha256(&manifest),
            id: sha256(&config),
            layer: layer_digest,
            size: size as u64,
        };
        self.change(|state| {
            let kinds = ["layer.v1.tar", "config.v1+json", "manifest.v1+json"];
            for (kind, thing) in kinds.into_iter().zip([layer, config, manifest]) {
                state.things.insert(sha256(&thing), (media(kind), thing));
            }
        });
        image
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.0.lock().unwrap());
        self.state.1.notify_all();
        changed
    }

    /// Returns the number of whole fetches of a digest.
    pub(crate) fn fetched(&self, digest: &str) -> u32 {
        self.change(|state| state.fetched.get(digest).copied().unwrap_or_default())
    }

    /// Layers, as they were fetched.
    pub(crate) fn layers_in_order(&self) -> Vec<String> {
        self.change(|state| state.order.clone())
    }

    /// Connections are closed without a word.
    pub(crate) fn down(&self, is_down: bool) {
        self.change(|state| state.is_down = is_down);
    }

    /// Layers are not sent until they may.
    pub(crate) fn hold(&self, is_held: bool) {
        self.change(|state| state.held = is_held.then(String::new));
    }

    /// Holds back one layer alone.
    pub(crate) fn hold_one(&self, layer: &str) {
        self.change(|state| state.held = Some(layer.to_owned()));
    }

    /// Answers requests for the digest with this status, or with the content again.
    pub(crate) fn refuse(&self, digest: &str, status: Option<u16>) {
        self.change(|state| match status {
            Some(status) => drop(state.refused.insert(digest.to_owned(), status)),
            None => drop(state.refused.remove(digest)),
        });
    }

    /// Returns the number of layers that clients wait for.
    pub(crate) fn waiting(&self) -> u32 {
        self.change(|state| state.waiting)
    }

    /// Serves another content under this digest, or the right one again.
    pub(crate) fn swap(&self, digest: &str, other: Option<&str>) {
        self.change(|state| match other {
            Some(other) => drop(state.swapped.insert(digest.to_owned(), other.to_owned())),
            None => drop(state.swapped.remove(digest)),
        });
    }
}

fn attend(stream: &TcpStream, state: &(Mutex<State>, Condvar)) {
    let mut lines = BufReader::new(stream);
    loop {
        let mut asked = String::new();
        if lines.read_line(&mut asked).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut header = String::new();
            if lines.read_line(&mut header).unwrap_or(0) == 0 {
                return;
            }
            if header.trim().is_empty() {
                break;
            }
        }
        let mut words = asked.split(' ');
        let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        if answer(stream, state, method == "GET", path).is_none() {
            return;
        }
    }
}

/// None ends the connection.
fn answer(
    mut stream: &TcpStream,
    state: &(Mutex<State>, Condvar),
    is_get: bool,
    path: &str,
) -> Option<()> {
    let (lock, changed) = state;
    let mut now = lock.lock().unwrap();
    if now.is_down {
        return None;
    }
    let path = path.split('?').next().unwrap_or("");
    let digest = path.rsplit('/').next().unwrap_or("").to_owned();
    if let Some(status) = now.refused.get(&digest).copied() {
        drop(now);
        return write!(
            stream,
            "HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\n\r\n"
        )
        .ok();
    }
    let served = now.swapped.get(&digest).unwrap_or(&digest);
    let Some((kind, thing)) = now.things.get(served).cloned() else {
        drop(now);
        let status = if path == "/v2/" {
            "200 OK"
        } else {
            "404 Not Found"
        };
        return write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").ok();
    };
    if is_get && kind.contains("layer") {
        now.waiting += 1;
        let is_held = |state: &State| {
            let held = state.held.as_ref();
            held.is_some_and(|prefix| digest.starts_with(prefix.as_str()))
        };
        while is_held(&now) {
            now = changed.wait(now).unwrap();
        }
        now.waiting -= 1;
    }
    if is_get {
        *now.fetched.entry(digest.clone()).or_default() += 1;
        if kind.contains("layer") {
            now.order.push(digest.clone());
        }
    }
    drop(now);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nDocker-Content-Digest: {digest}\r\n\r\n",
        thing.len()
    )
    .ok()?;
    if is_get {
        stream.write_all(&thing).ok()
    } else {
        Some(())
    }
}

/// The status of an `ImageSet` with these images, as its operator would write it.
pub(crate) fn resolved(images: &[&Image]) -> Value {
    let images: Vec<Value> = images
        .iter()
        .map(|image| {
            json!({
                "image": image.name, "digest": image.digest, "state": "found",
                "platforms": {"linux/amd64": {"digest": image.digest, "id": image.id, "sizeBytes": image.size}},
            })
        })
        .collect();
    json!({"images": images})
}
