//! Names of teams' repositories.

use airside_oci::{Digest, RepositoryName, is_name_part};

/// Begins the names of teams whose own name no repository may have.
const SPELLED: &str = "hex-";
/// Bytes of a team's name that leave room for its repositories' own.
const MAX_PLAIN_BYTES: usize = 128;
const MAX_SPELLED_BYTES: usize = 100;

/// Returns the name that all of a team's repositories begin with. No two teams have the same.
pub fn team_repository(team: &str) -> RepositoryName {
    let is_plain = is_name_part(team) && !team.starts_with(SPELLED);
    let name = if is_plain && team.len() <= MAX_PLAIN_BYTES {
        team.to_owned()
    } else if team.is_empty() {
        // One digit, which spells nothing else.
        format!("{SPELLED}0")
    } else if team.len() <= MAX_SPELLED_BYTES {
        format!("{SPELLED}{}", hex::encode(team))
    } else {
        let digest = Digest::of_bytes(team.as_bytes());
        format!("{SPELLED}sha256-{}", digest.hex())
    };
    RepositoryName::parse(&format!("team/{name}")).expect("each of these is a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_teams_share_a_name() {
        let long = "a".repeat(129);
        let digest = Digest::of_bytes(long.as_bytes());
        let spelled = format!("team/hex-sha256-{}", digest.hex());
        for (team, name) in [
            ("main", "team/main"),
            ("Main", "team/hex-4d61696e"),
            ("hex-4d61696e", "team/hex-6865782d3464363136393665"),
            ("a/b", "team/hex-612f62"),
            ("..", "team/hex-2e2e"),
            ("日本", "team/hex-e697a5e69cac"),
            ("", "team/hex-0"),
            (&long, &spelled),
        ] {
            assert_eq!(team_repository(team).as_str(), name);
        }
    }

    #[test]
    fn below_is_by_whole_words() {
        let ours = team_repository("main");
        for (other, held) in [
            ("team/main", true),
            ("team/main/a/b", true),
            ("team/main2/a", false),
            ("team", false),
            ("other/team/main", false),
        ] {
            let other = RepositoryName::parse(other).unwrap();
            assert_eq!(ours.holds(&other), held, "{other}");
        }
    }
}
