//! Webhooks of strangers: they learn nothing of what there is.

use airside_scenarios::Server;

const PIPELINE: &str = "
jobs:
- {name: job, plan: [{get: plain}, {get: looked-up}, {get: without}]}
resources:
- {name: plain, type: mock, source: {}, webhook_token: s3cret, check_every: never}
- {name: looked-up, type: mock, source: {}, webhook_token: ((hooks/release-token)), check_every: never}
- {name: without, type: mock, source: {}, check_every: never}
";

#[test]
fn every_failure_is_answered_alike_and_told_in_the_log() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    let post = |team: &str, pipeline: &str, resource: &str, query: &str| {
        let path = format!(
            "/api/v1/teams/{team}/pipelines/{pipeline}/resources/{resource}/check/webhook{query}"
        );
        server.http("POST", &path, &[], "{}")
    };
    let (status, said) = post("main", "p", "plain", "?webhook_token=s3cret");
    assert_eq!(status, 201, "{said}");
    let first = post("main", "p", "plain", "?webhook_token=wrong");
    assert_eq!(first.0, 401, "{}", first.1);
    for (team, pipeline, resource, query) in [
        ("main", "p", "plain", ""),
        ("main", "p", "plain", "?webhook_token="),
        ("main", "p", "looked-up", "?webhook_token=x"),
        ("main", "p", "without", "?webhook_token=x"),
        ("main", "p", "nothing", "?webhook_token=x"),
        ("main", "nothing", "plain", "?webhook_token=s3cret"),
        ("nobody", "p", "plain", "?webhook_token=s3cret"),
    ] {
        let answer = post(team, pipeline, resource, query);
        assert_eq!(answer, first, "{team} {pipeline} {resource} {query}");
    }
    let log = server.log();
    assert!(
        log.contains("hooks/release-token"),
        "the log has the reason:\n{log}"
    );
    // Guesses keep no other caller out.
    for _ in 0..50 {
        assert_eq!(post("main", "p", "plain", "?webhook_token=guess").0, 401);
    }
    let (status, said) = post("main", "p", "plain", "?webhook_token=s3cret");
    assert_eq!(status, 201, "{said}");
}
