use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use airside_image_rules::WantedImage;
use serde_json::{Value, json};

use super::*;

#[test]
fn what_a_refusal_means() {
    let seconds = |number| Some(Duration::from_secs(number));
    for (status, retry_after, expected, may_be_login) in [
        (429, None, Some(LEFT_ALONE), false),
        (429, seconds(7), seconds(7), false),
        (503, seconds(7), seconds(7), false),
        (503, None, None, false),
        (401, None, None, true),
        (403, None, None, true),
        (404, None, None, true),
    ] {
        let refused = Refused::from(Failure::Refused {
            status,
            retry_after,
            words: "no".to_owned(),
        });
        let found = (refused.trouble.retry_after, refused.may_be_login);
        assert_eq!(found, (expected, may_be_login), "{status} {retry_after:?}");
    }
}

#[test]
fn what_other_platforms_get_is_no_move() {
    let image = |digest: &str| PlatformImage {
        digest: digest.to_owned(),
        ..PlatformImage::default()
    };
    let of = |all: &[(&str, &str)]| -> Platforms {
        let all = all.iter();
        all.map(|(name, digest)| ((*name).to_owned(), image(digest)))
            .collect()
    };
    let before = of(&[("linux/amd64", "a")]);
    assert!(same_content(
        &before,
        &of(&[("linux/amd64", "a"), ("linux/arm64", "b")])
    ));
    assert!(!same_content(&before, &of(&[("linux/amd64", "c")])));
}

/// `dev/registry` with images that are made up, on loopback.
struct Registry {
    process: Child,
    host: String,
}

impl Registry {
    fn start(more: &[&str]) -> Self {
        let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../dev/registry");
        let mut process = Command::new(tool)
            .args(["--made", "org/app"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut port).unwrap();
        Self {
            process,
            host: format!("127.0.0.1:{}", port.trim()),
        }
    }

    fn control(&self, body: &Value) -> Value {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let (body, method) = match body {
            Value::Null => (String::new(), "GET"),
            body => (body.to_string(), "POST"),
        };
        let length = body.len();
        write!(
            stream,
            "{method} /control HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    fn count(&self, what: &str) -> u64 {
        self.control(&Value::Null)[what].as_u64().unwrap()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn asker() -> Asker {
    Asker::new(
        RegistryRules::default(),
        Arc::new(Budgets::new(super::super::Rate::default())),
    )
}

fn due(wanted: &WantedImage, before: &[KnownTag]) -> Due {
    Due {
        topic: super::super::Topic {
            question: Question::of(wanted).unwrap(),
            secrets: None,
        },
        turn: 1,
        before: before.to_vec(),
        platforms: BTreeSet::from(["linux/amd64".to_owned()]),
    }
}

fn image(registry: &Registry, name: &str) -> WantedImage {
    WantedImage {
        image: Some(format!("{}/{name}", registry.host)),
        ..WantedImage::default()
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn manifests_are_fetched_only_when_something_changed() {
    let (registry, asker) = (Registry::start(&[]), asker());
    let wanted = image(&registry, "org/app:1");
    let ask =
        |before: &[KnownTag], second| asker.ask(&due(&wanted, before), &[], at(second)).unwrap();
    let first = ask(&[], 1);
    let content = first[0].platforms["linux/amd64"].clone();
    assert!(content.size_bytes > 0 && first[0].moved.is_none());
    let fetched = registry.count("manifests");
    assert_eq!(ask(&first, 2), first);
    assert_eq!(
        registry.count("manifests"),
        fetched,
        "a question was enough"
    );

    registry.control(&json!({"touch": "org/app:1"}));
    let touched = ask(&first, 3);
    assert_ne!(touched[0].digest, first[0].digest);
    assert_eq!(
        (&touched[0].platforms["linux/amd64"], touched[0].moved),
        (&content, None)
    );

    registry.control(&json!({"move": "org/app:1"}));
    let moved = ask(&touched, 4);
    assert_ne!(moved[0].platforms["linux/amd64"], content);
    assert_eq!(moved[0].moved, Some(at(4)));

    let digest = format!("org/app@{}", first[0].platforms["linux/amd64"].digest);
    let single = asker
        .ask(&due(&image(&registry, &digest), &[]), &[], at(5))
        .unwrap();
    assert_eq!(
        single[0].platforms["linux/amd64"], content,
        "one manifest and no index"
    );
}

#[test]
fn tags_come_in_pages_and_what_is_missing_is_told() {
    let (registry, asker) = (Registry::start(&[]), asker());
    let tags = ["1.0.0", "1.1.0", "1.2.0", "1.10.0", "2.0.0"];
    registry.control(&json!({"tags": {"org/app": tags}}));
    let newest = |semver: &str| WantedImage {
        repository: Some(format!("{}/org/app", registry.host)),
        semver: Some(semver.to_owned()),
        keep: 2,
        ..WantedImage::default()
    };
    let ask = |wanted: &WantedImage| asker.ask(&due(wanted, &[]), &[], at(1));
    let found = ask(&newest("^1")).unwrap();
    let names: Vec<String> = found.iter().map(|known| known.image.to_string()).collect();
    assert_eq!(
        names,
        ["1.10.0", "1.2.0"].map(|tag| format!("{}/org/app:{tag}", registry.host))
    );
    for missing in [
        newest("^7"),
        image(&registry, "org/app:7"),
        image(&registry, "org/other:1"),
    ] {
        assert_eq!(
            ask(&missing).unwrap_err().state,
            TagState::Missing,
            "{missing:?}"
        );
    }
}

#[test]
fn pages_of_tags_that_have_not_changed_are_not_sent_again() {
    let (registry, asker) = (Registry::start(&[]), asker());
    let all = |count: usize| -> Vec<String> { (0..count).map(|at| format!("1.{at}.0")).collect() };
    let told = |count: usize| registry.control(&json!({"tags": {"org/app": all(count)}}));
    let ask = || {
        let newest = WantedImage {
            repository: Some(format!("{}/org/app", registry.host)),
            semver: Some("^1".to_owned()),
            ..WantedImage::default()
        };
        let found = asker.ask(&due(&newest, &[]), &[], at(1)).unwrap();
        found[0]
            .image
            .to_string()
            .rsplit_once(':')
            .unwrap()
            .1
            .to_owned()
    };
    // How many pages were sent, and how many had not changed, since the last time.
    let mut before = (0, 0);
    let mut pages = || {
        let now = (registry.count("tags"), registry.count("same"));
        let since = (now.0 - before.0, now.1 - before.1);
        before = now;
        since
    };
    // Three on a page.
    told(8);
    assert_eq!((ask().as_str(), pages()), ("1.7.0", (3, 0)));
    assert_eq!((ask().as_str(), pages()), ("1.7.0", (0, 3)));
    told(9);
    assert_eq!((ask().as_str(), pages()), ("1.8.0", (1, 2)));
    // A full page at the end does not say by its mark that there is another one after it.
    told(10);
    assert_eq!((ask().as_str(), pages()), ("1.9.0", (2, 2)));
    told(2);
    assert_eq!((ask().as_str(), pages()), ("1.1.0", (1, 0)));
    assert_eq!((ask().as_str(), pages()), ("1.1.0", (0, 1)));
    registry.control(&json!({"fault": {"bare": true}}));
    told(4);
    for _ in 0..2 {
        assert_eq!((ask().as_str(), pages()), ("1.3.0", (2, 0)));
    }
}

#[test]
fn logins_are_tried_in_order() {
    let (registry, asker) = (Registry::start(&["--user", "me:right"]), asker());
    let login = |password: &str| PullLogin {
        username: "me".to_owned(),
        password: password.to_owned(),
    };
    let wanted = image(&registry, "org/app:1");
    let ask = |logins: &[PullLogin]| asker.ask(&due(&wanted, &[]), logins, at(1));
    assert!(ask(&[login("wrong"), login("right")]).is_ok());
    for logins in [&[][..], &[login("wrong")]] {
        let trouble = ask(logins).unwrap_err();
        assert!(
            trouble.words.contains("denies access to"),
            "{}",
            trouble.words
        );
        assert!(!trouble.words.contains("wrong"), "{}", trouble.words);
    }
}
