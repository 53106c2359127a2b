//! A named pipe that stops the process that opens it, where a step cannot be made to ask a
//! [`crate::Counter`]: the native resource types. It works for steps on this machine only.

use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Deserialize;

use crate::{wait_for, wait_for_glimpse};

pub struct Fifo(PathBuf);

impl Fifo {
    /// Puts a pipe into the output folder of the next step, before the step itself is there: it
    /// will stop when it wants to write the file of that name.
    pub fn in_next_output(data: &Path, name: &str) -> Self {
        let containers = data.join("runtime/containers");
        wait_for_glimpse("the folder of an output", || {
            fs::read_dir(&containers).ok()?.flatten().find_map(|entry| {
                let path = entry.path().join("outputs/m0").join(name);
                mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).ok()?;
                Some(Self(path))
            })
        })
    }

    /// A pipe that a running step sees at this path.
    pub fn seen_by_step(data: &Path, path: &str) -> Self {
        let containers = data.join("runtime/containers");
        wait_for("a step that sees the pipe", || {
            fs::read_dir(&containers).ok()?.flatten().find_map(|entry| {
                let pid = first_process(&entry.path())?;
                let seen = PathBuf::from(format!("/proc/{pid}/root{path}"));
                fs::metadata(&seen)
                    .ok()?
                    .file_type()
                    .is_fifo()
                    .then_some(Self(seen))
            })
        })
    }

    /// Takes what the step writes, and so lets it go on.
    pub fn drain(self) -> String {
        fs::read_to_string(&self.0).expect("the pipe can be read")
    }

    /// Gives the step something to read, and so lets it go on.
    pub fn feed(self, text: &str) {
        fs::write(&self.0, text).expect("the pipe can be written");
    }
}

/// The number of a container's first process.
pub(crate) fn first_process(container: &Path) -> Option<i32> {
    #[derive(Deserialize)]
    struct Init {
        pid: i32,
    }
    let text = fs::read(container.join("init.json")).ok()?;
    Some(serde_json::from_slice::<Init>(&text).ok()?.pid)
}
