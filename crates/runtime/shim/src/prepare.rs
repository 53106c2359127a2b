//! Everything that must be in place before the process starts: its root, user, inputs and folders.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use airside_protocol::{Exit, Order, Transfer};

use crate::{
    ownership,
    root::Room,
    users::{self, User},
    volume::Volumes,
};

pub(crate) async fn prepare(order: &Order, room: &Room, volumes: &Volumes) -> Result<User, Exit> {
    if let Some(image) = &order.image {
        let changed = room.change_to(image, volumes).await;
        changed.map_err(|error| Exit::Broken(airside_model::chain(&error)))?;
    }
    let own = (
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    let user = users::find(order.user.as_deref(), own)
        .map_err(|error| Exit::Broken(airside_model::chain(&error)))?;
    let mut inputs: Vec<&Transfer> = order.fetch.iter().collect();
    inputs.sort_by_key(|input| Path::new(&input.path).components().count());
    for transfer in inputs {
        hide(&transfer.path, order)?;
        volumes.fetch(transfer).await.map_err(|reason| {
            Exit::Broken(format!(
                "cannot fetch the input at {}: {reason}",
                transfer.path
            ))
        })?;
    }
    for output in &order.upload {
        if order.fetch.iter().all(|input| input.path != output.path) {
            hide(&output.path, order)?;
        }
    }
    let folders = Folders::of(order);
    let owner = match (user.uid, user.gid) {
        _ if user.is_root() => Owner::Root,
        ids if ids == own => Owner::Ourselves,
        (uid, gid) => Owner::Other(uid, gid),
    };
    // A large input takes a while to walk; the connection must not fall silent over it.
    let made = tokio::task::spawn_blocking(move || folders.make(owner)).await;
    match made {
        Ok(Ok(())) => Ok(user),
        Ok(Err(broken)) => Err(Exit::Broken(broken)),
        Err(error) => Err(Exit::Broken(format!(
            "cannot make the folders: {}",
            airside_model::chain(&error)
        ))),
    }
}

/// Hides the contents of an input at the place of another input or an output, as if that were
/// mounted.
fn hide(path: &str, order: &Order) -> Result<(), Exit> {
    let within = |outer: &Transfer| outer.path != path && Path::new(path).starts_with(&outer.path);
    if !order.fetch.iter().any(within) {
        return Ok(());
    }
    airside_archive::remove(Path::new(path)).map_err(|error| {
        Exit::Broken(format!(
            "cannot make room for what belongs at {path}: {}",
            airside_model::chain(&error)
        ))
    })
}

/// The owner of the process's folders.
#[derive(Clone, Copy)]
enum Owner {
    Root,
    /// All that the shim makes is theirs already.
    Ourselves,
    Other(u32, u32),
}

struct Folders {
    dir: PathBuf,
    make: Vec<PathBuf>,
    /// Inputs and outputs: a user that is not root gets them with all they contain, root the
    /// folders alone.
    given: Vec<PathBuf>,
}

impl Folders {
    fn of(order: &Order) -> Self {
        let outputs = order.upload.iter().map(|transfer| &transfer.path);
        let make: Vec<PathBuf> = order
            .make_dirs
            .iter()
            .chain(outputs)
            .map(PathBuf::from)
            .collect();
        let inputs = order
            .fetch
            .iter()
            .map(|transfer| PathBuf::from(&transfer.path));
        let mounted = order.mounted.iter().map(PathBuf::from);
        let given = inputs.chain(mounted).chain(make.iter().cloned()).collect();
        Self {
            dir: PathBuf::from(&order.dir),
            make,
            given,
        }
    }

    fn make(&self, owner: Owner) -> Result<(), String> {
        for folder in &self.make {
            make(folder)?;
        }
        let dir_is_new = !self.dir.exists();
        make(&self.dir)?;
        let (uid, gid) = match owner {
            Owner::Root => return self.given.iter().try_for_each(|folder| take(folder)),
            Owner::Ourselves => return Ok(()),
            Owner::Other(uid, gid) => (uid, gid),
        };
        if dir_is_new {
            give(&self.dir, uid, gid)?;
        }
        self.given
            .iter()
            .try_for_each(|folder| give(folder, uid, gid))
    }
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| {
        format!(
            "cannot make the folder {}: {error}",
            folder.display(),
            error = airside_model::chain(&error)
        )
    })
}

/// Makes a folder root's, whatever owner an earlier step gave it; its contents keep their owners.
fn take(folder: &Path) -> Result<(), String> {
    ownership::take(folder).map_err(|error| {
        format!(
            "cannot give the folder {} to root: {error}",
            folder.display(),
            error = airside_model::chain(&error)
        )
    })
}

fn give(folder: &Path, uid: u32, gid: u32) -> Result<(), String> {
    ownership::give(folder, uid, gid).map_err(|error: io::Error| {
        format!(
            "cannot give the folder {} to user id {uid}: {error}",
            folder.display(),
            error = airside_model::chain(&error)
        )
    })
}
