//! A disk that is nearly full.

use std::{fs, path::PathBuf, process::Command};

use airside_gc::Keep;
use airside_model::BuildStatus;
use airside_store::testing::TestDatabase;
use airside_volumes::{Percent, Volumes, Watermarks};

use crate::stage::{Leaves, Stage};

const MIB: usize = 1 << 20;

/// A file system of its own in memory, gone with the test.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// None where nothing can be mounted.
    fn mount(mebibytes: usize) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "disk"]);
        let mounted = mount.arg(dir.path()).status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self(dir))
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

async fn stage(disk: &SmallDisk) -> Stage {
    let percent = |number| Percent::new(number).unwrap();
    let marks = Watermarks {
        high: percent(80),
        low: percent(50),
    };
    let volumes = Volumes::open(&disk.path().join("volumes")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let volumes = volumes.with_marks(marks);
    let database = TestDatabase::sqlite();
    Stage::with_volumes(database, Keep::default(), folder, volumes).await
}

#[tokio::test]
async fn caches_go_oldest_first_and_only_as_far_as_needed() {
    let Some(disk) = SmallDisk::mount(20) else {
        return;
    };
    let stage = stage(&disk).await;
    let line = stage.pipeline("p", 8, 0, 0).await;
    let leaves = Leaves {
        status: BuildStatus::Succeeded,
        input: None,
        bytes: 0,
    };
    // Caches of a little more than two mebibytes, the second one used by a build that runs.
    let mut caches = Vec::new();
    let mut held = None;
    for (number, job) in line.jobs.iter().enumerate() {
        let lease = stage.begin(*job, None).await;
        let cache = stage
            .seal(&lease, &format!("cache-{number}"), 2 * MIB + MIB / 16)
            .await;
        stage.keep_cache(&lease, *job, &cache).await;
        caches.push(cache);
        if number == 1 {
            let used = stage.store.use_task_cache(&lease, *job, "task", "cache");
            assert!(used.await.unwrap().is_some());
            held = Some(lease);
        } else {
            let finished = stage.store.finish_build(&lease, leaves.status).await;
            finished.unwrap();
        }
        let below = !stage
            .volumes
            .disk()
            .unwrap()
            .is_above(stage.volumes.marks().high);
        assert_eq!(below, number < 7, "after {number}");
        assert_eq!(stage.collector.attend_to_disk().await.unwrap(), !below);
    }
    let left: Vec<bool> = caches.iter().map(|id| stage.volumes.exists(id)).collect();
    // Eight were too many and no more than four may stay; the oldest unused ones went.
    assert_eq!(left, [false, true, false, false, false, true, true, true]);
    assert!(
        !stage
            .volumes
            .disk()
            .unwrap()
            .is_above(stage.volumes.marks().low)
    );
    assert!(held.is_some(), "its build runs all the while");
}

#[tokio::test]
async fn what_cannot_go_stays_and_an_upload_is_told_why_it_is_refused() {
    let Some(disk) = SmallDisk::mount(10) else {
        return;
    };
    let stage = stage(&disk).await;
    assert!(stage.volumes.room().unwrap() > 7 * MIB as u64);
    fs::write(disk.path().join("filler"), vec![0; 9 * MIB]).unwrap();
    assert!(stage.collector.attend_to_disk().await.unwrap());
    let refused = stage.volumes.room().unwrap_err().to_string();
    assert!(refused.contains("nearly full: 1."), "{refused}");
    assert!(refused.contains("of 10.0 MiB are free"), "{refused}");
    assert!(
        refused.contains("80 % only (--disk-high-watermark)"),
        "{refused}"
    );
    fs::remove_file(disk.path().join("filler")).unwrap();
    assert!(!stage.collector.attend_to_disk().await.unwrap());
    assert!(stage.volumes.room().is_ok());
}
