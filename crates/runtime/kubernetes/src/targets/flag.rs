//! A target on the command line: `name=build,namespace=ci,tag=big,tag=gpu`.
//!
//! It becomes an entry as the file has it and is checked as one. Lists are given by repeating their
//! singular; maps by `node_selector.KEY=VALUE`. What nests deeper has no place on a command line.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

const LISTS: [(&str, &str); 3] = [
    ("tag", "tags"),
    ("pull_secret", "pull_secrets"),
    ("offer", "offers"),
];
const MAPS: [&str; 2] = ["node_selector", "default_requests"];
/// Keys whose values are numbers or booleans.
const PLAIN: [&str; 10] = [
    "host_users",
    "prefetch",
    "prefer_image_nodes",
    "qps",
    "burst",
    "max_pods",
    "lost_after_seconds",
    "grace_period_seconds",
    "fence_after_seconds",
    "stalled_after_seconds",
];

/// Returns the item of the file's list that a flag stands for.
pub(super) fn entry(flag: &str) -> Result<Value, String> {
    let mut scalars = Map::new();
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut maps: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for field in flag.split(',') {
        let (key, value) = field
            .split_once('=')
            .ok_or_else(|| format!("{field:?} of {flag:?} is not FIELD=VALUE"))?;
        let twice = || format!("{key} is given twice in {flag:?}");
        if let Some((_, list)) = LISTS.iter().find(|(one, _)| *one == key) {
            lists.entry(list).or_default().push(value);
        } else if let Some((map, inner)) = key.split_once('.')
            && MAPS.contains(&map)
        {
            let map = maps.entry(map).or_default();
            if map.insert(inner.to_owned(), value.into()).is_some() {
                return Err(twice());
            }
        } else if !is_name(key) || is_composed(key) {
            return Err(format!(
                "{key:?} of {flag:?} is not a field that fits into --target; use --targets FILE"
            ));
        } else if scalars.insert(key.to_owned(), scalar(key, value)).is_some() {
            return Err(twice());
        }
    }
    let lists = lists
        .iter()
        .map(|(key, items)| ((*key).to_owned(), json!(items)));
    let maps = maps
        .iter()
        .map(|(key, items)| ((*key).to_owned(), json!(items)));
    Ok(scalars.into_iter().chain(lists).chain(maps).collect())
}

fn is_name(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// Returns true if the file has a list or a map under this key.
fn is_composed(key: &str) -> bool {
    LISTS.iter().any(|(_, many)| *many == key) || MAPS.contains(&key)
}

fn scalar(key: &str, value: &str) -> Value {
    let plain: Option<Value> = serde_json::from_str(value).ok();
    let is_plain = |plain: &Value| plain.is_number() || plain.is_boolean();
    plain
        .filter(|plain| PLAIN.contains(&key) && is_plain(plain))
        .unwrap_or_else(|| value.into())
}

#[cfg(test)]
mod tests {
    use crate::targets;

    fn check(flag: &str) -> Result<targets::Target, String> {
        let read = targets::from_flags(&[flag.to_owned()]);
        read.map(|mut targets| targets.remove(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_flag_says_what_the_file_would() {
        let flag = check(
            "name=c,namespace=ci,hub_host=hub,tag=a: b,tag=big,max_pods=7,host_users=true,\
             node_selector.pool=gpu,default_requests.cpu=2,pull_secret=reg,qps=5",
        );
        let file = "targets:\n- name: c\n  namespace: ci\n  hub_host: hub\n  tags: ['a: b', big]\n  \
                    max_pods: 7\n  host_users: true\n  node_selector: {pool: gpu}\n  \
                    default_requests: {cpu: 2}\n  pull_secrets: [reg]\n  qps: 5\n";
        let file = targets::parse("t".as_ref(), file).unwrap().remove(0);
        assert_eq!(flag, Ok(file));
    }

    #[test]
    fn mistakes() {
        for (flag, expected) in [
            ("name", "is not FIELD=VALUE"),
            ("", "is not FIELD=VALUE"),
            (
                "name=a,name=b,namespace=ci,hub_host=h",
                "name is given twice",
            ),
            ("name=a,namespace=ci", "missing field"),
            ("name=a,namespace=ci,hub_host=h,nonsense=1", "unknown field"),
            (
                "name=a,namespace=ci,hub_host=h,tolerations.x=1",
                "use --targets FILE",
            ),
            (
                "name=a,namespace=ci,hub_host=h,tags=x",
                "use --targets FILE",
            ),
            ("name=a,namespace=ci,hub_host=h,max_pods=many", "--target: "),
            (
                "name=a,namespace=ci,hub_host=h,qps=0",
                "qps: must be at least 1",
            ),
        ] {
            let message = check(flag).expect_err(flag);
            assert!(message.contains(expected), "{flag}: {message}");
            assert!(message.starts_with("--target: "), "{message}");
        }
    }
}
