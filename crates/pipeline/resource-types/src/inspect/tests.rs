use serde_json::json;

use super::*;
use crate::NATIVE;

const ALL: [SettingsPart; 3] = [
    SettingsPart::Source,
    SettingsPart::GetParams,
    SettingsPart::PutParams,
];

fn mistakes(type_: &str, part: SettingsPart, settings: &Value) -> Vec<String> {
    let settings = settings.as_object().unwrap();
    let found = inspect_settings(type_, part, settings).into_iter();
    found
        .map(|found| format!("{}: {}", found.key.unwrap_or_default(), found.words))
        .collect()
}

#[test]
fn every_native_type_knows_its_keys() {
    for type_ in NATIVE {
        let forms = Type::find(type_).unwrap().forms();
        assert!(!(forms.source.keys)().is_empty(), "{type_}");
    }
    assert!((git::FORMS.source.keys)().contains(&"uri"));
    assert!((semver::FORMS.put.keys)().contains(&"bump"));
    for part in ALL {
        assert_eq!(mistakes("mine", part, &json!({"a": 1})), [""; 0]);
    }
}

#[test]
fn mistakes_in_sources() {
    let refused = "and will be refused";
    let ignored = "and has no effect";
    let cases: &[(&str, Value, &[&str])] = &[
        ("git", json!({"uri": "https://x/y", "branch": 1.5}), &[]),
        (
            "git",
            json!({"uri": "https://((host))/y", "private_key": "((key))"}),
            &[],
        ),
        (
            "git",
            json!({"uri": "((uri))", "branch": "((b))", "fetch_tags": "((f))"}),
            &[],
        ),
        (
            "git",
            json!({"url": "https://x/y"}),
            &[
                &format!("url: source.url is not a key of type `git` {ignored}"),
                "uri: source.uri is missing: give the address of the repository",
            ],
        ),
        (
            "git",
            json!({"private_key": "((key))", "depth": 1}),
            &[
                &format!("depth: source.depth is not a key of type `git` {ignored}"),
                "uri: source.uri is missing: give the address of the repository",
            ],
        ),
        (
            "git",
            json!({"uri": "https://x/y", "tag_filter": "((t))", "tag_regex": "v.*", "version_depth": 0}),
            &["version_depth: source.version_depth must be at least 1"],
        ),
        (
            "git",
            json!({"uri": "ssh://x/y", "version_depth": 0}),
            &["version_depth: source.version_depth must be at least 1"],
        ),
        (
            "git",
            json!({"uri": "https://x/y", "submodule_credentials": [{"host": "((h))"}]}),
            &[],
        ),
        (
            "time",
            json!({"interval": "1h", "location": "Europe/Berlin"}),
            &[],
        ),
        (
            "time",
            json!({"interval": "((every))", "start": "((start))", "stop": "((stop))"}),
            &[],
        ),
        (
            "time",
            json!({"interval": "soon"}),
            &["interval: \"soon\" is not a duration"],
        ),
        (
            "time",
            json!({"interval": "soon", "start": "((s))", "stop": "3 AM"}),
            &[],
        ),
        (
            "time",
            json!({"interval": "1h", "days": ["Montag"]}),
            &["days: \"Montag\" is not a day of the week: write it like \"Monday\""],
        ),
        (
            "time",
            json!({"start": "3 AM"}),
            &["start: `stop` is missing beside `start`"],
        ),
        ("http", json!({"url": "https://x/y"}), &[]),
        (
            "http",
            json!({"url": "((url))", "headers": {"((h))": "x"}}),
            &[],
        ),
        (
            "http",
            json!({"uri": "https://x"}),
            &[
                &format!("uri: source.uri is not a key of type `http` {refused}"),
                "url: source.url is missing",
            ],
        ),
        (
            "registry-image",
            json!({"repository": "busybox", "tag": 1.5}),
            &[],
        ),
        (
            "registry-image",
            json!({"repository": "((r))", "insecure": "((i))", "ca_certs": ["((c))"]}),
            &[],
        ),
        (
            "registry-image",
            json!({"tag": "((t))"}),
            &["repository: source.repository is missing: give the image's name, without a tag"],
        ),
        (
            "registry-image",
            json!({"repository": "a", "registry_mirror": {"host": "((h))"}}),
            &[],
        ),
        (
            "registry-image",
            json!({"repository": "a:b", "tga": "x"}),
            &[
                &format!("tga: source.tga is not a key of type `registry-image` {refused}"),
                "repository: source.repository is \"a:b\": a tag or digest does not belong there",
            ],
        ),
        ("s3", json!({"bucket": "b", "regexp": "a-(.*)"}), &[]),
        (
            "s3",
            json!({"bucket": "((b))", "versioned_file": "((f))", "skip_ssl_verification": "((s))"}),
            &[],
        ),
        (
            "s3",
            json!({"bucket": "b", "regexp": "((prefix))-(.*", "access_key_id": "((a))"}),
            &[],
        ),
        (
            "s3",
            json!({"regexp": "a-(.*)"}),
            &["bucket: source.bucket is missing"],
        ),
        (
            "s3",
            json!({"bucket": "b"}),
            &["regexp: source.regexp or source.versioned_file is needed"],
        ),
        ("semver", json!({"driver": "((d))"}), &[]),
        (
            "semver",
            json!({"driver": "git", "uri": "((u))", "branch": "b", "file": "v"}),
            &[],
        ),
        (
            "semver",
            json!({"driver": "git", "uri": "((u))", "branch": "b"}),
            &["file: source.file is missing"],
        ),
        (
            "semver",
            json!({"bucket": "b", "secret_access_key": "((s))"}),
            &["key: source.key is missing"],
        ),
        (
            "kubernetes",
            json!({"kind": "Pod/v1", "name": "((n))", "kubeconfig": "((k))"}),
            &[],
        ),
        (
            "kubernetes",
            json!({"kind": "pod", "names": "a"}),
            &[
                &format!("names: source.names is not a key of type `kubernetes` {refused}"),
                "kind: source.kind is \"pod\": write the kind like",
            ],
        ),
        (
            "kubernetes",
            json!({"kind": "Pod/v1", "until": [{"path": "a..b", "exists": true}]}),
            &["until: source.until is not valid: \"a..b\" is not a path of a field"],
        ),
        (
            "kubernetes",
            json!({"kind": "Pod/v1", "server": "https://h"}),
            &["token: source.token is missing beside `server`"],
        ),
        (
            "mock",
            json!({"create_files": {"a": 1}, "no_initial_version": true}),
            &[],
        ),
        (
            "mock",
            json!({"crate_files": {}}),
            &[&format!(
                "crate_files: source.crate_files is not a key of type `mock` {refused}"
            )],
        ),
    ];
    let mut wrong = Vec::new();
    for (type_, source, expected) in cases {
        let found = mistakes(type_, SettingsPart::Source, source);
        let fits = found.len() == expected.len()
            && found
                .iter()
                .zip(*expected)
                .all(|(found, start)| found.starts_with(start));
        if !fits {
            wrong.push(format!("{type_} {source}: {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_in_params() {
    use SettingsPart::{GetParams, PutParams};
    let cases: &[(&str, SettingsPart, Value, &str)] = &[
        (
            "git",
            GetParams,
            json!({"depth": "1", "submodules": "none"}),
            "",
        ),
        (
            "git",
            GetParams,
            json!({"submodules": "some"}),
            "submodules: params.submodules is not valid",
        ),
        (
            "git",
            GetParams,
            json!({"submodules": "((s))", "depth": "((d))"}),
            "",
        ),
        (
            "git",
            GetParams,
            json!({"rebase": true}),
            "rebase: params.rebase is not a key",
        ),
        (
            "git",
            PutParams,
            json!({"repository": "r", "rebase": "true"}),
            "",
        ),
        (
            "git",
            PutParams,
            json!({"rebase": true, "merge": true}),
            "merge: params.merge and",
        ),
        (
            "kubernetes",
            PutParams,
            json!({"manifests": ["a/*.yml"], "set": {"spec.x": "((x))"}, "follow": {"logs": false}}),
            "",
        ),
        (
            "kubernetes",
            PutParams,
            json!({"manifest": "a.yml"}),
            "manifest: params.manifest is not a key",
        ),
        (
            "kubernetes",
            PutParams,
            json!({"on_abort": "remove"}),
            "on_abort: params.on_abort is \"remove\"",
        ),
        (
            "kubernetes",
            PutParams,
            json!({"prune": {"group": "web", "kinds": []}}),
            "prune: params.prune.kinds is no list",
        ),
        (
            "kubernetes",
            GetParams,
            json!({"outputs": {"../x": "status.url"}}),
            "outputs: params.outputs has \"../x\"",
        ),
        ("registry-image", GetParams, json!({"format": "oci"}), ""),
        (
            "registry-image",
            GetParams,
            json!({"format": "tar"}),
            "format: params.format is not valid",
        ),
        (
            "registry-image",
            PutParams,
            json!({"image": "a/b.tar", "bump_alias": true}),
            "bump_alias: params.bump_alias is not a key",
        ),
        (
            "semver",
            GetParams,
            json!({"bump": "minor", "pre": "rc"}),
            "",
        ),
        (
            "semver",
            GetParams,
            json!({"bump": "((part))", "pre": "((pre))"}),
            "",
        ),
        ("semver", PutParams, json!({"file": "v/number"}), ""),
        (
            "semver",
            PutParams,
            json!({"bmp": "minor"}),
            "bmp: params.bmp is not a key",
        ),
        ("s3", PutParams, json!({"file": "a/b-(.*)"}), ""),
        (
            "s3",
            GetParams,
            json!({"unpack": "yes"}),
            "unpack: params.unpack is not valid",
        ),
        (
            "time",
            GetParams,
            json!({"a": 1}),
            "a: params.a is not a key of type `time` and has no effect",
        ),
        ("http", PutParams, json!({"file": "((f))"}), ""),
        ("mock", PutParams, json!({"version": "1"}), ""),
    ];
    for (type_, part, params, start) in cases {
        let found = mistakes(type_, *part, params);
        match *start {
            "" => assert_eq!(found, [""; 0], "{type_} {params}"),
            start => assert!(
                found.len() == 1 && found[0].starts_with(start),
                "{type_} {params}: {found:?}"
            ),
        }
    }
}
