use std::os::unix::fs::MetadataExt as _;

use super::*;
use crate::presence::{dead_in, enter_in};

fn found(folder: &Path) -> Vec<Why> {
    dead_in(folder).map(|dead| why(&dead)).collect()
}

fn here(root: &Path, temporary: Option<&Path>) -> Here {
    Here {
        root: root.to_owned(),
        device: fs::metadata(root).unwrap().dev(),
        temporary: temporary.map(Path::to_owned),
    }
}

#[test]
fn a_server_without_steps_is_over_and_one_with_steps_may_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (root, list) = (folder.path().join("root"), folder.path().join("list"));
    fs::create_dir_all(root.join("containers/s-1")).unwrap();
    let name = InstallationId::new("none-of-this-machine");
    assert_eq!(found(&list), []);
    let file = enter_in(&list, &name, &here(&root, None)).unwrap();
    assert_eq!(found(&list), [], "its server lives");
    assert!(
        enter_in(&list, &name, &here(&root, None)).is_err(),
        "once at a time"
    );
    drop(file);
    assert_eq!(found(&list), [Why::Stopped], "its containers may still run");
    fs::remove_dir(root.join("containers/s-1")).unwrap();
    assert_eq!(found(&list), [Why::Idle]);
    airside_archive::remove(&root).unwrap();
    assert_eq!(found(&list), [Why::Gone]);
    // Half-written: it does not say where its containers are.
    fs::write(list.join("half"), "").unwrap();
    assert_eq!(found(&list), [Why::Gone]);
}

#[test]
fn a_root_that_is_not_mounted_is_not_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut here = here(folder.path(), None);
    here.root = folder.path().join("data/runtime");
    assert!(here.is_gone());
    here.device += 1;
    assert!(!here.is_gone());
}

#[test]
fn nothing_comes_back_to_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (data, list) = (
        folder.path().join("airside-run-x"),
        folder.path().join("list"),
    );
    let root = data.join("runtime");
    fs::create_dir_all(root.join("containers/s-1")).unwrap();
    let name = InstallationId::new("none-of-this-machine");
    drop(enter_in(&list, &name, &here(&root, Some(&data))).unwrap());
    let dead = dead_in(&list).next().unwrap();
    let left = Leavings::of_dead(dead);
    assert_eq!(left.why, Why::Run);
    let wanted = [
        Thing::Container(Handle::new("s-1")),
        Thing::Folder(data.clone()),
    ];
    assert_eq!(left.things(), wanted);
    for (thing, removed) in left.remove() {
        assert!(removed.is_ok(), "{thing}: {removed:?}");
    }
    assert!(!data.exists());
}

#[test]
fn folders_of_dead_runs_are_found_and_those_of_living_ones_are_not() {
    let parent = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = parent.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (dead, own, other) = (
        make("airside-run-dead"),
        make("airside-run-own"),
        make("else"),
    );
    make("airside-run-beginning");
    for folder in [&dead, &own, &other] {
        fs::write(folder.join(DATA_LOCK), "").unwrap();
    }
    let found: Vec<_> = dead_runs(parent.path(), Some(&own))
        .map(|left| left.temporary)
        .collect();
    assert_eq!(found, [Some(dead)]);
}
