//! The confined processes of the image store, from inside: each reads one question, confines
//! itself, answers and ends.
//!
//! One kind asks registries: it has the system's reach, no capability and a cleared environment,
//! and writes blobs. The other unpacks layers: it has no server, no file but the root file system
//! that it makes, and of root's powers those over owners of files.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write},
    path::Path,
    process::ExitCode,
};

use airside_oci::Digest;
use airside_pulls::PullProgress;
use airside_resource_types::{CheckInput, Failure, Object, Privilege};
use airside_sandbox::{Confinement, SandboxReach};

use crate::{
    PullFault,
    unpack::{self, Opened},
    wire::{PullerAnswer, PullerRequest},
};

/// Bytes of memory: a few documents and the windows of decompressors.
const MEMORY: u64 = 1 << 30;
/// Bytes of the largest file.
const FILE: u64 = 64 << 30;

/// `puller [--metadata-access] <user> <folder>`: a process that the image store starts.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = airside_resource_types::limit_reach(args);
    let user = args.first().and_then(|user| user.to_str()?.parse().ok());
    let (Some(user), [_, folder]) = (user, args.as_slice()) else {
        return complain("usage: puller <user> <folder>; the image store starts it by itself");
    };
    let answer = match answer(user, Path::new(folder)) {
        Ok(answer) => answer,
        Err(error) => PullerAnswer::Broken(airside_model::chain(&error)),
    };
    match say(&answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&airside_model::chain(&error)),
    }
}

fn say(answer: &PullerAnswer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer).map_err(io::Error::other)?;
    line.push(b'\n');
    io::stdout().write_all(&line)
}

/// A pull goes on if its progress cannot be reported: its end is reported.
fn report(progress: PullProgress) {
    let _ = say(&PullerAnswer::Progress(progress));
}

/// The image store logs what is printed here.
fn complain(words: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "puller: {words}");
    ExitCode::FAILURE
}

fn answer(user: u32, folder: &Path) -> io::Result<PullerAnswer> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    let ask: PullerRequest = serde_json::from_slice(&text)?;
    // Opened while the process still sees them.
    let layers = match &ask {
        PullerRequest::Unpack { layers, .. } => layers.iter().map(Opened::open).collect(),
        _ => Ok(Vec::new()),
    };
    let without = airside_sandbox::enter(&Confinement {
        folder,
        reach: reach(&ask),
        user: Some(user),
        needs_account: false,
        memory: MEMORY,
        file: FILE,
    })?;
    for missing in without {
        complain(&format!("is confined without {missing}"));
    }
    Ok(match ask {
        PullerRequest::Resolve { source } => resolve(source),
        PullerRequest::Has { source, digest } => {
            match airside_resource_types::has_image(source, &digest) {
                Ok(has) => PullerAnswer::Has(has),
                Err(failure) => not_pulled(&failure),
            }
        }
        PullerRequest::Download {
            source,
            digest,
            most,
        } => download(source, &digest, most),
        PullerRequest::Unpack { most, .. } => unpack::all(layers?, most, &mut report),
    })
}

fn reach(ask: &PullerRequest) -> SandboxReach {
    match ask {
        PullerRequest::Unpack { .. } => SandboxReach::Folder,
        PullerRequest::Resolve { .. }
        | PullerRequest::Has { .. }
        | PullerRequest::Download { .. } => SandboxReach::System,
    }
}

fn resolve(source: Object) -> PullerAnswer {
    let request = CheckInput {
        source,
        version: None,
    };
    let found = airside_resource_types::check(
        "registry-image",
        request,
        Privilege::Unprivileged,
        &mut io::stderr(),
    );
    match found {
        Ok(found) => {
            let last = found.last().and_then(|version| version.0.get("digest"));
            PullerAnswer::Digest(last.and_then(|digest| Digest::parse(digest).ok()))
        }
        Err(failure) => not_pulled(&failure),
    }
}

fn download(source: Object, digest: &Digest, most: u64) -> PullerAnswer {
    let folder = Path::new(".");
    let downloaded = airside_resource_types::download_image(
        source,
        digest,
        folder,
        most,
        &mut io::stderr(),
        &mut report,
    );
    match downloaded {
        Ok(()) => PullerAnswer::Done,
        Err(failure) => not_pulled(&failure),
    }
}

fn not_pulled(failure: &Failure) -> PullerAnswer {
    match failure {
        Failure::Io { error, .. } if error.kind() == io::ErrorKind::StorageFull => {
            PullerAnswer::DiskFull
        }
        failure => PullerAnswer::NotPulled {
            words: airside_model::chain(&failure),
            fault: PullFault::from_status(failure.status()),
        },
    }
}
