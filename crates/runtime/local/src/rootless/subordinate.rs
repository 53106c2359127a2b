//! The ids that the machine set aside for a user's containers, in `/etc/subuid` and `/etc/subgid`.

use std::fs;

use super::Obstacle;

/// Number of ids that images use: from 1 up to that of the user `nobody` and beyond.
pub(super) const NEEDED: u32 = 65_536;

const USERS: &str = "/etc/subuid";
const GROUPS: &str = "/etc/subgid";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u32,
}

/// Returns the ranges of users and of groups.
pub(super) fn ranges() -> Result<(Range, Range), Obstacle> {
    let uid = rustix::process::getuid().as_raw();
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = name(&passwd, uid).map_or_else(|| uid.to_string(), str::to_owned);
    let find = |file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        range(&text, &user, uid).ok_or_else(|| Obstacle::NoIds {
            file,
            user: user.clone(),
        })
    };
    Ok((find(USERS)?, find(GROUPS)?))
}

fn name(passwd: &str, uid: u32) -> Option<&str> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

/// The first that is long enough; the file may call its user by name or by number.
fn range(text: &str, user: &str, uid: u32) -> Option<Range> {
    text.lines().find_map(|line| {
        let mut fields = line.trim().split(':');
        let owner = fields.next()?;
        let first = fields.next()?.parse().ok()?;
        let count: u32 = fields.next()?.parse().ok()?;
        let ours = owner == user || owner.parse() == Ok(uid);
        (ours && count >= NEEDED).then_some(Range { first })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_belongs_to_a_name_or_a_number() {
        let text = "root:1:65536\nada:100:10\nada:200000:65536\n1001:300000:70000\n# no\nada\n";
        assert_eq!(range(text, "ada", 1000), Some(Range { first: 200_000 }));
        assert_eq!(range(text, "bob", 1001), Some(Range { first: 300_000 }));
        assert_eq!(range(text, "eve", 1002), None);
    }

    #[test]
    fn names_come_from_the_list_of_users() {
        let passwd = "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nbroken\n";
        assert_eq!(name(passwd, 1000), Some("ada"));
        assert_eq!(name(passwd, 5), None);
    }
}
