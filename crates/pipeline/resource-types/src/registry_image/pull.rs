//! Images for steps: what a source's registry says of one, and all that it takes to unpack it.

use std::{fs, io::Write, path::Path};

use airside_oci::{Digest, MAX_INDEX_DEPTH};
use airside_pulls::PullProgress;

use super::{
    image,
    settings::{Intent, Source},
};
use crate::{
    Failure, Object,
    registry::{Meter, Registry, check_size},
};

/// Asks the registry itself whether it gives an image to the source's user. A mirror that the
/// source names is not asked: it would be the source's author who answers.
pub fn has_image(source: Object, digest: &Digest) -> Result<bool, Failure> {
    let registry = Source::read(source)?.registry(Intent::Pull)?;
    Ok(registry.resolve(&digest.to_string())?.as_ref() == Some(digest))
}

/// Returns true if a source has any login, to its registry or to a mirror.
pub fn has_login(source: &Object) -> bool {
    let is_secret = |key: &str| key == "username" || key == "password" || key.starts_with("aws_");
    let in_mirror = source
        .get("registry_mirror")
        .and_then(|mirror| mirror.as_object());
    [Some(source), in_mirror]
        .into_iter()
        .flatten()
        .flat_map(|object| object.iter())
        .any(|(key, value)| is_secret(key) && !value.is_null())
}

/// Fetches the image for the source's platform into `dest`, as `blobs/sha256` of an OCI layout: the
/// document with this digest, those that lead from it to the image, the image's configuration and
/// its layers. Fetches nothing if the image says that it has more than `most` bytes. `caller` gets
/// the numbers of the layers as they come.
pub fn download_image(
    source: Object,
    digest: &Digest,
    dest: &Path,
    most: u64,
    log: &mut dyn Write,
    caller: &mut dyn FnMut(PullProgress),
) -> Result<(), Failure> {
    let source = Source::read(source)?;
    let pull = Pull {
        source: &source,
        digest,
        blobs: &dest.join("blobs/sha256"),
        most,
    };
    let brought = source.ask(log, |registry, log| {
        let brought = pull.bring(registry, Meter::calling(log, caller));
        if brought.is_err() {
            crate::paths::clear(dest);
        }
        brought.map(Some)
    })?;
    brought.ok_or_else(|| Failure::no_image(digest))
}

struct Pull<'a> {
    source: &'a Source,
    digest: &'a Digest,
    blobs: &'a Path,
    most: u64,
}

impl Pull<'_> {
    fn bring(&self, registry: &Registry, mut meter: Meter<'_>) -> Result<(), Failure> {
        fs::create_dir_all(self.blobs).map_err(Failure::io(self.blobs))?;
        let mut documents = Vec::with_capacity(MAX_INDEX_DEPTH as usize);
        let platform = self.source.platform(None);
        let image = image::follow(registry, self.digest, &platform, |digest, bytes| {
            documents.push((digest.clone(), bytes.to_vec()));
        })?;
        check_size(&image.manifest, self.most)?;
        let config = image.manifest.config.digest.clone();
        documents.push((config.clone(), registry.document(&config)?));
        for (digest, bytes) in documents {
            let path = self.blobs.join(digest.hex());
            fs::write(&path, bytes).map_err(Failure::io(&path))?;
        }
        let layers = &image.manifest.layers;
        meter.expect(layers);
        for layer in layers {
            let path = self.blobs.join(layer.digest.hex());
            if path.exists() {
                meter.there_already(layer.size);
            } else {
                registry.download(layer, &path, &mut meter)?;
            }
        }
        meter.finish();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn logins_are_found_wherever_they_are() {
        for (source, expected) in [
            (json!({"repository": "a"}), false),
            (json!({"repository": "a", "username": null}), false),
            (json!({"repository": "a", "username": "u"}), true),
            (json!({"repository": "a", "aws_region": "eu-1"}), true),
            (json!({"registry_mirror": {"host": "m"}}), false),
            (
                json!({"registry_mirror": {"host": "m", "password": "p"}}),
                true,
            ),
        ] {
            assert_eq!(has_login(source.as_object().unwrap()), expected, "{source}");
        }
    }
}
