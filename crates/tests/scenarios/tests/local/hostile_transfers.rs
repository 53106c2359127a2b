//! Uploads that stall: those of one team hold up no other.

use std::net::SocketAddr;

use airside_scenarios::{Flood, Server};

const UPLOADS: usize = 530;

#[test]
fn stalled_uploads_of_one_team_leave_others_working() {
    let server = Server::start();
    let authorization = server.fly().authorization();
    let headers = [("Authorization", authorization.as_str())];
    let members = r#"{"auth": {"owner": {"users": ["local:test"], "groups": []}}}"#;
    for team in ["stalls", "works"] {
        let path = format!("/api/v1/teams/{team}");
        let (status, said) = server.http("PUT", &path, &headers, members);
        assert_eq!(status, 201, "{said}");
    }
    let address: SocketAddr = server.url()["http://".len()..].parse().unwrap();
    let upload = format!(
        "POST /api/v1/teams/stalls/artifacts HTTP/1.1\r\nHost: a\r\nAuthorization: {authorization}\r\n\
         Content-Length: 1000000\r\n\r\n"
    );
    // The beginning of a gzip's header.
    let upload = [upload.as_bytes(), &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0]].concat();
    let mut flood = Flood::open(address, UPLOADS, &upload);
    assert_eq!(flood.held(), UPLOADS);

    let path = "/api/v1/teams/works/pipelines/p/config";
    let yaml = [headers[0], ("Content-Type", "application/x-yaml")];
    let (status, said) = server.http(
        "PUT",
        path,
        &yaml,
        "jobs: [{name: j, plan: [{task: t, config: {platform: linux, run: {path: ls}}}]}]\n",
    );
    assert!(status == 200 || status == 201, "{status} {said}");

    let (status, said) = server.http("POST", "/api/v1/teams/stalls/artifacts", &headers, "x");
    assert_eq!(status, 429, "{said}");
    assert!(said.contains("uploads and downloads under way"), "{said}");
    let (status, said) = server.http("POST", "/api/v1/teams/works/artifacts", &headers, "x");
    assert_eq!(status, 400, "another team's turn comes: {said}");

    // Those that were taken are cut with the server.
    drop(server);
    let refused = flood.answers();
    let refused = refused
        .iter()
        .filter(|answer| answer.starts_with("HTTP/1.1 429"));
    assert!(
        refused.count() >= UPLOADS - 64,
        "all but a few were refused"
    );
}
