//! Behaviour of types that depends on the environment. Each request runs in a process of its own:
//! an environment belongs to a whole process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod common;

use std::{
    fs,
    process::Command,
    sync::{Arc, Mutex},
};

use common::{
    Ran,
    http::{Response, serve},
};
use serde_json::{Value, json};
use tempfile::tempdir;

/// Runs `<type> check` in another process of this very program.
fn check(type_: &str, request: &Value, env: &[(&str, &str)]) -> Ran {
    let folder = tempdir().unwrap();
    let answer = folder.path().join("answer");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_other_process", "--ignored", "--quiet"])
        .env("TEST_TYPE", type_)
        .env("TEST_REQUEST", request.to_string())
        .env("TEST_ANSWER", &answer)
        .envs(env.iter().copied())
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    let text = fs::read_to_string(answer).unwrap();
    let (status, answer, log): (i32, Value, String) = serde_json::from_str(&text).unwrap();
    Ran {
        status,
        answer,
        log,
    }
}

#[test]
#[ignore = "started by the other tests"]
fn the_other_process() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let request = serde_json::from_str(&variable("TEST_REQUEST")).unwrap();
    let ran = common::run(&[&variable("TEST_TYPE"), "check"], request);
    let text = json!([ran.status, ran.answer, ran.log]).to_string();
    fs::write(variable("TEST_ANSWER"), text).unwrap();
}

#[test]
fn a_login_to_ecr_goes_through_the_role_to_the_registry() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let digest = common::image::digest(b"image");
    let (seen, answered) = (asked.clone(), digest.clone());
    let registry = serve(move |request| {
        let user = request
            .header("authorization")
            .unwrap_or_default()
            .to_owned();
        seen.lock()
            .unwrap()
            .push(format!("{} {user}", request.path()));
        match user.as_str() {
            // AWS:t0ken
            "Basic QVdTOnQwa2Vu" => {
                Response::new(200, "").with("Docker-Content-Digest", answered.clone())
            }
            _ => Response::new(401, "").with("WWW-Authenticate", "Basic realm=\"x\""),
        }
    });
    let endpoint = format!("http://{registry}");
    let aws = serve(move |request| {
        let body = String::from_utf8(request.body.clone()).unwrap();
        let signed = request
            .header("authorization")
            .unwrap_or_default()
            .to_owned();
        if body.contains("Action=AssumeRole") && signed.contains("Credential=id/") {
            let made = "<AccessKeyId>role-id</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                        <SessionToken>t</SessionToken>";
            let answer = format!("<AssumeRoleResponse>{made}</AssumeRoleResponse>");
            return Response::new(200, answer);
        }
        let target = request.header("x-amz-target").unwrap_or_default();
        let token = request.header("x-amz-security-token");
        if target.ends_with("GetAuthorizationToken")
            && signed.contains("Credential=role-id/")
            && token == Some("t")
        {
            let data = json!({"authorizationToken": "QVdTOnQwa2Vu", "proxyEndpoint": endpoint});
            return Response::new(200, json!({"authorizationData": [data]}).to_string());
        }
        Response::new(403, "who are you?")
    });
    let endpoint = format!("http://{aws}");
    let env = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ];
    let mut source = json!({
        "repository": "app", "tag": "t", "aws_region": "eu-1", "aws_role_arn": "arn:aws:iam::1:role/ci",
    });
    let found = check("registry-image", &json!({"source": source}), &env).ok();
    assert_eq!(found, json!([{"tag": "t", "digest": digest}]));
    let asked = asked.lock().unwrap().last().unwrap().clone();
    assert!(asked.starts_with("/v2/app/manifests/t Basic "), "{asked}");
    source["aws_role_arn"] = Value::Null;
    check("registry-image", &json!({"source": source}), &env).fails_with("is answered with 403");
    let request = json!({"source": source});
    check("registry-image", &request, &[]).fails_with("source.aws_access_key_id");
}
