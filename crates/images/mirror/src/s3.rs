//! Storage in a bucket of any server that speaks S3, which several mirrors may share.
//!
//! `PREFIX/blobs/HEX` is content, `PREFIX/notes/NAME` a note, and the time of `PREFIX/used/HEX` the
//! content's last use, which each mirror writes now and then.

mod bucket;

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use airside_aws::sha256;
use airside_blocking_http::{Payload, Request};
use airside_oci::Digest;
use async_trait::async_trait;
use bytes::Bytes;
use futures::stream;
use parking_lot::Mutex;
use tokio::sync::mpsc;

pub use self::bucket::BucketSettings;
use self::bucket::{Bucket, found, parse_time};
use crate::{
    clock,
    storage::{KeptContent, Note, NoteName, Noted, Pieces, Storage},
};

const PIECE: usize = 256 << 10;
const LARGEST_NOTE: u64 = 1 << 20;
/// A use is written down this often at most, by each mirror.
const USED: Duration = Duration::from_secs(6 * 3600);

pub struct S3 {
    bucket: Arc<Bucket>,
    touched: Mutex<HashMap<Digest, Instant>>,
}

impl S3 {
    pub fn open(settings: BucketSettings) -> io::Result<Self> {
        Ok(Self {
            bucket: Arc::new(Bucket::open(settings)?),
            touched: Mutex::default(),
        })
    }

    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Bucket) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let bucket = self.bucket.clone();
        airside_tasks::blocking("mirror's bucket", move || work(&bucket))
            .await
            .map_err(io::Error::other)?
    }

    /// Returns true if it is time to write the content's last use.
    fn is_due(&self, digest: &Digest) -> bool {
        let mut touched = self.touched.lock();
        touched.retain(|_, at| at.elapsed() < USED);
        touched.insert(digest.clone(), Instant::now()).is_none()
    }
}

fn blob(digest: &Digest) -> String {
    format!("blobs/{}", digest.hex())
}

fn used(digest: &Digest) -> String {
    format!("used/{}", digest.hex())
}

fn write(bucket: &Bucket, key: &str, bytes: &[u8]) -> io::Result<()> {
    let request = Request::new("PUT", bucket.address(key, "")?).payload(Payload::Bytes(bytes));
    bucket.send(request, &sha256(bytes)).map(drop)
}

#[async_trait]
impl Storage for S3 {
    async fn size(&self, digest: &Digest) -> io::Result<Option<u64>> {
        let (key, use_key) = (blob(digest), used(digest));
        let is_due = self.is_due(digest);
        self.ask(move |bucket| {
            let request = Request::new("HEAD", bucket.address(&key, "")?);
            let Some(answer) = found(bucket.send(request, airside_aws::EMPTY))? else {
                return Ok(None);
            };
            if is_due {
                write(bucket, &use_key, b"")?;
            }
            Ok(answer
                .header("content-length")
                .and_then(|text| text.parse().ok()))
        })
        .await
    }

    async fn read(&self, digest: &Digest, from: u64, length: u64) -> io::Result<Pieces> {
        if length == 0 {
            return Ok(Box::pin(stream::empty()));
        }
        let (key, last) = (blob(digest), from + length - 1);
        let answer = self
            .ask(move |bucket| {
                let request = Request::get(bucket.address(&key, "")?);
                let request = request.header("Range", format!("bytes={from}-{last}"));
                bucket.send(request, airside_aws::EMPTY)
            })
            .await?;
        let (send, receive) = mpsc::channel::<io::Result<Bytes>>(4);
        let pump = move || {
            let mut body = answer.body;
            let mut piece = vec![0; PIECE];
            loop {
                let got = match body.read(&mut piece) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&piece[..count])),
                    Err(error) => Err(error),
                };
                let is_over = got.is_err();
                // The reader is gone.
                if send.blocking_send(got).is_err() || is_over {
                    return;
                }
            }
        };
        airside_tasks::spawn(
            "content of a mirror",
            airside_tasks::blocking("content of a mirror", pump),
        );
        Ok(Box::pin(stream::unfold(receive, |mut receive| async {
            let piece = receive.recv().await?;
            Some((piece, receive))
        })))
    }

    /// Content is its own hash, which the signature needs.
    async fn keep(&self, digest: &Digest, file: &Path) -> io::Result<()> {
        let (key, hash, path) = (blob(digest), digest.hex().to_owned(), file.to_owned());
        self.ask(move |bucket| {
            let mut file = File::open(&path)?;
            let length = file.metadata()?.len();
            let payload = Payload::Stream(&mut file, length);
            let request = Request::new("PUT", bucket.address(&key, "")?).payload(payload);
            bucket.send(request, &hash)?;
            std::fs::remove_file(&path)
        })
        .await
    }

    async fn note(&self, name: &NoteName) -> io::Result<Option<Note>> {
        let key = format!("notes/{}", name.as_str());
        self.ask(move |bucket| {
            let request = Request::get(bucket.address(&key, "")?);
            let Some(answer) = found(bucket.send(request, airside_aws::EMPTY))? else {
                return Ok(None);
            };
            let time = answer
                .header("last-modified")
                .and_then(bucket::parse_http_time);
            let age = time.map(clock::age).unwrap_or_default();
            let text = answer.bytes(LARGEST_NOTE).map_err(io::Error::other)?;
            let text = String::from_utf8(text).map_err(io::Error::other)?;
            Ok(Some(Note { text, age }))
        })
        .await
    }

    async fn write_note(&self, name: &NoteName, text: &str) -> io::Result<()> {
        let (key, text) = (format!("notes/{}", name.as_str()), text.to_owned());
        self.ask(move |bucket| write(bucket, &key, text.as_bytes()))
            .await
    }

    async fn notes(&self) -> io::Result<Vec<Noted>> {
        self.ask(|bucket| {
            let notes = bucket.list("notes/")?.into_iter().map(|item| Noted {
                name: NoteName::listed(item.name),
                age: clock::age(parse_time(item.time)),
            });
            Ok(notes.collect())
        })
        .await
    }

    async fn remove_note(&self, name: &NoteName) -> io::Result<()> {
        let key = format!("notes/{}", name.as_str());
        self.ask(move |bucket| {
            let request = Request::new("DELETE", bucket.address(&key, "")?);
            found(bucket.send(request, airside_aws::EMPTY)).map(drop)
        })
        .await
    }

    async fn list(&self) -> io::Result<Vec<KeptContent>> {
        self.ask(|bucket| {
            let mut uses = HashMap::new();
            for item in bucket.list("used/")? {
                uses.insert(item.name, item.time);
            }
            let kept = bucket.list("blobs/")?.into_iter().filter_map(|item| {
                let digest = Digest::parse(&format!("sha256:{}", item.name)).ok()?;
                let used = uses.get(&item.name).copied().unwrap_or_default();
                Some(KeptContent {
                    digest,
                    size: item.size,
                    used: parse_time(used.max(item.time)),
                })
            });
            Ok(kept.collect())
        })
        .await
    }

    async fn remove(&self, digest: &Digest) -> io::Result<()> {
        let keys = [blob(digest), used(digest)];
        self.touched.lock().remove(digest);
        self.ask(move |bucket| {
            for key in keys {
                let request = Request::new("DELETE", bucket.address(&key, "")?);
                found(bucket.send(request, airside_aws::EMPTY))?;
            }
            Ok(())
        })
        .await
    }
}
