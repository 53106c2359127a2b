//! A named pipe that stops whoever opens it, in places where a step cannot be made to ask a
//! [`crate::Counter`]: native resource types.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};

use crate::wait_for;

pub struct Fifo(PathBuf);

impl Fifo {
    /// Puts a pipe where the next step's output folder appears, before the step gets there: the step
    /// stops when it wants to write the file of that name.
    pub fn in_next_output(data: &Path, name: &str) -> Self {
        let containers = data.join("runtime/containers");
        let path = wait_for("the folder of an output", || {
            fs::read_dir(&containers).ok()?.flatten().find_map(|entry| {
                let path = entry.path().join("outputs/m0").join(name);
                mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).ok()?;
                Some(path)
            })
        });
        Self(path)
    }

    /// Waits until somebody stands at the pipe to write.
    pub fn wait_for_writer(&self) -> Held {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        // Opening lets the writer in; it stops again when the pipe is full, and before that at the
        // end of its text. Hence only looked at, not opened: see `is_awaited`.
        let _ = flags;
        Held(self.0.clone())
    }
}

/// A step that stands at a pipe.
pub struct Held(PathBuf);

impl Held {
    /// Lets it go on, and gives what it wrote.
    pub fn release(self) -> String {
        let mut text = String::new();
        let file = open(&self.0, OFlags::RDONLY, Mode::empty()).expect("the pipe is still there");
        File::from(file).read_to_string(&mut text).expect("text comes out of the pipe");
        text
    }
}
