//! A second, independent copy of a tree on this machine.

use std::{
    io::{BufReader, BufWriter, Write},
    path::Path,
    thread,
};

use crate::{
    Error, Limits,
    pack::{Chosen, pack_chosen},
    unpack::unpack_plain,
};

/// Copies the contents of `from` into the directory `to`, with what [`crate::pack()`] carries.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    copy_chosen(from, to, &Chosen::default())
}

/// Copies like [`copy`], but leaves out the entries for which `is_left_out` returns true of their
/// path below `from`, and gives the rest to this user and group.
pub fn copy_as(
    from: &Path,
    to: &Path,
    owner: (u32, u32),
    is_left_out: &(dyn Fn(&Path) -> bool + Sync),
) -> Result<(), Error> {
    let chosen = Chosen {
        owner: Some(owner),
        is_left_out,
    };
    copy_chosen(from, to, &chosen)
}

fn copy_chosen(from: &Path, to: &Path, chosen: &Chosen<'_>) -> Result<(), Error> {
    let (reader, writer) = std::io::pipe().map_err(Error::Write)?;
    thread::scope(|scope| {
        let packing = scope.spawn(move || {
            let mut writer = BufWriter::with_capacity(1 << 16, writer);
            pack_chosen(from, &mut writer, chosen)?;
            writer.flush().map_err(Error::Write)
        });
        let unpacked = unpack_plain(
            BufReader::with_capacity(1 << 16, reader),
            to,
            &Limits::UNBOUNDED,
        );
        let packed = packing.join().expect("packing returns its errors");
        // A reader that gave up breaks the writer's pipe: its own reason is the better one.
        unpacked.and(packed)
    })
}
