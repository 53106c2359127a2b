//! The user of the process, looked up in the image's own /etc/passwd and /etc/group.

use std::{fs, io, path::Path};

use rustix::thread::CapabilitySet;

const ROOT_ID: u32 = 0;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {0}: {1}")]
    Unreadable(&'static str, String),
    #[error("the image has no user {0:?} in /etc/passwd")]
    NoUser(String),
    #[error("the image has no group {0:?} in /etc/group")]
    NoGroup(String),
    #[error(
        "user {name:?} has user id {uid} and group id {gid} in this image, and the container, which runs as user id \
         {own}, may not switch users (a worker with pod_security: restricted): name the user as \"{uid}:{gid}\", \
         so that the container starts as that user"
    )]
    Stuck {
        name: String,
        uid: u32,
        gid: u32,
        own: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    pub(crate) home: Option<String>,
    /// The user as the order has it, without the group; absent where the order names none.
    pub(crate) name: Option<String>,
}

impl User {
    pub(crate) fn is_root(&self) -> bool {
        self.uid == ROOT_ID
    }
}

/// Finds the user that an order names as `user[:group]`, each a name or a number; `own` is the
/// shim's id, which the process keeps where the order names none.
pub(crate) fn find(wanted: Option<&str>, own: (u32, u32)) -> Result<User, Error> {
    let passwd = read("/etc/passwd")?;
    let group = read("/etc/group")?;
    let user = find_in(wanted, own, &passwd, &group)?;
    check_switch(&user, own, may_switch())?;
    Ok(user)
}

/// Returns true if this process may become another user, and give files to it.
fn may_switch() -> bool {
    let needed = CapabilitySet::SETUID | CapabilitySet::SETGID | CapabilitySet::CHOWN;
    let has = rustix::thread::capabilities(None);
    // Where that cannot be found out, trying tells.
    has.map_or(true, |has| has.effective.contains(needed))
}

/// Checks that the shim may switch users: a container without that right runs only the user it was
/// started as.
fn check_switch(user: &User, own: (u32, u32), may_switch: bool) -> Result<(), Error> {
    let (uid, gid) = (user.uid, user.gid);
    match &user.name {
        Some(name) if !may_switch && own != (uid, gid) => Err(Error::Stuck {
            name: name.clone(),
            uid,
            gid,
            own: own.0,
        }),
        _ => Ok(()),
    }
}

/// The home of the account with this number, if the image has such an account.
pub(crate) fn home_of(uid: u32) -> Option<String> {
    let passwd = read("/etc/passwd").ok()?;
    let account = accounts(&passwd).find(|account| account.uid == uid);
    account.map(|account| account.home)
}

/// Reads a file of accounts. Images without one are fine as long as no order names an account.
fn read(path: &'static str) -> Result<String, Error> {
    match fs::read(Path::new(path)) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::Unreadable(path, airside_model::chain(&error))),
    }
}

fn find_in(
    wanted: Option<&str>,
    own: (u32, u32),
    passwd: &str,
    group: &str,
) -> Result<User, Error> {
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        let home = accounts(passwd)
            .find(|account| account.uid == own.0)
            .map(|own| own.home);
        return Ok(User {
            uid: own.0,
            gid: own.1,
            groups: Vec::new(),
            home,
            name: None,
        });
    };
    let (name, group_name) = match wanted.split_once(':') {
        Some((name, group_name)) => (name, Some(group_name)),
        None => (wanted, None),
    };
    let number = name.parse::<u32>().ok();
    let account = accounts(passwd)
        .find(|account| account.name == name)
        .or_else(|| {
            number.and_then(|number| accounts(passwd).find(|account| account.uid == number))
        });
    let mut user = match (account, number) {
        (Some(account), _) => User {
            uid: account.uid,
            gid: account.gid,
            groups: memberships(group, &account.name),
            home: Some(account.home),
            name: Some(name.to_owned()),
        },
        (None, Some(uid)) => User {
            uid,
            gid: ROOT_ID,
            groups: Vec::new(),
            home: None,
            name: Some(name.to_owned()),
        },
        // Every system has this one, whether its image says so or not.
        (None, None) if name == "root" => User {
            uid: ROOT_ID,
            gid: ROOT_ID,
            groups: Vec::new(),
            home: None,
            name: Some(name.to_owned()),
        },
        (None, None) => return Err(Error::NoUser(name.to_owned())),
    };
    if let Some(group_name) = group_name {
        user.gid = group_id(group, group_name)?;
        user.groups.clear();
    }
    if !user.groups.contains(&user.gid) {
        user.groups.insert(0, user.gid);
    }
    Ok(user)
}

struct Account {
    name: String,
    uid: u32,
    gid: u32,
    home: String,
}

/// Lines of `name:password:uid:gid:comment:home:shell`; others are passed over.
fn accounts(passwd: &str) -> impl Iterator<Item = Account> + '_ {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        let home = fields.nth(1)?.to_owned();
        Some(Account {
            name,
            uid,
            gid,
            home,
        })
    })
}

/// Lines of `name:password:gid:member,member`.
fn groups(group: &str) -> impl Iterator<Item = (&str, u32, &str)> {
    group.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let gid = fields.nth(1)?.parse().ok()?;
        Some((name, gid, fields.next().unwrap_or("")))
    })
}

fn memberships(group: &str, user: &str) -> Vec<u32> {
    groups(group)
        .filter(|(_, _, members)| members.split(',').any(|member| member.trim() == user))
        .map(|(_, gid, _)| gid)
        .collect()
}

fn group_id(group: &str, wanted: &str) -> Result<u32, Error> {
    groups(group)
        .find(|(name, _, _)| *name == wanted)
        .map(|(_, gid, _)| gid)
        .or_else(|| wanted.parse().ok())
        .ok_or_else(|| Error::NoGroup(wanted.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1001:A,B:/home/ann:\n";
    const GROUP: &str = "root:x:0:\nann:x:1001:\nwheel:x:10:bob,ann\naudio:x:11:bob\n";

    fn ids(wanted: &str) -> (u32, u32, Vec<u32>, Option<String>) {
        let user = find_in(Some(wanted), (0, 0), PASSWD, GROUP).unwrap();
        (user.uid, user.gid, user.groups, user.home)
    }

    #[test]
    fn users_are_found_by_name_and_number() {
        let home = Some("/home/ann".to_owned());
        assert_eq!(ids("ann"), (1000, 1001, vec![1001, 10], home.clone()));
        assert_eq!(ids("1000"), (1000, 1001, vec![1001, 10], home.clone()));
        assert_eq!(ids("ann:audio"), (1000, 11, vec![11], home.clone()));
        assert_eq!(ids("ann:7"), (1000, 7, vec![7], home));
        assert_eq!(ids("77"), (77, 0, vec![0], None));
        assert_eq!(ids("root"), (0, 0, vec![0], Some("/root".to_owned())));
    }

    #[test]
    fn the_name_leaves_the_group_out() {
        let user = find_in(Some("ann:audio"), (0, 0), PASSWD, GROUP).unwrap();
        assert_eq!(user.name.as_deref(), Some("ann"));
    }

    #[test]
    fn nobody_named_means_the_shims_own_id() {
        let user = find_in(None, (0, 0), "", "").unwrap();
        assert_eq!(
            (user.uid, user.gid, user.home, user.name),
            (0, 0, None, None)
        );
        assert_eq!(
            find_in(None, (1000, 5), PASSWD, GROUP)
                .unwrap()
                .home
                .unwrap(),
            "/home/ann"
        );
        assert!(find_in(Some("root"), (0, 0), "", "").unwrap().is_root());
    }

    #[test]
    fn who_may_not_switch_runs_whom_it_was_started_as() {
        let find = |wanted, own| find_in(wanted, own, PASSWD, GROUP).unwrap();
        let check = |wanted, own| check_switch(&find(wanted, own), own, false);
        assert_eq!(check(None, (0, 0)), Ok(()));
        assert_eq!(check(Some("root"), (0, 0)), Ok(()));
        assert_eq!(check(Some("ann"), (1000, 1001)), Ok(()));
        assert_eq!(check(Some("1000:1001"), (1000, 1001)), Ok(()));
        let stuck = check(Some("ann"), (0, 0)).unwrap_err().to_string();
        assert!(stuck.contains("name the user as \"1000:1001\""), "{stuck}");
        assert_eq!(
            check_switch(&find(Some("ann"), (0, 0)), (0, 0), true),
            Ok(())
        );
    }

    #[test]
    fn unknown_names_are_refused() {
        let find = |wanted| find_in(Some(wanted), (0, 0), PASSWD, GROUP);
        assert_eq!(find("eve"), Err(Error::NoUser("eve".into())));
        assert_eq!(find("ann:eve"), Err(Error::NoGroup("eve".into())));
    }
}
