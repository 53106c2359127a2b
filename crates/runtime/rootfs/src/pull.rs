//! Images of registries: found, fetched, and given to teams that may have them.

use std::fs;

use airside_oci::Manifest;
use airside_pulls::{PullProgress, PullStage};
use airside_resource_types::Object;

use crate::{
    Digest, Error, Images, PullListener, Rootfs, Scratch, blocking,
    layout::Layout,
    proofs::{ImageAccess, Proofs},
    registry::Image,
    wire::{PullerAnswer, PullerRequest},
};

impl Images {
    /// The root file system of an image that the team may have.
    pub(crate) async fn registry_image(
        &self,
        reference: &str,
        source: &Object,
        team: &str,
        listener: PullListener<'_>,
    ) -> Result<Rootfs, Error> {
        let team = &self.owner(team);
        let image = Image::parse(reference, source, &self.inner.mirrors)?;
        let digest = match image.pinned() {
            Some(digest) => digest.clone(),
            None => self.resolve(&image).await?,
        };
        if let Some(rootfs) = self.ready(&digest)?
            && self.access(&digest, team, &image)? == ImageAccess::Proved
        {
            return Ok(rootfs);
        }
        let _turn = self.turn(&digest).await;
        let Some(rootfs) = self.ready(&digest)? else {
            return self.pull(&image, &digest, team, listener).await;
        };
        match self.access(&digest, team, &image)? {
            ImageAccess::Proved => return Ok(rootfs),
            ImageAccess::AskRegistry => self.ask_registry(&image, &digest).await?,
            ImageAccess::Fetch => {
                let work = self.fresh()?;
                let brought = self.download(&image, &digest, &work, listener).await;
                work.discard().await;
                brought?;
            }
        }
        let place = self.place(&digest);
        let mut proofs = Proofs::read(&place)?;
        proofs.add(team, &image);
        proofs.write(&place, &self.fresh()?)?;
        Ok(rootfs)
    }

    fn access(&self, digest: &Digest, team: &str, image: &Image) -> Result<ImageAccess, Error> {
        Ok(Proofs::read(&self.place(digest))?.access(team, image))
    }

    /// The digest that the image's tag stands for now.
    async fn resolve(&self, image: &Image) -> Result<Digest, Error> {
        let source = image.source().clone();
        match self.ask(image, &PullerRequest::Resolve { source }).await? {
            PullerAnswer::Digest(Some(digest)) => Ok(digest),
            PullerAnswer::Digest(None) => Err(Error::Missing {
                what: image.name().to_owned(),
            }),
            other => Err(image.explain(other)),
        }
    }

    /// Fails unless the registry gives the image to the source's user.
    async fn ask_registry(&self, image: &Image, digest: &Digest) -> Result<(), Error> {
        let ask = PullerRequest::Has {
            source: image.source().clone(),
            digest: digest.clone(),
        };
        match self.ask(image, &ask).await? {
            PullerAnswer::Has(true) => Ok(()),
            PullerAnswer::Has(false) => Err(Error::NotYours {
                what: image.name().to_owned(),
            }),
            other => Err(image.explain(other)),
        }
    }

    /// Asks a process whose folder goes away again.
    async fn ask(&self, image: &Image, ask: &PullerRequest) -> Result<PullerAnswer, Error> {
        let work = self.fresh()?;
        tracing::debug!(image = image.name(), "registry asked");
        self.inner.confined.ask(&work.0, ask).await
    }

    /// Fetches an image and unpacks it.
    async fn pull(
        &self,
        image: &Image,
        digest: &Digest,
        team: &str,
        listener: PullListener<'_>,
    ) -> Result<Rootfs, Error> {
        let work = self.fresh()?;
        let pulled = match self.download(image, digest, &work, listener).await {
            Ok((layout, manifest)) => {
                let mut proofs = Proofs::default();
                proofs.add(team, image);
                self.assemble(digest.clone(), manifest, layout, Some(proofs), listener)
                    .await
            }
            Err(error) => Err(error),
        };
        work.discard().await;
        if pulled.is_ok() {
            tracing::info!(image = %digest, name = image.name(), "image pulled");
        }
        pulled
    }

    /// Fetches the blobs of an image into a folder, and makes sure that each is what its digest
    /// says.
    async fn download(
        &self,
        image: &Image,
        digest: &Digest,
        work: &Scratch,
        listener: PullListener<'_>,
    ) -> Result<(Layout, Manifest), Error> {
        let report = |progress: PullProgress| {
            let stage = PullStage::Fetching;
            listener(PullProgress { stage, ..progress });
        };
        report(PullProgress::default());
        let folder = work.0.join("download");
        fs::create_dir(&folder).map_err(Error::disk(&folder))?;
        let ask = PullerRequest::Download {
            source: image.source().clone(),
            digest: digest.clone(),
            most: self.room()?,
        };
        let confined = &self.inner.confined;
        match confined.ask_reporting(&folder, &ask, &report).await? {
            PullerAnswer::Done => {}
            other => return Err(image.explain(other)),
        }
        let (layout, digest) = (Layout::new(&folder), digest.clone());
        blocking(move || {
            let manifest = layout.brought(&digest)?;
            layout.verify_layers(&manifest)?;
            Ok((layout, manifest))
        })
        .await
    }
}
