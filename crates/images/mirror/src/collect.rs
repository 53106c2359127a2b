//! Garbage collection: content that no node asked for in a long time goes, then the longest unused
//! until the rest fits, and notes about content that is gone.
//!
//! It is safe with several mirrors on one storage: content that goes under a reader is fetched
//! again, and two mirrors that collect at once remove equal content.

use std::{collections::HashSet, io, time::Duration};

use airside_oci::Digest;

use crate::{
    Mirror, clock,
    storage::{KeptContent, Noted, Storage},
};

/// A link may be there before its content is; one that goes too early is only asked about again.
const COMING: Duration = Duration::from_secs(3600);

/// Limits of what is kept.
#[derive(Clone, Copy, Debug)]
pub struct CollectRules {
    /// Unused for longer than this goes.
    pub unused: Duration,
    /// The longest unused go until everything else is no larger; no limit if none is given.
    pub bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub removed: usize,
    pub notes: usize,
    pub bytes: u64,
}

impl Mirror {
    pub async fn collect(&self, rules: &CollectRules) -> io::Result<Collected> {
        collect(&**self.storage(), rules).await
    }
}

async fn collect(storage: &dyn Storage, rules: &CollectRules) -> io::Result<Collected> {
    let kept = storage.list().await?;
    let mut collected = Collected::default();
    let mut there: HashSet<Digest> = kept.iter().map(|kept| kept.digest.clone()).collect();
    for gone in to_remove(kept, rules, |kept| clock::age(kept.used)) {
        storage.remove(&gone.digest).await?;
        there.remove(&gone.digest);
        collected.removed += 1;
        collected.bytes += gone.size;
    }
    for noted in storage.notes().await? {
        if is_stale(&noted, &there, rules) {
            storage.remove_note(&noted.name).await?;
            collected.notes += 1;
        }
    }
    Ok(collected)
}

/// A link is as good as its content, however old it is; the others are written anew with their use.
fn is_stale(noted: &Noted, there: &HashSet<Digest>, rules: &CollectRules) -> bool {
    match noted.name.linked() {
        Some(digest) => noted.age > COMING && !there.contains(&digest),
        None => noted.age > rules.unused,
    }
}

fn to_remove(
    mut kept: Vec<KeptContent>,
    rules: &CollectRules,
    age: impl Fn(&KeptContent) -> Duration,
) -> Vec<KeptContent> {
    kept.sort_by_key(|kept| kept.used);
    let mut bytes: u64 = kept.iter().map(|kept| kept.size).sum();
    kept.retain(|kept| {
        let is_full = rules.bytes.is_some_and(|limit| bytes > limit);
        let goes = is_full || age(kept) > rules.unused;
        if goes {
            bytes -= kept.size;
        }
        goes
    });
    kept
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::storage::NoteName;

    #[test]
    fn which_notes_go() {
        let repository = "r.example:5000/a/b".parse().unwrap();
        let (here, gone) = (Digest::of_sha256([1; 32]), Digest::of_sha256([2; 32]));
        let there = HashSet::from([here.clone()]);
        let rules = CollectRules {
            unused: Duration::from_secs(9000),
            bytes: None,
        };
        for (name, age, expected) in [
            (NoteName::link(&repository, &here), 1_000_000, false),
            (NoteName::link(&repository, &gone), 10, false),
            (NoteName::link(&repository, &gone), 4000, true),
            (NoteName::tag(&repository, "1"), 4000, false),
            (NoteName::tag(&repository, "1"), 10_000, true),
            (NoteName::public(&repository), 10_000, true),
        ] {
            let age = Duration::from_secs(age);
            let noted = Noted { name, age };
            assert_eq!(is_stale(&noted, &there, &rules), expected, "{noted:?}");
        }
    }

    #[test]
    fn what_goes() {
        let kept = |number: u8, age: u64, size| KeptContent {
            digest: Digest::of_sha256([number; 32]),
            size,
            used: SystemTime::UNIX_EPOCH + Duration::from_secs(1000 - age),
        };
        let all = vec![kept(1, 10, 5), kept(2, 900, 5), kept(3, 100, 5)];
        let age = |kept: &KeptContent| {
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
            now.duration_since(kept.used).unwrap()
        };
        for (unused, bytes, expected) in [
            (1000, None, vec![]),
            (500, None, vec![2]),
            (1000, Some(15), vec![]),
            (1000, Some(9), vec![2, 3]),
            (50, Some(100), vec![2, 3]),
            (1000, Some(0), vec![2, 3, 1]),
        ] {
            let rules = CollectRules {
                unused: Duration::from_secs(unused),
                bytes,
            };
            let gone = to_remove(all.clone(), &rules, age);
            let gone: Vec<Digest> = gone.into_iter().map(|kept| kept.digest).collect();
            let expected: Vec<Digest> = expected
                .into_iter()
                .map(|it| Digest::of_sha256([it; 32]))
                .collect();
            assert_eq!(gone, expected, "{unused} {bytes:?}");
        }
    }
}
