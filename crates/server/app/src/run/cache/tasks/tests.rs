//! Task caches of several runs.

use super::*;

fn cache(job: &str) -> NamedTaskCache {
    NamedTaskCache {
        job: job.to_owned(),
        step: "t".to_owned(),
        path: "c".to_owned(),
        volume: VolumeId::new("v"),
        expires_at: None,
    }
}

fn keep(caches: &TaskCaches, pipeline: &str, job: &str, text: &str) {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("file"), text).unwrap();
    let moved = tree.keep();
    caches.keep(pipeline, &cache(job), &moved).unwrap();
    airside_archive::remove(&moved).unwrap();
}

fn texts(taken: &[Taken]) -> Vec<String> {
    let read = |taken: &Taken| fs::read_to_string(taken.tree.join("file")).unwrap();
    taken.iter().map(read).collect()
}

#[test]
fn the_newest_counts_and_pipelines_do_not_share() {
    let root = tempfile::tempdir().unwrap();
    let mut caches = TaskCaches::open(root.path()).unwrap();
    keep(&caches, "p", "j", "old");
    keep(&caches, "p", "j", "new");
    keep(&caches, "other", "j", "theirs");
    let taken = caches.take("p").unwrap();
    assert_eq!(texts(&taken), ["new"]);
    assert_eq!(taken[0].facts.named(VolumeId::new("v")), cache("j"));
    assert_eq!(texts(&caches.take("other").unwrap()), ["theirs"]);
    assert!(caches.take("third").unwrap().is_empty());
    assert_eq!(caches.stored().unwrap().len(), 2, "the old one is gone");
}

#[test]
fn what_another_run_uses_stays_until_it_ends() {
    let root = tempfile::tempdir().unwrap();
    let mut one = TaskCaches::open(root.path()).unwrap();
    let other = TaskCaches::open(root.path()).unwrap();
    keep(&one, "p", "j", "old");
    let taken = one.take("p").unwrap();
    keep(&other, "p", "j", "new");
    assert_eq!(texts(&taken), ["old"]);
    let stored = other.stored().unwrap();
    assert_eq!(stored.len(), 2);
    let old = stored.iter().find(|one| one.used == SystemTime::UNIX_EPOCH);
    let old = old.unwrap().folder.clone();
    assert!(!other.remove(&old).unwrap());
    drop(one);
    assert!(other.remove(&old).unwrap());
    let mut next = TaskCaches::open(root.path()).unwrap();
    assert_eq!(texts(&next.take("p").unwrap()), ["new"]);
}

#[test]
fn what_was_half_made_is_not_found() {
    let root = tempfile::tempdir().unwrap();
    let mut caches = TaskCaches::open(root.path()).unwrap();
    let half = root.path().join("live/p/key/1/tree");
    fs::create_dir_all(&half).unwrap();
    assert!(caches.take("p").unwrap().is_empty());
    let stored = caches.stored().unwrap();
    assert!(caches.remove(&stored[0].folder).unwrap());
}
