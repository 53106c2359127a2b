//! The API server's side of a few requests, for what a real one does not do on demand: watches that
//! are cut or expired, refusals, answers that are lost.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::http::{Request, Response, serve};

/// A request that was made: method, target and body.
#[derive(Clone, Debug)]
pub struct Made {
    pub method: String,
    pub target: String,
    pub body: Value,
}

pub struct KubeServer {
    pub address: String,
    made: Arc<Mutex<Vec<Made>>>,
}

impl KubeServer {
    /// Serves what the closure answers, and discovery and reviews by itself where it does not. The
    /// closure gets the number of requests with this method and path, from 1.
    pub fn start(
        answer: impl Fn(&Request, usize) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let made: Arc<Mutex<Vec<Made>>> = Arc::default();
        let seen = made.clone();
        let address = serve(move |request| {
            let number = {
                let mut seen = seen.lock().unwrap();
                seen.push(Made {
                    method: request.method.clone(),
                    target: request.target.clone(),
                    body: serde_json::from_slice(&request.body).unwrap_or_default(),
                });
                let is_same = |made: &&Made| {
                    made.method == request.method && path(&made.target) == request.path()
                };
                seen.iter().filter(is_same).count()
            };
            answer(&request, number).unwrap_or_else(|| by_itself(&request))
        });
        Self { address, made }
    }

    pub fn source(&self, more: Value) -> Value {
        let mut source = json!({"namespace": "ns", "server": format!("http://{}", self.address), "token": "t0ken"});
        for (key, value) in more.as_object().unwrap() {
            source[key] = value.clone();
        }
        source
    }

    pub fn made(&self, method: &str, part: &str) -> Vec<Made> {
        let made = self.made.lock().unwrap();
        let is_it = |made: &&Made| made.method == method && made.target.contains(part);
        made.iter().filter(is_it).cloned().collect()
    }

    pub fn count(&self) -> usize {
        self.made.lock().unwrap().len()
    }
}

fn path(target: &str) -> &str {
    target.split('?').next().unwrap()
}

pub fn answer(status: u16, body: &Value) -> Response {
    Response::new(status, body.to_string())
}

/// A refusal as API servers write it.
pub fn refusal(status: u16, reason: &str, message: &str, details: Value) -> Response {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status,
        "reason": reason, "message": message, "details": details,
    });
    answer(status, &body)
}

/// Lines of a watch.
pub fn events(events: &[(&str, Value)]) -> Response {
    let lines = events
        .iter()
        .map(|(type_, object)| json!({"type": type_, "object": object}));
    let lines: Vec<String> = lines.map(|line| line.to_string() + "\n").collect();
    Response::new(200, lines.concat())
}

fn by_itself(request: &Request) -> Response {
    let kind = |name: &str, kind: &str| json!({"name": name, "kind": kind, "namespaced": true});
    match (request.method.as_str(), request.path()) {
        ("GET", "/apis/batch/v1") => answer(
            200,
            &json!({"resources": [kind("jobs", "Job"), kind("jobs/status", "Job")]}),
        ),
        ("GET", "/api/v1") => answer(
            200,
            &json!({"resources": [kind("configmaps", "ConfigMap"), kind("secrets", "Secret"), kind("pods", "Pod"), kind("pods/status", "Pod")]}),
        ),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews") => {
            answer(201, &json!({"status": {"allowed": true}}))
        }
        ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews") => {
            answer(201, &json!({"status": {"userInfo": {"username": "ann"}}}))
        }
        // An empty watch, where the test does not look at pods and events.
        ("GET", "/api/v1/namespaces/ns/pods" | "/api/v1/namespaces/ns/events") => {
            Response::new(200, "")
        }
        _ => refusal(
            404,
            "NotFound",
            "the server could not find the requested resource",
            json!({}),
        ),
    }
}

/// A job that the tests share, and where it is.
pub const JOB_PATH: &str = "/apis/batch/v1/namespaces/ns/jobs/a";
/// All jobs of its namespace.
pub const JOBS_PATH: &str = "/apis/batch/v1/namespaces/ns/jobs";

/// The job at a version of the cluster, with a condition.
pub fn job(version: u32, condition: Option<(&str, &str)>) -> Value {
    let conditions = condition.map(|(type_, reason)| {
        json!([{"type": type_, "status": "True", "reason": reason, "message": "m"}])
    });
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "generation": 1,
                     "resourceVersion": version.to_string(), "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {}, "status": {"conditions": conditions},
    })
}

/// A source that means the job.
pub fn job_source(server: &KubeServer) -> Value {
    server.source(json!({"kind": "Job.batch/v1", "name": "a"}))
}
