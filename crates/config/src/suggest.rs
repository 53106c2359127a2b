//! The name somebody probably meant.

/// Longer words are not compared: that takes the time of one length times the other.
const LONGEST: usize = 64;

/// The candidate nearest to `word`, if it is near enough to be a slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > LONGEST {
        return None;
    }
    // Another word altogether is no slip, so a single letter is never one.
    let limit = ((length + 1) / 3).max(1).min(length.saturating_sub(1));
    candidates
        .into_iter()
        .filter(|candidate| candidate.chars().count() <= LONGEST)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean 'x'?)`, or nothing.
pub(crate) fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates)
        .map(|candidate| format!(" (did you mean '{candidate}'?)"))
        .unwrap_or_default()
}

/// How many characters to insert, drop or change to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, from_char) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to_char) in to.iter().enumerate() {
            let change = diagonal + usize::from(from_char != *to_char);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
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
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
