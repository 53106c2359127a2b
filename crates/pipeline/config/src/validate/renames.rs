//! `old_name` renames; names cannot change places.

use std::collections::HashMap;

use super::Checker;

/// `(name, old name)` of everything in a section.
pub(super) fn check<'a>(
    checker: &mut Checker<'_>,
    section: &str,
    word: &str,
    names: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let old: HashMap<&str, &str> = names
        .filter(|(name, old)| !old.is_empty() && name != old)
        .collect();
    let mut done: HashMap<&str, usize> = HashMap::new();
    let mut starts: Vec<&&str> = old.keys().collect();
    starts.sort_unstable();
    for (round, start) in starts.into_iter().enumerate() {
        let mut at = *start;
        // Each name is walked over once; meeting one of this round again is a circle.
        while !done.contains_key(at) {
            done.insert(at, round);
            let Some(next) = old.get(at) else { break };
            at = next;
            if done.get(at) == Some(&round) {
                let place = format!("{section}.{at}.old_name");
                let message =
                    format!("{word} name swapping is not supported at this time ('{at}')");
                checker.plain_problem(&place, message);
            }
        }
    }
}
