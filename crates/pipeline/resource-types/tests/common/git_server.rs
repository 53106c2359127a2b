//! Real repositories over HTTP: `git http-backend` behind a small server on loopback.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::http::{Request, Response, serve};

/// Faults of the server.
#[derive(Default)]
pub struct Manners {
    /// `user:password` that it wants to hear.
    pub user: Option<String>,
    /// Cuts answers with a pack in them after this many bytes.
    pub cut: Option<usize>,
    /// Paths that were asked for.
    pub asked: Vec<String>,
}

pub struct GitServer {
    pub address: String,
    pub manners: Arc<Mutex<Manners>>,
}

impl GitServer {
    /// Serves the repositories in a folder.
    pub fn start(root: &Path) -> Self {
        let manners = Arc::new(Mutex::new(Manners::default()));
        let (root, shared) = (root.to_owned(), manners.clone());
        let address = serve(move |request| answer(&root, &shared, request));
        Self { address, manners }
    }

    pub fn uri(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.manners.lock().unwrap().asked)
    }
}

fn answer(root: &PathBuf, manners: &Mutex<Manners>, request: Request) -> Response {
    let cut = {
        let mut manners = manners.lock().unwrap();
        manners.asked.push(request.target.clone());
        if let Some(user) = &manners.user {
            let wanted = format!("Basic {}", BASE64_STANDARD.encode(user));
            if request.header("authorization") != Some(&wanted) {
                return Response::new(401, "").with("WWW-Authenticate", "Basic realm=\"git\"");
            }
        }
        manners.cut.filter(|_| request.method == "POST")
    };
    if request.path().contains("/lfs/") {
        return large_files(root, &request);
    }
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "tester")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", request.path())
        .env("QUERY_STRING", request.query())
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "uploadpack.allowFilter")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CONFIG_KEY_1", "safe.directory")
        .env("GIT_CONFIG_VALUE_1", "*")
        .env("CONTENT_LENGTH", request.body.len().to_string());
    for (header, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = request.header(header) {
            command.env(variable, value);
        }
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::spawn(move || stdin.write_all(&request.body));
    let output = child.wait_with_output().unwrap().stdout;
    let split = output
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let mut response = Response::new(200, &output[split + 4..]);
    for line in String::from_utf8_lossy(&output[..split]).lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name == "Status" {
            response.status = value.split(' ').next().unwrap().parse().unwrap();
        } else {
            response = response.with(name, value);
        }
    }
    response.cut = cut.filter(|cut| *cut < response.body.len());
    response
}

/// The objects in the folder `lfs`, by the protocol of git-lfs.
fn large_files(root: &Path, request: &Request) -> Response {
    if !request.path().ends_with("/objects/batch") {
        let id = request.path().rsplit('/').next().unwrap();
        if request.method == "PUT" {
            std::fs::create_dir_all(root.join("lfs")).unwrap();
            std::fs::write(root.join("lfs").join(id), &request.body).unwrap();
            return Response::new(200, "");
        }
        return match std::fs::read(root.join("lfs").join(id)) {
            Ok(bytes) => Response::new(200, bytes),
            Err(_) => Response::new(404, ""),
        };
    }
    let asked: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    let host = request.header("host").unwrap();
    let action = asked["operation"].as_str().unwrap();
    let objects = asked["objects"].as_array().unwrap().iter().map(|object| {
        let id = object["oid"].as_str().unwrap();
        let href = format!("http://{host}/x/lfs/{id}");
        serde_json::json!({
            "oid": id, "size": object["size"], "actions": {action: {"href": href}},
        })
    });
    let answer = serde_json::json!({"objects": objects.collect::<Vec<_>>()});
    Response::new(200, answer.to_string()).with("Content-Type", "application/vnd.git-lfs+json")
}
