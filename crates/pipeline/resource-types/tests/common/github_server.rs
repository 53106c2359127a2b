//! A small GitHub on loopback: releases, assets and tags of one repository, and a store elsewhere
//! that keeps the assets' bytes.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::http::{Request, Response, serve};

pub const TOKEN: &str = "the-token";

#[derive(Default)]
pub struct Github {
    /// Releases in GitHub's order, newest first.
    pub releases: Vec<Value>,
    /// Release, description and bytes.
    pub assets: Vec<(u64, Value, Vec<u8>)>,
    /// Name, and the kind and hash that it points to; tag objects by their hash.
    pub tags: Vec<(String, Value)>,
    pub needs_token: bool,
    /// Answers to give instead, first one first.
    pub refusals: Vec<Response>,
    /// Requests to GitHub and to the store, with their credentials.
    pub asked: Vec<String>,
    /// Number of uploads that break in the middle.
    pub broken_uploads: usize,
    /// Number of entries in a page of a list.
    pub page: usize,
    next: u64,
}

pub struct GithubServer {
    pub url: String,
    pub state: Arc<Mutex<Github>>,
}

impl GithubServer {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(Github {
            page: 2,
            next: 100,
            ..Github::default()
        }));
        let shared = state.clone();
        let store = serve(move |request| stored(&mut shared.lock().unwrap(), &request));
        let shared = state.clone();
        let host = serve(move |request| answer(&mut shared.lock().unwrap(), &store, request));
        Self {
            url: format!("http://{host}/api/v3"),
            state,
        }
    }

    pub fn source(&self) -> Value {
        json!({"owner": "o", "repository": "r", "github_api_url": self.url})
    }

    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }

    pub fn release(&self, tag: &str, minute: u32) -> u64 {
        let mut state = self.state.lock().unwrap();
        let time = format!("2026-01-02T03:{minute:02}:00Z");
        state.tags.push((
            tag.to_owned(),
            json!({"type": "commit", "sha": format!("commit-of-{tag}")}),
        ));
        state.add(json!({
            "tag_name": tag, "name": format!("Release {tag}"), "body": "What is new", "draft": false,
            "prerelease": false, "created_at": time, "published_at": time,
        }))
    }

    pub fn asset(&self, release: u64, name: &str, bytes: &[u8]) -> u64 {
        self.state.lock().unwrap().add_asset(release, name, bytes)
    }
}

impl Github {
    fn add(&mut self, mut release: Value) -> u64 {
        self.next += 1;
        release["id"] = json!(self.next);
        release["html_url"] = json!(format!("https://github.example/o/r/releases/{}", self.next));
        self.releases.insert(0, release);
        self.next
    }

    fn add_asset(&mut self, release: u64, name: &str, bytes: &[u8]) -> u64 {
        self.next += 1;
        let digest = super::image::digest(bytes);
        let about = json!({
            "id": self.next, "name": name, "state": "uploaded", "size": bytes.len(), "digest": digest,
        });
        self.assets.push((release, about, bytes.to_vec()));
        self.next
    }
}

fn ok(value: Value) -> Response {
    Response::new(200, value.to_string()).with("Content-Type", "application/json")
}

fn missing() -> Response {
    Response::new(404, r#"{"message": "Not Found"}"#)
}

fn note(state: &mut Github, place: &str, request: &Request) {
    let token = request.header("authorization").unwrap_or("no token");
    let line = format!("{place} {} {} {token}", request.method, request.path());
    state.asked.push(line);
}

/// The bytes of an asset or an archive, for anyone who knows the address.
fn stored(state: &mut Github, request: &Request) -> Response {
    note(state, "store", request);
    let id = request.path().trim_start_matches('/');
    if id.ends_with("ball") {
        return Response::new(200, format!("sources as {id}"));
    }
    let found = state
        .assets
        .iter()
        .find(|(_, about, _)| about["id"].as_u64() == id.parse().ok());
    found.map_or_else(missing, |(_, _, bytes)| Response::new(200, bytes.clone()))
}

fn answer(state: &mut Github, store: &str, request: Request) -> Response {
    note(state, "github", &request);
    if !state.refusals.is_empty() {
        return state.refusals.remove(0);
    }
    let bearer = format!("Bearer {TOKEN}");
    let given = request.header("authorization");
    if given.is_some_and(|given| given != bearer) {
        return Response::new(401, r#"{"message": "Bad credentials"}"#);
    }
    if given.is_none() && (state.needs_token || request.method != "GET") {
        return missing();
    }
    let Some(path) = request.path().strip_prefix("/api/v3/repos/o/r/") else {
        return missing();
    };
    let parts: Vec<&str> = path.split('/').collect();
    let form = || serde_json::from_slice::<Value>(&request.body).unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    match (request.method.as_str(), &parts[..]) {
        ("GET", ["releases"]) => page(state.releases.clone(), state.page, &request),
        ("POST", ["releases"]) => {
            let mut release = form();
            release["created_at"] = json!("2026-01-02T04:00:00Z");
            state.add(release);
            Response::new(201, state.releases[0].to_string())
        }
        ("GET", ["releases", "tags", tag]) => {
            let found = state
                .releases
                .iter()
                .find(|release| release["tag_name"] == *tag);
            found.cloned().map_or_else(missing, ok)
        }
        ("GET", ["releases", "assets", id]) => {
            Response::new(302, "").with("Location", format!("http://{store}/{id}"))
        }
        ("DELETE", ["releases", "assets", id]) => {
            state
                .assets
                .retain(|(_, about, _)| about["id"] != number(id));
            Response::new(204, "")
        }
        ("GET", ["releases", id]) => {
            let found = state
                .releases
                .iter()
                .find(|release| release["id"] == number(id));
            found.cloned().map_or_else(missing, ok)
        }
        ("PATCH", ["releases", id]) => {
            let mut found = state.releases.iter_mut();
            let release = found.find(|release| release["id"] == number(id)).unwrap();
            for (key, value) in form().as_object().unwrap() {
                release[key] = value.clone();
            }
            ok(release.clone())
        }
        ("GET", ["releases", id, "assets"]) => {
            let all = state
                .assets
                .iter()
                .filter(|(release, ..)| *release == number(id));
            page(
                all.map(|(_, about, _)| about.clone()).collect(),
                state.page,
                &request,
            )
        }
        ("POST", ["releases", id, "assets"]) => {
            let name = request.query().strip_prefix("name=").unwrap();
            let taken = state
                .assets
                .iter()
                .any(|(_, about, _)| about["name"] == name);
            if taken {
                return Response::new(422, r#"{"errors": [{"code": "already_exists"}]}"#);
            }
            if state.broken_uploads > 0 {
                state.broken_uploads -= 1;
                state.add_asset(number(id), name, &request.body[..1]);
                return Response::new(502, "");
            }
            state.add_asset(number(id), name, &request.body);
            Response::new(201, "{}")
        }
        ("GET", [kind @ ("tarball" | "zipball"), _tag]) => {
            Response::new(302, "").with("Location", format!("http://{store}/{kind}"))
        }
        ("GET", ["git", "ref", "tags", name] | ["git", "tags", name]) => {
            let found = state.tags.iter().find(|(tag, _)| tag == name);
            found.map_or_else(missing, |(_, object)| ok(json!({"object": object})))
        }
        _ => missing(),
    }
}

/// Some entries to a page, so that there are several; the address of the next page is a trap.
fn page(all: Vec<Value>, size: usize, request: &Request) -> Response {
    let number = request.query().rsplit("&page=").next().unwrap();
    let start = (number.parse::<usize>().unwrap() - 1) * size;
    let shown: Vec<Value> = all.iter().skip(start).take(size).cloned().collect();
    let response = ok(Value::Array(shown));
    if start + size < all.len() {
        let link = "<http://192.0.2.1/evil?page=2>; rel=\"next\"";
        return response.with("Link", link);
    }
    response
}
