//! Secrets that are chosen to be slow to look for hold no other build up.

use std::time::{Duration, Instant};

use airside_scenarios::{
    Build, Server,
    plans::{pipeline, task},
    wait_until,
};
use serde_json::{Value, json};

/// A task that writes this many lines into its output `o`, all beginning alike, and a variable of
/// them.
fn many_lines(count: usize) -> [Value; 2] {
    let mut write = task("write", &format!("seq -f 'a%07g' {count} > o/lines"));
    write["config"]["outputs"] = json!([{"name": "o"}]);
    [write, json!({"load_var": "lines", "file": "o/lines"})]
}

#[test]
fn hostile_secrets_do_not_keep_the_api_from_answering() {
    let server = Server::start();
    let fly = server.fly();
    let mut plan = many_lines(9_900).to_vec();
    let print = "head -c 400000 /dev/zero | tr '\\0' a; echo; echo a0000042";
    plan.push(task("print", print));
    fly.pipeline("p", &pipeline(json!([]), json!(plan)));
    let builds: Vec<_> = (0..3).map(|_| fly.trigger("p/job")).collect();
    let authorization = fly.authorization();
    let headers = [("Authorization", authorization.as_str())];
    let (mut longest, mut answers) = (Duration::ZERO, 0);
    for build in &builds {
        let path = format!("/api/v1/builds/{}", build.id);
        wait_until("the build ends", || {
            let begun = Instant::now();
            let (status, body) = server.http("GET", &path, &headers, "");
            longest = longest.max(begun.elapsed());
            answers += 1;
            assert_eq!(status, 200, "{body}");
            let build: Build = serde_json::from_str(&body).unwrap();
            build.has_ended()
        });
    }
    assert!(longest < Duration::from_secs(8), "{longest:?}");
    assert!(answers > 3, "{answers}");
    for build in builds {
        let output = fly.watch(build.id).succeeded();
        assert!(output.stdout.contains("((redacted))"));
        assert!(!output.stdout.contains("a0000042"));
    }
}

#[test]
fn hostile_numbers_of_secret_lines_are_refused() {
    let server = Server::start();
    let fly = server.fly();
    let plan = many_lines(100_000);
    fly.pipeline("p", &pipeline(json!([]), json!(plan)));
    let output = fly.trigger_and_watch("p/job").ended_with(2);
    let words = "a secret may have 10000 lines and 512 KiB of text";
    assert!(output.stdout.contains(words), "{output:?}");
    assert!(output.stdout.contains("set `reveal: true`"), "{output:?}");
}
