use super::*;
use airside_containerd::Labels;

const TIME: &str = "2026-01-02T03:04:05Z";

fn named(name: &str, digest: &str, labels: &[(&str, &str)]) -> NamedImage {
    let labels = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let mut image = NamedImage {
        name: name.to_owned(),
        labels: labels.collect::<Labels>(),
        target: Some(Default::default()),
    };
    image.target.as_mut().unwrap().digest = digest.to_owned();
    image
}

fn lists(labels: &[(&str, &str)]) -> RuntimeLists {
    let image = RuntimeImage {
        id: "sha256:1".to_owned(),
        tags: vec!["docker.io/library/app:1".to_owned()],
        size: 10,
        ..Default::default()
    };
    RuntimeLists {
        images: vec![image],
        names: vec![
            named("sha256:1", "sha256:a", labels),
            named("docker.io/library/app:1", "sha256:a", &[]),
            named("docker.io/library/app:2", "sha256:b", &[]),
        ],
        containers: vec![],
    }
}

#[test]
fn whose_an_image_and_its_pin_are() {
    let cases = [
        (&[][..], false, Pin::None, false),
        (&[], true, Pin::Others, false),
        (&[(PINNED, "pinned")], true, Pin::Others, false),
        (
            &[(PINNED, "pinned"), (OUR_PIN, "true")],
            true,
            Pin::Ours,
            false,
        ),
        (&[(OUR_PIN, "true")], false, Pin::None, false),
        (&[(PULLED, TIME)], false, Pin::None, true),
        (&[(PULLED, "soon")], false, Pin::None, false),
    ];
    for (labels, pinned, pin, is_ours) in cases {
        let mut lists = lists(labels);
        lists.images[0].pinned = pinned;
        let [found] = &lists.found()[..] else {
            panic!()
        };
        assert_eq!(
            (found.pin, found.pulled.is_some()),
            (pin, is_ours),
            "{labels:?}"
        );
    }
}

#[test]
fn an_image_is_used_by_whatever_name_a_container_has_it() {
    let mut lists = lists(&[]);
    assert!(!lists.found()[0].in_use);
    for name in ["sha256:1", "docker.io/library/app:1"] {
        let container = Container {
            image_ref: name.to_owned(),
            ..Default::default()
        };
        lists.containers = vec![container];
        assert!(lists.found()[0].in_use, "{name}");
    }
    lists.containers[0].image_ref = "sha256:2".to_owned();
    assert!(!lists.found()[0].in_use);
}

#[test]
fn only_names_that_we_gave_and_that_still_mean_it_go() {
    let ours = "docker.io/library/app:1 docker.io/library/app:2";
    let mut lists = lists(&[(PULLED, TIME), (NAMES, ours)]);
    let mut expected = Departure {
        names: vec!["docker.io/library/app:1".to_owned()],
        others_stay: false,
    };
    assert_eq!(lists.departure("sha256:1"), expected);
    lists.images[0]
        .digests
        .push("r.example/app@sha256:a".to_owned());
    expected.others_stay = true;
    assert_eq!(lists.departure("sha256:1"), expected);
    assert_eq!(lists.departure("sha256:9"), Departure::default());
}

#[test]
fn names_that_we_gave_to_content_of_others_are_found() {
    let lists = lists(&[(NAMES, "docker.io/library/app:1")]);
    assert_eq!(lists.strangers(|_| false), ["sha256:1"]);
    assert!(lists.strangers(|id| id == "sha256:1").is_empty());
    assert_eq!(lists.marked(), ["sha256:1"]);
}

#[test]
fn names_are_remembered_once_and_as_many_as_fit() {
    let image = named(
        "sha256:1",
        "sha256:a",
        &[(NAMES, "docker.io/library/app:1")],
    );
    let one: Reference = "app:1".parse().unwrap();
    let two: Reference = "app:2".parse().unwrap();
    assert_eq!(
        with_names(&image, &[&one, &two]),
        "docker.io/library/app:1 docker.io/library/app:2"
    );
    let full = named(
        "sha256:1",
        "sha256:a",
        &[(NAMES, &"x".repeat(MAX_NAMES_BYTES))],
    );
    assert_eq!(with_names(&full, &[&one]).len(), MAX_NAMES_BYTES);
}
