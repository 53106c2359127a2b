//! A disk that is full to the last, so that neither the database nor logs can be written: then
//! something goes without them.
//!
//! A step that writes on takes whatever room is made, and a build that cannot be written cannot
//! end. What takes most of the disk goes: the container of a step, which ends it, or an output of a
//! build that has not ended.

use airside_model::{Handle, VolumeId};
use airside_volumes::Bytes;
use tracing::{info, warn};

use crate::{Collector, Result, ballast};

/// A thing that is removed to make room.
#[derive(Debug, PartialEq, Eq)]
enum Victim {
    Container(Handle, u64),
    Output(VolumeId, u64),
}

/// A container with less than this fraction (1/N) of the disk did not fill it, and its end would
/// make little room.
const PART: u64 = 20;

/// The larger of the two, if it has `least` bytes.
fn choose(
    container: Option<(Handle, u64)>,
    output: Option<(VolumeId, u64)>,
    least: u64,
) -> Option<Victim> {
    let output = output.filter(|(_, bytes)| *bytes >= least);
    match (container.filter(|(_, bytes)| *bytes >= least), output) {
        (Some((_, bytes)), Some((id, more))) if more > bytes => Some(Victim::Output(id, more)),
        (Some((handle, bytes)), _) => Some(Victim::Container(handle, bytes)),
        (None, Some((id, bytes))) => Some(Victim::Output(id, bytes)),
        (None, None) => None,
    }
}

impl Collector {
    /// Removes files alone: garbage first, and if that is not enough, the files that take most of
    /// the disk.
    pub(crate) async fn make_room_without_database(&self) -> Result<()> {
        let (store, workers) = (&self.parts.store, &self.parts.workers);
        for volume in store.dead_volumes().await? {
            self.remove_tree(&volume).await?;
        }
        workers.collect_images(std::time::Duration::ZERO).await;
        if !ballast::is_full(self.disk()?) {
            info!("room made on a full disk, without the database");
            return Ok(());
        }
        let container = workers.largest_container().await;
        let least = self.disk()?.total / PART;
        match choose(container, self.largest_output().await?, least) {
            Some(Victim::Container(handle, bytes)) => {
                let why = format!(
                    "the server's disk was full, and this step took most of it: {}",
                    Bytes(bytes)
                );
                warn!(%handle, size = %Bytes(bytes), "step ended that takes most of a full disk");
                workers.end_container(&handle, &why).await;
            }
            Some(Victim::Output(volume, bytes)) => {
                warn!(%volume, size = %Bytes(bytes), "largest output of a running build removed: the disk is full");
                self.remove_tree(&volume).await?;
            }
            None => warn!(
                "no room made on a full disk: nothing of the server's could be removed; give it a larger disk"
            ),
        }
        Ok(())
    }

    async fn largest_output(&self) -> Result<Option<(VolumeId, u64)>> {
        let all = self.parts.store.volumes_in_the_making().await?;
        let volumes = self.parts.volumes.clone();
        let sized = airside_tasks::blocking("sizes of outputs", move || {
            let sized = all.into_iter().filter_map(|id| {
                let bytes = volumes.size(&id).ok()?;
                Some((id, bytes))
            });
            sized.max_by_key(|(_, bytes)| *bytes)
        });
        Ok(sized.await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_goes() {
        let container = |bytes| Some((Handle::new("h"), bytes));
        let output = |bytes| Some((VolumeId("v".to_owned()), bytes));
        let is =
            |victim: Option<Victim>| victim.map(|victim| matches!(victim, Victim::Container(..)));
        assert_eq!(is(choose(container(2), output(1), 1)), Some(true));
        assert_eq!(is(choose(container(1), output(2), 1)), Some(false));
        assert_eq!(is(choose(None, output(2), 1)), Some(false));
        assert_eq!(is(choose(container(2), None, 1)), Some(true));
        assert_eq!(choose(container(9), output(9), 10), None);
        assert_eq!(choose(None, None, 0), None);
    }
}
