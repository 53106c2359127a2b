//! A second team, without the real fly: its pipelines and builds through the API.

use airside_scenarios::{Fly, Server};
use serde_json::Value;

/// A team that the test's user belongs to as well.
pub(crate) struct Team<'a> {
    server: &'a Server,
    authorization: String,
    name: &'static str,
}

impl<'a> Team<'a> {
    pub(crate) fn create(server: &'a Server, fly: &Fly, name: &'static str) -> Self {
        let team = Self {
            server,
            authorization: fly.authorization(),
            name,
        };
        let members = r#"{"auth": {"owner": {"users": ["local:test"], "groups": []}}}"#;
        team.ask("PUT", "", members);
        team
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let kind = if path.ends_with("/config") {
            "application/x-yaml"
        } else {
            "application/json"
        };
        let path = format!("/api/v1/teams/{}{path}", self.name);
        let headers = [
            ("Authorization", self.authorization.as_str()),
            ("Content-Type", kind),
        ];
        let (status, said) = self.server.http(method, &path, &headers, body);
        assert!(status < 300, "{method} {path}: {status} {said}");
        said
    }

    /// Sets a pipeline and triggers its job `build`.
    #[track_caller]
    pub(crate) fn run(&self, pipeline: &str, config: &str) -> i64 {
        let own = format!("/pipelines/{pipeline}");
        self.ask("PUT", &format!("{own}/config"), config);
        self.ask("PUT", &format!("{own}/unpause"), "");
        let said = self.ask("POST", &format!("{own}/jobs/build/builds"), "");
        let build: Value = serde_json::from_str(&said).unwrap();
        build["id"].as_i64().unwrap()
    }
}
