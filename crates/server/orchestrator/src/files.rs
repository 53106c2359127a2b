//! Single files of artifacts, which the server reads itself for steps that take their instructions
//! from one.

use airside_model::VolumeId;

use crate::{Orchestrator, Result};

/// Largest file that is read: a larger one is neither a configuration nor a variable.
const LARGEST: u64 = 16 * 1024 * 1024;

impl Orchestrator {
    /// Returns true if a sealed volume is on disk.
    pub fn has_volume(&self, volume: &VolumeId) -> bool {
        self.parts.volumes.exists(volume)
    }

    /// The contents of a file in a sealed volume; `None` if there is no such file.
    pub async fn read_file(&self, volume: &VolumeId, path: &str) -> Result<Option<Vec<u8>>> {
        let (volumes, volume, path) = (self.parts.volumes.clone(), volume.clone(), path.to_owned());
        let read = move || volumes.read_file(&volume, &path, LARGEST);
        Ok(airside_tasks::blocking("file of an artifact", read).await??)
    }
}
