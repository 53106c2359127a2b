use super::*;

/// `a`, then `b` and `c` of one group, then `d` after both; `e` by itself.
fn config() -> Config {
    let job = |name: &str, passed: &str, more: &str| {
        format!("- {{name: {name}, plan: [{{get: r, passed: [{passed}]}}]{more}}}\n")
    };
    let text = [
        "resources: [{name: r, type: mock, source: {}}]\njobs:\n".to_owned(),
        job("d", "b, c", ""),
        job("a", "", ""),
        job("b", "a", ", serial_groups: [one]"),
        job("c", "a", ", serial_groups: [one]"),
        job("e", "", ""),
    ];
    airside_config::load(&text.concat()).unwrap().config
}

fn order(choice: Choice<'_>) -> Order {
    Order::new(&config(), choice).unwrap()
}

#[test]
fn nothing_runs_before_what_it_waits_for() {
    let mut order = order(Choice::All);
    assert_eq!(order.start(9), ["a", "e"]);
    assert!(order.start(9).is_empty());
    assert_eq!(order.ended("a", BuildStatus::Succeeded), []);
    assert_eq!(order.start(9), ["b"], "c is in the same group");
    assert_eq!(order.ended("b", BuildStatus::Succeeded), []);
    assert_eq!(order.start(9), ["c"]);
    order.ended("e", BuildStatus::Failed);
    order.ended("c", BuildStatus::Succeeded);
    assert_eq!(order.start(9), ["d"]);
}

#[test]
fn no_more_run_at_once_than_may() {
    let mut order = order(Choice::All);
    assert_eq!(order.start(1), ["a"]);
    order.ended("a", BuildStatus::Succeeded);
    assert_eq!(order.start(2), ["b", "e"]);
}

#[test]
fn what_follows_a_failure_is_skipped() {
    for status in [
        BuildStatus::Failed,
        BuildStatus::Errored,
        BuildStatus::Aborted,
    ] {
        let mut order = order(Choice::All);
        order.start(9);
        let skipped: Vec<String> = order
            .ended("a", status)
            .into_iter()
            .map(|skipped| format!("{}: {}", skipped.job, skipped.reason))
            .collect();
        let expected = [
            "b: job a did not succeed",
            "d: job b did not succeed",
            "c: job a did not succeed",
        ];
        assert_eq!(skipped, expected);
        assert!(order.start(9).is_empty());
    }
}

#[test]
fn jobs_are_chosen_by_name() {
    let names = |choice| order(choice).names().map(str::to_owned).collect::<Vec<_>>();
    let b = ["b".to_owned()];
    assert_eq!(names(Choice::All), ["d", "a", "b", "c", "e"]);
    assert_eq!(names(Choice::WithUpstream(&b)), ["a", "b"]);
    assert_eq!(names(Choice::Only(&b)), ["b"]);
    let mut alone = order(Choice::Only(&b));
    assert_eq!(alone.start(9), ["b"]);
    for (name, words) in [
        ("build", "there is no job `build`; there are: d, a, b, c, e"),
        ("", "there is no job ``; there are: d, a, b, c, e"),
    ] {
        let error = Order::new(&config(), Choice::Only(&[name.to_owned()])).unwrap_err();
        assert_eq!(error, words);
    }
}

#[test]
fn what_has_not_begun_can_be_given_up() {
    let mut order = order(Choice::All);
    order.start(1);
    assert_eq!(order.give_up(), ["d", "b", "c", "e"]);
    assert!(order.start(9).is_empty());
    assert_eq!(order.ended("a", BuildStatus::Aborted), []);
}
