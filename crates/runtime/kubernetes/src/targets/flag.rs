//! A target on the command line: `name=build,namespace=ci,tag=big,tag=gpu`.
//!
//! It becomes an entry as the file has it and is checked as one. Lists are given by repeating their
//! singular; maps by `node_selector.KEY=VALUE`. What nests deeper has no place on a command line.

use std::collections::BTreeMap;

const LISTS: [(&str, &str); 3] = [
    ("tag", "tags"),
    ("pull_secret", "pull_secrets"),
    ("offer", "offers"),
];
const MAPS: [&str; 2] = ["node_selector", "default_requests"];
/// Keys whose values are numbers or booleans, and so are not quoted.
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

/// The item of the file's list that a flag stands for, as YAML.
pub(super) fn entry(flag: &str) -> Result<String, String> {
    let mut scalars: BTreeMap<&str, String> = BTreeMap::new();
    let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut maps: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for field in flag.split(',') {
        let (key, value) = field
            .split_once('=')
            .ok_or_else(|| format!("{field:?} of {flag:?} is not FIELD=VALUE"))?;
        if let Some((_, list)) = LISTS.iter().find(|(one, _)| *one == key) {
            lists.entry(list).or_default().push(quoted(value));
        } else if let Some((map, inner)) = key.split_once('.')
            && let Some(map) = MAPS.iter().find(|known| **known == map)
        {
            let item = format!("{}: {}", quoted(inner), quoted(value));
            maps.entry(map).or_default().push(item);
        } else if !is_name(key) || LISTS.iter().any(|(_, many)| *many == key) {
            return Err(format!(
                "{key:?} of {flag:?} is not a field that fits into --target; use --targets FILE"
            ));
        } else if scalars.insert(key, scalar(key, value)).is_some() {
            return Err(format!("{key} is given twice in {flag:?}"));
        }
    }
    let scalars = scalars.iter().map(|(key, value)| format!("{key}: {value}"));
    let lists = lists
        .iter()
        .map(|(key, items)| format!("{key}: [{}]", items.join(", ")));
    let maps = maps
        .iter()
        .map(|(key, items)| format!("{key}: {{{}}}", items.join(", ")));
    let fields: Vec<String> = scalars.chain(lists).chain(maps).collect();
    Ok(format!("- {{{}}}\n", fields.join(", ")))
}

fn is_name(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

fn scalar(key: &str, value: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric();
    if PLAIN.contains(&key) && !value.is_empty() && value.bytes().all(plain) {
        value.to_owned()
    } else {
        quoted(value)
    }
}

/// Returns the text as JSON, which YAML reads.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
