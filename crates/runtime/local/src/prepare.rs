//! Lays a container's folders out and plans its mounts. Nothing is mounted and nothing runs yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use airside_model::VolumeId;
use airside_rootfs::Rootfs;
use airside_runtime::{Image, MountAccess, PlacementSpec};
use airside_volumes::Volumes;

use crate::{
    Carriage, Error,
    container::ContainerDir,
    host, host_etc, network_files,
    plan::{PlannedMount, Source},
};

pub(crate) struct Prepared {
    pub mounts: Vec<PlannedMount>,
    pub outputs: BTreeMap<String, String>,
}

pub(crate) struct Preparation<'a> {
    pub dir: &'a ContainerDir,
    /// The store's root: never shown to a step.
    pub data: &'a Path,
    pub volumes: &'a Volumes,
    pub carriage: Carriage,
}

impl Preparation<'_> {
    pub(crate) fn run(
        &self,
        spec: &PlacementSpec,
        image: Option<&Rootfs>,
    ) -> Result<Prepared, Error> {
        let mut mounts = self.root(spec, image)?;
        let mut outputs = BTreeMap::new();
        if self.carriage == Carriage::Streamed {
            return Ok(Prepared { mounts, outputs });
        }
        for (number, place) in places(spec)?.into_iter().enumerate() {
            let name = format!("m{number}");
            let what = match (&place.input, place.output) {
                (Some(volume), false) => {
                    self.overlay(&name, vec![self.volume(&place.path, volume)?])?
                }
                (input, _) => {
                    outputs.insert(place.path.clone(), name.clone());
                    self.output(&name, &place.path, input.as_ref())?
                }
            };
            mounts.push(PlannedMount {
                at: PathBuf::from(&place.path),
                what,
            });
        }
        Ok(Prepared { mounts, outputs })
    }

    fn root(
        &self,
        spec: &PlacementSpec,
        image: Option<&Rootfs>,
    ) -> Result<Vec<PlannedMount>, Error> {
        let rootfs = self.folder("rootfs")?;
        match (&spec.image, image) {
            (_, Some(image)) => self.root_overlay(spec, image.layers.clone()),
            (Image::Volume { volume }, None) if self.carriage == Carriage::Mounted => {
                let layer = self.volume("/", volume)?.join("rootfs");
                if !layer.is_dir() || layer.is_symlink() {
                    return Err(Error::NoRootfs {
                        volume: volume.clone(),
                    });
                }
                self.root_overlay(spec, vec![layer])
            }
            (Image::Host, None) => {
                let overlay = |name: &str, lower: PathBuf| {
                    let lower = match name {
                        "etc" => self.open_configuration(&lower)?,
                        _ => lower,
                    };
                    self.overlay(name, vec![lower])
                };
                let mut mounts = vec![whole(&rootfs)];
                mounts.extend(host::assemble(&rootfs, self.data, overlay)?);
                self.host_configuration(spec)?;
                Ok(mounts)
            }
            _ => {
                host::empty_folders(&rootfs).map_err(Error::disk(&rootfs))?;
                let etc = rootfs.join("etc");
                network_files::write(&etc, &spec.handle)?;
                network_files::write_users(&etc)?;
                Ok(vec![whole(&rootfs)])
            }
        }
    }

    /// A copy of the machine's `/etc` without its secrets.
    fn open_configuration(&self, etc: &Path) -> Result<PathBuf, Error> {
        let (copies, containers) = (self.data.join("host-etc"), self.data.join("containers"));
        host_etc::copy_of(etc, &copies, &containers).map_err(Error::disk(etc))
    }

    /// Files that stand in for some of the machine's configuration.
    fn host_configuration(&self, spec: &PlacementSpec) -> Result<(), Error> {
        let etc = self.dir.join("upper/etc");
        network_files::write(&etc, &spec.handle)?;
        network_files::write_accounts(&etc)
    }

    fn root_overlay(
        &self,
        spec: &PlacementSpec,
        layers: Vec<PathBuf>,
    ) -> Result<Vec<PlannedMount>, Error> {
        let what = self.overlay("image", layers)?;
        network_files::write(&self.dir.join("upper/image/etc"), &spec.handle)?;
        Ok(vec![PlannedMount {
            at: PathBuf::from("/"),
            what,
        }])
    }

    fn volume(&self, path: &str, volume: &VolumeId) -> Result<PathBuf, Error> {
        self.volumes.path(volume).ok_or_else(|| Error::NoVolume {
            path: path.to_owned(),
            volume: volume.clone(),
        })
    }

    fn overlay(&self, name: &str, lower: Vec<PathBuf>) -> Result<Source, Error> {
        Ok(Source::Overlay {
            // The top folder of an overlay shows the upper one's owner and mode.
            upper: self.folder_like(&format!("upper/{name}"), lower.first())?,
            work: self.folder(&format!("work/{name}"))?,
            lower,
        })
    }

    /// An output that begins as something is a copy of that: it must be whole when it is sealed.
    fn output(&self, name: &str, path: &str, input: Option<&VolumeId>) -> Result<Source, Error> {
        let from = self.folder(&format!("outputs/{name}"))?;
        if let Some(volume) = input {
            airside_archive::copy(&self.volume(path, volume)?, &from)?;
        }
        Ok(Source::Bind { from })
    }

    fn folder(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.dir.join(name);
        fs::create_dir_all(&path).map_err(Error::disk(&path))?;
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .map_err(Error::disk(&path))?;
        Ok(path)
    }

    fn folder_like(&self, name: &str, model: Option<&PathBuf>) -> Result<PathBuf, Error> {
        let path = self.folder(name)?;
        if let Some(model) = model {
            use std::os::unix::fs::MetadataExt;
            let metadata = fs::metadata(model).map_err(Error::disk(model))?;
            std::os::unix::fs::chown(&path, Some(metadata.uid()), Some(metadata.gid()))
                .and_then(|()| fs::set_permissions(&path, metadata.permissions()))
                .map_err(Error::disk(&path))?;
        }
        Ok(path)
    }
}

/// A folder as the root.
fn whole(rootfs: &Path) -> PlannedMount {
    PlannedMount {
        at: PathBuf::from("/"),
        what: Source::Bind {
            from: rootfs.to_owned(),
        },
    }
}

struct Place {
    path: String,
    input: Option<VolumeId>,
    output: bool,
}

/// The mounts by path, outer ones first; an input and an output at one path are one place.
fn places(spec: &PlacementSpec) -> Result<Vec<Place>, Error> {
    let mut places: Vec<Place> = Vec::new();
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    for mount in &spec.mounts {
        let bad = || Error::BadMount {
            path: mount.path.clone(),
        };
        let clean = clean(Path::new(&mount.path)).ok_or_else(bad)?;
        if seen.insert(clean.clone()) {
            places.push(Place {
                path: mount.path.clone(),
                input: None,
                output: false,
            });
        }
        let same = |place: &&mut Place| {
            crate::prepare::clean(Path::new(&place.path)).as_ref() == Some(&clean)
        };
        let place = places
            .iter_mut()
            .find(same)
            .expect("it is there or was just put there");
        match &mount.access {
            MountAccess::Input { volume } => place.input = Some(volume.clone()),
            MountAccess::Output => place.output = true,
        }
    }
    places.sort_by_key(|place| Path::new(&place.path).components().count());
    Ok(places)
}

/// `/a//b/` and `/a/b` are one place.
pub(crate) fn clean(path: &Path) -> Option<PathBuf> {
    let mut components = path.components();
    let absolute = components.next() == Some(Component::RootDir);
    let plain = components
        .clone()
        .all(|part| matches!(part, Component::Normal(_)));
    (absolute && plain && components.next().is_some()).then(|| path.components().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_paths_below_the_root_are_places() {
        assert_eq!(clean(Path::new("/a//b/")), Some(PathBuf::from("/a/b")));
        for bad in ["", "/", "a", "./a", "/a/../b", ".."] {
            assert_eq!(clean(Path::new(bad)), None, "{bad}");
        }
    }
}
