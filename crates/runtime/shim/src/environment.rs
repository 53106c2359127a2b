//! The environment of the process: what the image brings, then what the order says, then defaults
//! for what neither has.

use std::{collections::BTreeMap, ffi::OsString};

use crate::users::User;

const ROOT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const USER_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(crate) type Environment = BTreeMap<OsString, OsString>;

/// Drops `HOME` from the shim's environment where the container runtime put it there for the shim's
/// own user, whose home is `home`: a process of another user has another. An image that sets `HOME`
/// itself has set it for all.
pub(crate) fn for_user(
    own: impl Iterator<Item = (OsString, OsString)>,
    home: Option<String>,
) -> impl Iterator<Item = (OsString, OsString)> {
    let runtimes = home.map(OsString::from);
    own.filter(move |(name, value)| name != "HOME" || runtimes.as_ref() != Some(value))
}

/// `own` is the shim's environment, which is the image's: the shim's variables are wiped by now.
pub(crate) fn build(
    own: impl Iterator<Item = (OsString, OsString)>,
    ordered: &[(String, String)],
    user: &User,
) -> Environment {
    let mut environment: Environment = own.collect();
    if let Some(name) = &user.name {
        environment.insert("USER".into(), name.into());
    }
    environment.extend(
        ordered
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    let path = if user.is_root() { ROOT_PATH } else { USER_PATH };
    environment
        .entry("PATH".into())
        .or_insert_with(|| path.into());
    let home = user.home.as_deref().unwrap_or("/");
    environment
        .entry("HOME".into())
        .or_insert_with(|| home.into());
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(uid: u32, name: Option<&str>) -> User {
        let home = Some("/home/ann".to_owned());
        User {
            uid,
            gid: uid,
            groups: Vec::new(),
            home,
            name: name.map(str::to_owned),
        }
    }

    fn get(environment: &Environment, name: &str) -> Option<String> {
        environment
            .get(&OsString::from(name))
            .map(|value| value.to_string_lossy().into_owned())
    }

    #[test]
    fn the_order_wins_over_the_image_and_later_entries_over_earlier() {
        let own = [("A", "image"), ("B", "image")].map(|(name, value)| (name.into(), value.into()));
        let ordered =
            [("A", "1"), ("A", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = build(own.into_iter(), &ordered, &user(0, None));
        assert_eq!(get(&environment, "A").unwrap(), "2");
        assert_eq!(get(&environment, "B").unwrap(), "image");
        assert_eq!(get(&environment, "USER"), None);
    }

    #[test]
    fn another_user_does_not_get_the_home_of_the_shims() {
        let own = |home: &str| [("HOME".into(), home.into())].into_iter();
        let ann = user(1000, Some("ann"));
        let home = |set: &str| {
            let environment = build(for_user(own(set), Some("/root".to_owned())), &[], &ann);
            get(&environment, "HOME").unwrap()
        };
        assert_eq!(home("/root"), "/home/ann");
        assert_eq!(home("/set/by/the/image"), "/set/by/the/image");
        let ordered = [("HOME".to_owned(), "/ordered".to_owned())];
        let environment = build(
            for_user(own("/root"), Some("/root".to_owned())),
            &ordered,
            &ann,
        );
        assert_eq!(get(&environment, "HOME").unwrap(), "/ordered");
        let root = build(for_user(own("/root"), None), &[], &user(0, None));
        assert_eq!(get(&root, "HOME").unwrap(), "/root");
    }

    #[test]
    fn defaults_fill_what_is_missing() {
        let root = build(std::iter::empty(), &[], &user(0, None));
        assert_eq!(get(&root, "PATH").unwrap(), ROOT_PATH);
        assert_eq!(get(&root, "HOME").unwrap(), "/home/ann");
        let ann = build(std::iter::empty(), &[], &user(1000, Some("ann")));
        assert_eq!(get(&ann, "PATH").unwrap(), USER_PATH);
        assert_eq!(get(&ann, "USER").unwrap(), "ann");
        let own = [("PATH", "/x"), ("HOME", "/y")].map(|(name, value)| (name.into(), value.into()));
        let kept = build(own.into_iter(), &[], &user(0, None));
        assert_eq!(
            (get(&kept, "PATH").unwrap(), get(&kept, "HOME").unwrap()),
            ("/x".into(), "/y".into())
        );
    }
}
