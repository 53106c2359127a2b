//! A second, independent copy of a tree on this machine.

use std::{
    io::{BufReader, BufWriter, Write},
    path::Path,
    thread,
};

use crate::{Error, Limits, pack::pack_plain, unpack::unpack_plain};

/// Copies the contents of `from` into the directory `to`, with what [`crate::pack()`] carries.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let (reader, writer) = std::io::pipe().map_err(Error::Write)?;
    thread::scope(|scope| {
        let packing = scope.spawn(move || {
            let mut writer = BufWriter::with_capacity(1 << 16, writer);
            pack_plain(from, &mut writer)?;
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
