//! The process that makes one container and ends: `airside rt create <folder>`.
//!
//! It is a process of its own because making containers needs one thread, another mount namespace
//! and another working directory, none of which a server can have. All mounts are made in the
//! helper's own mount namespace, which the container takes over: the machine's never shows them,
//! and they go away with the container, however that ends.
//!
//! Standard input is the container's lock (see [`crate::container`]): held from before the helper
//! was started until it ends, whatever becomes of the server.
//!
//! `airside rt probe <folder> <ids>` only finds out whether the kernel can show the folder with
//! other ids.

mod create;
mod idmap;
mod maker;
pub(crate) mod mounts;
mod netlink;
mod network;

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    path::Path,
    process::ExitCode,
};

/// Runs the helper with its arguments, without the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let result = match args.as_slice() {
        [verb, folder] if verb == "create" => create::run(Path::new(folder)),
        [verb, folder, ids] if verb == "probe" => probe(Path::new(folder), ids),
        _ => Err("usage: rt create <folder> | rt probe <folder> <ids>".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // The server reads it from the container's folder; nowhere else to complain to.
            let _ = writeln!(std::io::stderr(), "{message}");
            ExitCode::FAILURE
        }
    }
}

fn probe(folder: &Path, ids: &OsStr) -> Result<(), String> {
    let ids = ids.to_string_lossy().parse();
    let ids = ids.map_err(|error: crate::ids::BadIdRange| airside_model::chain(&error))?;
    idmap::is_possible(folder, ids).map_err(|error| {
        format!(
            "the kernel cannot show {} with other ids (an idmapped mount): {error}",
            folder.display(),
            error = airside_model::chain(&error)
        )
    })
}
