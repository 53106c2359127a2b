//! The number in an object of a bucket. Who comes second wins: buckets know no better.

use std::io::Write;

use super::{Driver, settings::S3Key, strict};
use crate::{
    Failure,
    s3::{Access, Bucket},
    versions::Semver,
};

pub(super) struct S3Driver {
    bucket: Bucket,
    place: S3Key,
}

impl S3Driver {
    pub(super) fn new(access: Access, place: S3Key) -> Result<Self, Failure> {
        Ok(Self {
            bucket: Bucket::open(access)?,
            place,
        })
    }
}

impl Driver for S3Driver {
    fn current(&mut self, _log: &mut dyn Write) -> Result<Option<Semver>, Failure> {
        let Some(bytes) = self.bucket.read(&self.place.key)? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        strict(text.trim()).map(Some).ok_or_else(|| {
            Failure::said(format!(
                "{} has {:?} in it, which is not a version",
                self.place.key,
                text.trim()
            ))
        })
    }

    fn replace(&mut self, new: &Semver, _log: &mut dyn Write) -> Result<bool, Failure> {
        let sse = self.place.server_side_encryption.as_deref();
        let headers: Vec<(&str, &str)> = std::iter::once(("Content-Type", "text/plain"))
            .chain(sse.map(|sse| ("x-amz-server-side-encryption", sse)))
            .collect();
        let text = new.to_string();
        self.bucket
            .write(&self.place.key, text.as_bytes(), &headers)?;
        Ok(true)
    }
}
