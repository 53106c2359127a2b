//! The known name that is nearest to a misspelt one.

/// Longer words are not compared: that takes the time of one length times the other.
const MAX_WORD_CHARS: usize = 64;

/// The candidate nearest to `word`, if it is near enough to be a slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > MAX_WORD_CHARS {
        return None;
    }
    // Another word altogether is not a slip, so a single letter is never one.
    let limit = ((length + 1) / 3).max(1).min(length.saturating_sub(1));
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count() <= MAX_WORD_CHARS)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The candidate that is certainly meant: near, and nearer than every other one.
pub(crate) fn certain<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    const SHORTEST: usize = 3;
    const MOST_SLIPS: usize = 2;
    let meant = nearest(word, candidates.clone())?;
    let slips = distance(word, meant);
    let mut others = candidates.into_iter().filter(|other| *other != meant);
    let is_alone =
        others.all(|other| other.chars().count() > MAX_WORD_CHARS || distance(word, other) > slips);
    let is_slip = word.chars().count() >= SHORTEST && slips <= MOST_SLIPS;
    (is_slip && is_alone).then_some(meant)
}

/// ` (did you mean 'x'?)`, or nothing.
pub(crate) fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates)
        .map(|candidate| format!(" (did you mean '{candidate}'?)"))
        .unwrap_or_default()
}

/// Returns the number of characters to insert, drop, change or swap with the next one to get from
/// one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut before = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1; to.len() + 1];
        for j in 0..to.len() {
            let change = last[j] + usize::from(from[i] != to[j]);
            row[j + 1] = change.min(last[j + 1] + 1).min(row[j] + 1);
            let is_swap = i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j];
            if is_swap {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slips_are_suggested() {
        let names = ["privileged", "params", "config", "tags"];
        assert_eq!(nearest("priviledged", names), Some("privileged"));
        assert_eq!(nearest("param", names), Some("params"));
        assert_eq!(nearest("confg", names), Some("config"));
        assert_eq!(nearest("banana", names), None);
        assert_eq!(nearest("tsak", ["task", "tags"]), Some("task"));
        assert_eq!(nearest("paln", ["plan", "public"]), Some("plan"));
        assert_eq!(certain("tsak", ["task", "tags"]), Some("task"));
        assert_eq!(certain("tass", ["task", "tags"]), None, "both are near");
        assert_eq!(certain("ge", ["get", "put"]), None, "too short to tell");
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
