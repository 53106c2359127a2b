use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener},
    sync::Arc,
    thread,
};

use super::*;

/// A stand-in for the metadata of a machine or container: answers by method and path, and notes
/// what it was asked, with the headers that matter.
struct Stand {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stand {
    fn start(answers: &[(&str, &str)]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers: HashMap<String, String> = answers
            .iter()
            .map(|(path, answer)| ((*path).to_owned(), (*answer).to_owned()))
            .collect();
        let noted = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream);
                let (mut line, mut note, mut length) = (String::new(), String::new(), 0);
                reader.read_line(&mut line).unwrap();
                let path = line.rsplit_once(' ').unwrap().0.to_owned();
                loop {
                    let mut header = String::new();
                    reader.read_line(&mut header).unwrap();
                    let header = header.trim_end().to_ascii_lowercase();
                    if let Some(text) = header.strip_prefix("content-length: ") {
                        length = text.parse().unwrap();
                    }
                    if header.starts_with("authorization") || header.contains("metadata-token: ") {
                        note += &format!(" {header}");
                    }
                    if header.is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                noted.lock().push(format!("{path}{note}"));
                let answer = answers.get(&path);
                let status = if answer.is_some() {
                    "200 OK"
                } else {
                    "404 Not Found"
                };
                let answer = answer.cloned().unwrap_or_default();
                let _ = write!(
                    reader.get_mut(),
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{answer}",
                    answer.len()
                );
            }
        });
        Self { url, asked }
    }
}

fn identity(variables: &[(&str, &str)], machine: &str) -> AwsIdentity {
    let variables: HashMap<String, String> = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    AwsIdentity {
        environment: Box::new(move |name| variables.get(name).cloned()),
        machine: machine.to_owned(),
        ..AwsIdentity::of_machine("eu-west-1")
    }
}

const KEYS: &str = r#"{"AccessKeyId": "id", "SecretAccessKey": "s", "Token": "t",
    "Expiration": "2999-01-01T00:00:00Z"}"#;

#[test]
fn keys_of_the_settings_come_first_and_then_those_of_the_environment() {
    let variables = [("AWS_ACCESS_KEY_ID", "e"), ("AWS_SECRET_ACCESS_KEY", "f")];
    let identity = identity(&variables, "http://127.0.0.1:1");
    assert_eq!(identity.keys().unwrap().id, "e");
    let given = Keys {
        id: "g".to_owned(),
        secret: "h".to_owned(),
        token: None,
    };
    let identity = AwsIdentity {
        given: Some(given),
        ..identity
    };
    assert_eq!(identity.keys().unwrap().id, "g");
    assert!(!format!("{:?}", identity.keys().unwrap()).contains('h'));
}

#[test]
fn a_virtual_machine_has_a_role_and_keys_are_kept() {
    let stand = Stand::start(&[
        ("PUT /latest/api/token", "tok"),
        ("GET /latest/meta-data/iam/security-credentials/", "role"),
        ("GET /latest/meta-data/iam/security-credentials/role", KEYS),
    ]);
    let identity = identity(&[], &stand.url);
    for _ in 0..2 {
        let keys = identity.keys().unwrap();
        assert_eq!((keys.id.as_str(), keys.token.as_deref()), ("id", Some("t")));
    }
    let asked = stand.asked.lock();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(
        asked[1].ends_with("x-aws-ec2-metadata-token: tok"),
        "{asked:?}"
    );
}

#[test]
fn a_container_shows_the_token_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "bearer\n").unwrap();
    let stand = Stand::start(&[("GET /keys", KEYS)]);
    let url = format!("{}/keys", stand.url);
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        (
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            file.to_str().unwrap(),
        ),
    ];
    assert_eq!(
        identity(&variables, "http://127.0.0.1:1")
            .keys()
            .unwrap()
            .id,
        "id"
    );
    assert_eq!(*stand.asked.lock(), ["GET /keys authorization: bearer"]);
}

#[test]
fn who_is_nobody_is_told_where_to_be_somebody() {
    let words = identity(&[], "http://127.0.0.1:1").keys().unwrap_err();
    assert!(
        words
            .to_string()
            .starts_with("this server has no identity at AWS"),
        "{words}"
    );
    let variables = [("AWS_WEB_IDENTITY_TOKEN_FILE", "/no/such")];
    let words = identity(&variables, "http://127.0.0.1:1")
        .keys()
        .unwrap_err();
    assert!(
        words
            .to_string()
            .starts_with("cannot read /no/such, which AWS_WEB_"),
        "{words}"
    );
}
