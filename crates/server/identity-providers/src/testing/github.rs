//! An imitation of what GitHub answers here, after its documentation. Not GitHub itself.

use serde_json::{Value, json};
use url::Url;

use super::server::{ReceivedRequest, Reply, Server};
use crate::{GithubConfig, Secret};

pub struct TestGithub {
    server: Server,
}

impl TestGithub {
    /// Ann, of the organisations `acme` and `other`, and of acme's team `Road Works`.
    pub async fn start() -> Self {
        let listener = Server::bind().await;
        let base = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::start(listener, move |asked| {
            let reply = answer(&base, &asked);
            async move { reply }
        });
        Self { server }
    }

    pub fn config(&self) -> GithubConfig {
        let host = format!("http://{}", self.server.address);
        GithubConfig::new(Some(&host), "app", Secret::new("app-secret")).unwrap()
    }

    /// Returns the address with which a browser that is sent there comes back.
    pub fn visit(&self, url: &Url) -> Url {
        back(&url.query_pairs().into_owned().collect())
    }
}

fn back(fields: &std::collections::BTreeMap<String, String>) -> Url {
    assert_eq!(fields["client_id"], "app");
    assert_eq!(fields["scope"], "user:email read:org");
    let mut back: Url = fields["redirect_uri"].parse().unwrap();
    back.query_pairs_mut()
        .append_pair("code", "good")
        .append_pair("state", &fields["state"]);
    back
}

fn answer(base: &str, asked: &ReceivedRequest) -> Reply {
    let known = asked.authorization == "Bearer gho_ann";
    let page = asked.fields.get("page").map_or("1", String::as_str);
    let body: Value = match asked.path.as_str() {
        "/login/oauth/authorize" => {
            return Reply::new(302, "").with("location", back(&asked.fields));
        }
        "/login/oauth/access_token" => exchange(asked),
        _ if !known => return Reply::new(401, json!({"message": "Bad credentials"})),
        "/api/v3/user" => json!({"id": 7, "login": "ann", "name": null, "email": null}),
        "/api/v3/user/emails" => json!([
            {"email": "old@example.com", "primary": false, "verified": true},
            {"email": "ann@example.com", "primary": true, "verified": true},
        ]),
        "/api/v3/user/orgs" if page == "1" => {
            let next = format!("<{base}/api/v3/user/orgs?page=2>; rel=\"next\"");
            return Reply::new(200, json!([{"login": "acme"}])).with("link", next);
        }
        "/api/v3/user/orgs" => json!([{"login": "other"}]),
        "/api/v3/user/teams" => json!([
            {"name": "Road Works", "slug": "road-works", "organization": {"login": "acme"}},
            {"name": "hidden", "slug": "hidden", "organization": {"login": "elsewhere"}},
        ]),
        _ => return Reply::new(404, json!({"message": "Not Found"})),
    };
    Reply::new(200, body)
}

/// GitHub says no with status 200.
fn exchange(asked: &ReceivedRequest) -> Value {
    let given = |name: &str| asked.fields.get(name).map_or("", String::as_str);
    let client = (given("client_id"), given("client_secret"));
    match (client, given("code")) {
        (("app", "app-secret"), "good") => {
            json!({"access_token": "gho_ann", "token_type": "bearer", "scope": "read:org"})
        }
        (("app", "app-secret"), _) => json!({"error": "bad_verification_code",
            "error_description": "The code passed is incorrect or expired."}),
        _ => json!({"error": "incorrect_client_credentials"}),
    }
}
