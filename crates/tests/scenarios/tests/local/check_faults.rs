//! Faults of a check of a type with an image: it hangs, prints too much, answers nonsense, finds
//! too many versions.

use std::path::Path;

use airside_scenarios::{Fly, Server, type_layout, wait_until};

/// Script whose behaviour the source chooses.
const CHECK: &str = r#"#!/bin/sh
request=$(cat)
case $request in
  *garbage*) echo 'this is [no JSON' ;;
  *strange*) echo '[{"v": {"a": 1}}]' ;;
  *empty*) echo '[{}]' ;;
  *wide*) head -c 100000000 /dev/zero | tr '\0' x ;;
  *loud*) head -c 10000000 /dev/zero | tr '\0' x | fold -w 1000 >&2; echo '[{"v": "1"}]' ;;
  *many*) printf '['; seq 1 49999 | sed 's/.*/{"v": "&"},/'; echo '{"v": "50000"}]' ;;
  *hang*) sleep 3600 ;;
  *turned*'"v":"b"'*) echo '[{"v": "c"}, {"v": "b"}, {"v": "a"}, {"v": "d"}]' ;;
  *turned*) echo '[{"v": "a"}, {"v": "b"}, {"v": "c"}]' ;;
esac
"#;

fn pipeline(layout: &Path) -> String {
    let modes = [
        "garbage", "strange", "empty", "wide", "loud", "many", "hang", "turned",
    ];
    let resources: String = modes
        .iter()
        .map(|mode| {
            format!(
                "- {{name: {mode}, type: odd, source: {{mode: {mode}}}, check_every: never, \
                 check_timeout: {}}}\n",
                if *mode == "hang" { "2s" } else { "5m" }
            )
        })
        .collect();
    let gets = modes.map(|mode| format!("{{get: {mode}}}")).join(", ");
    format!(
        "resource_types:\n- {{name: odd, type: oci-layout, source: {{path: {}}}}}\n\
         resources:\n{resources}\
         jobs: [{{name: j, plan: [{gets}]}}]\n",
        layout.display()
    )
}

fn check(fly: &Fly, name: &str, more: &[&str], code: i32) -> String {
    let resource = format!("p/{name}");
    let args = [&["check-resource", "-r", &resource], more].concat();
    fly.run(&args).ended_with(code).stdout
}

fn newest(fly: &Fly, name: &str, count: usize) -> Vec<String> {
    let path = format!("/api/v1/teams/main/pipelines/p/resources/{name}/versions?limit={count}");
    let found = fly.run(&["curl", &path]).succeeded();
    let versions: Vec<serde_json::Value> = serde_json::from_str(&found.stdout).unwrap();
    let text = |version: &serde_json::Value| version["version"]["v"].as_str().unwrap().to_owned();
    versions.iter().map(text).collect()
}

#[test]
fn whatever_a_check_does_only_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", &pipeline(&type_layout(folder.path(), CHECK)));

    for (name, code, words) in [
        ("garbage", 2, "this is [no JSON"),
        ("strange", 2, "not what it should be"),
        ("empty", 2, "without any key"),
        ("wide", 2, "the resource's answer is larger than 32.0 MiB"),
        ("hang", 1, "timeout exceeded"),
    ] {
        let text = check(&fly, name, &[], code);
        assert!(text.contains(words), "{name}: {text}");
        assert_eq!(newest(&fly, name, 1), [""; 0], "{name}");
    }
    check(&fly, "loud", &["--async"], 0);
    wait_until("the loud check", || newest(&fly, "loud", 9) == ["1"]);

    check(&fly, "many", &[], 0);
    assert_eq!(newest(&fly, "many", 2), ["50000", "49999"]);

    check(&fly, "turned", &[], 0);
    assert_eq!(newest(&fly, "turned", 9), ["c", "b", "a"]);
    check(&fly, "turned", &["--from", "v:b"], 0);
    assert_eq!(newest(&fly, "turned", 9), ["d", "a", "b", "c"]);
}
