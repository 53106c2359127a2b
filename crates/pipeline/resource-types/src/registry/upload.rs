//! Pushes: blobs first, then what names them.

use std::io::Read;

use airside_blocking_http::{Payload, Request};

use airside_oci::Digest;

use super::{Registry, with_reference};
use crate::Failure;

impl Registry {
    pub(crate) fn has_blob(&self, blob: &Digest) -> Result<bool, Failure> {
        let request = Request::new("HEAD", self.url(&format!("blobs/{blob}"))?);
        let response = self.send(request)?;
        let found = response.is_success();
        self.client.done(response);
        Ok(found)
    }

    /// Sends a blob in one go.
    pub(crate) fn upload(
        &self,
        blob: &Digest,
        from: &mut dyn Read,
        size: u64,
    ) -> Result<(), Failure> {
        let what = with_reference(&self.repository, &blob.to_string());
        let begin = Request::new("POST", self.url("blobs/uploads/")?);
        let address = begin.address.clone();
        let response = self.expect(begin, &what)?;
        let place = response.header("location").ok_or_else(|| {
            Failure::said(format!(
                "{} does not say where to put {what}",
                self.repository.api_host()
            ))
        })?;
        let place = address.join(place)?;
        self.client.done(response);
        let mark = if place.target().contains('?') {
            '&'
        } else {
            '?'
        };
        let target = format!("{}{mark}digest={blob}", place.target());
        let address = place.join(&target)?;
        let request = Request::new("PUT", address)
            .header("Content-Type", "application/octet-stream")
            .payload(Payload::Stream(from, size));
        // Somewhere else our credentials have no business.
        let elsewhere = !place.origin().eq_ignore_ascii_case(&self.base);
        let response = if elsewhere {
            self.client.send(request)?
        } else {
            self.send(request)?
        };
        let done = response
            .success("PUT")
            .map_err(|error| self.explain(error, &what))?;
        self.client.done(done);
        Ok(())
    }

    /// Gives a manifest or index a name: a tag, or its digest.
    pub(crate) fn name(
        &self,
        reference: &str,
        media_type: &str,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let what = with_reference(&self.repository, reference);
        let request = Request::new("PUT", self.url(&format!("manifests/{reference}"))?)
            .header("Content-Type", media_type)
            .payload(Payload::Bytes(bytes));
        let response = self.expect(request, &what)?;
        self.client.done(response);
        Ok(())
    }
}
