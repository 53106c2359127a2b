use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

/// An operator that gives one answer, and what it was asked.
async fn asked(answer: &'static str) -> (Result<PullAnswer, Unreachable>, String) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "secret\n").unwrap();
    let operator = OperatorClient {
        url: format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap(),
        ca: folder.path().join("none"),
        token,
        patience: Duration::from_secs(60),
    };
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"}") {
            assert!(stream.read_buf(&mut heard).await.unwrap() > 0);
        }
        let answer = format!("HTTP/1.1 {answer}");
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(heard).unwrap()
    };
    let request = PullRequest {
        image: "docker.io/library/app:1".to_owned(),
        digest: "sha256:1".to_owned(),
    };
    tokio::join!(operator.ask(&request), serve)
}

#[tokio::test]
async fn a_grant_comes_with_logins() {
    let body = r#"{"permit":"p1","seconds":30,"logins":[{"username":"u","password":"w"}]}"#;
    let answer: &'static str =
        format!("200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).leak();
    let (answer, heard) = asked(answer).await;
    let PullAnswer::Granted(grant) = answer.unwrap() else {
        panic!("no grant")
    };
    assert_eq!((grant.permit.as_str(), grant.logins.len()), ("p1", 1));
    assert!(heard.starts_with("POST /v1/pulls HTTP/1.1\r\n"), "{heard}");
    assert!(
        heard.contains("authorization: Bearer secret\r\n"),
        "{heard}"
    );
    assert!(
        heard.ends_with(r#"{"image":"docker.io/library/app:1","digest":"sha256:1"}"#),
        "{heard}"
    );
}

#[tokio::test]
async fn others_go_first_for_as_long_as_the_operator_says() {
    let (answer, _) = asked("429 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n").await;
    assert!(matches!(answer.unwrap(), PullAnswer::Later(wait) if wait == Duration::from_secs(7)));
    let (answer, _) = asked("429 Busy\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n").await;
    assert!(matches!(answer.unwrap(), PullAnswer::Later(wait) if wait == BETWEEN));
}

#[tokio::test]
async fn a_denial_has_its_words_and_anything_else_is_no_answer() {
    let (answer, _) = asked("403 No\r\nContent-Length: 20\r\n\r\n{\"message\":\"not so\"}").await;
    assert!(matches!(answer, Ok(PullAnswer::Denied(_))), "{answer:?}");
    let (answer, _) = asked("500 Oh\r\nContent-Length: 4\r\n\r\nbusy").await;
    let error = answer.unwrap_err().to_string();
    assert!(error.contains("500") && error.ends_with("busy"), "{error}");
    let (answer, _) = asked("200 OK\r\nContent-Length: 2\r\n\r\n{}").await;
    assert!(answer.unwrap_err().to_string().contains("permit"));
}
