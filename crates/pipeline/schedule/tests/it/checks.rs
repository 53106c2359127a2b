//! Times at which resources are checked by themselves.

use std::time::Duration;

use airside_model::{ResourceId, Version};
use airside_schedule::Moment;
use airside_schedule::checks::{
    CheckFacts, CheckPolicy, CheckRule, Due, Interval, Need, NotDue, due,
};
use airside_schedule::graph::{Part, Resource};

const SECOND: i64 = 1_000_000;
const NOW: Moment = Moment(1_000 * SECOND);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn policy() -> CheckPolicy {
    CheckPolicy {
        resources: seconds(60),
        resources_with_webhook: seconds(3_600),
        resource_types: seconds(90),
        longest_backoff: seconds(600),
    }
}

fn resource(part: Part) -> Resource {
    Resource {
        id: ResourceId(1),
        check: CheckRule::default(),
        pin: None,
        part,
    }
}

/// Checked at second 990 with success, versions there.
fn fine() -> CheckFacts {
    CheckFacts {
        last_end: Some(Moment(990 * SECOND)),
        failures: 0,
        has_versions: true,
        has_pinned_version: true,
    }
}

fn at(second: i64, need: Need) -> Due {
    Due::At(Moment(second * SECOND), need)
}

#[test]
fn only_what_is_needed_is_checked() {
    let never = CheckFacts::default();
    let failed = CheckFacts {
        failures: 1,
        ..fine()
    };
    let empty = CheckFacts {
        has_versions: false,
        ..fine()
    };
    let not_needed = Due::Not(NotDue::NotNeeded);
    for (part, facts, expected) in [
        (Part::Trigger, fine(), at(1_050, Need::Trigger)),
        (Part::Trigger, never, Due::At(NOW, Need::Trigger)),
        (Part::Input, fine(), not_needed),
        (Part::NoInput, fine(), not_needed),
        (Part::Input, never, Due::At(NOW, Need::NeverChecked)),
        (Part::NoInput, never, Due::At(NOW, Need::NeverChecked)),
        (Part::Input, failed, at(1_050, Need::LastCheckFailed)),
        (Part::NoInput, failed, at(1_050, Need::LastCheckFailed)),
        (Part::Input, empty, at(1_050, Need::NoVersions)),
        (Part::NoInput, empty, not_needed),
    ] {
        let got = due(&resource(part), facts, &policy(), false, NOW);
        assert_eq!(got, expected, "{part:?} {facts:?}");
    }
}

#[test]
fn a_pinned_version_is_looked_for_until_it_is_seen() {
    let unseen = CheckFacts {
        has_pinned_version: false,
        ..fine()
    };
    let pinned = |part| Resource {
        pin: Some(Version::from([("ref", "1")])),
        ..resource(part)
    };
    let input = due(&pinned(Part::Input), unseen, &policy(), false, NOW);
    assert_eq!(input, at(1_050, Need::PinNotSeen));
    let seen = due(&pinned(Part::Input), fine(), &policy(), false, NOW);
    assert_eq!(seen, Due::Not(NotDue::NotNeeded));
    let put = due(&pinned(Part::NoInput), unseen, &policy(), false, NOW);
    assert_eq!(put, Due::Not(NotDue::NotNeeded));
    let not_pinned = due(&resource(Part::Input), unseen, &policy(), false, NOW);
    assert_eq!(not_pinned, Due::Not(NotDue::NotNeeded));
}

#[test]
fn the_nearest_word_about_the_interval_counts() {
    let own = Some(Interval::Every(seconds(5)));
    for (every, has_webhook, expected) in [
        (None, false, Interval::Every(seconds(60))),
        (None, true, Interval::Every(seconds(3_600))),
        (own, false, Interval::Every(seconds(5))),
        (own, true, Interval::Every(seconds(5))),
        (Some(Interval::Never), true, Interval::Never),
    ] {
        let rule = CheckRule { every, has_webhook };
        assert_eq!(policy().of_resource(rule), expected, "{rule:?}");
    }
    assert_eq!(
        policy().of_resource_type(None),
        Interval::Every(seconds(90))
    );
    assert_eq!(policy().of_resource_type(own), Interval::Every(seconds(5)));
}

#[test]
fn never_and_paused() {
    let mut silent = resource(Part::Trigger);
    silent.check.every = Some(Interval::Never);
    let got = due(&silent, CheckFacts::default(), &policy(), false, NOW);
    assert_eq!(got, Due::Not(NotDue::Never));
    let got = due(&resource(Part::Trigger), fine(), &policy(), true, NOW);
    assert_eq!(got, Due::Not(NotDue::PipelinePaused));
}

#[test]
fn failures_back_off_up_to_a_limit() {
    let policy = policy();
    for (interval, failures, expected) in [
        (60, 0, 60),
        (60, 1, 60),
        (60, 2, 120),
        (60, 4, 480),
        (60, 5, 600),
        (60, u32::MAX, 600),
        (3_600, 9, 3_600),
        (0, 9, 0),
    ] {
        let wait = policy.wait(seconds(interval), failures);
        assert_eq!(wait, seconds(expected), "{interval} {failures}");
    }
}

#[test]
fn a_clock_that_was_set_back_silences_nobody() {
    let ahead = CheckFacts {
        last_end: Some(Moment(5_000 * SECOND)),
        ..fine()
    };
    let got = due(&resource(Part::Trigger), ahead, &policy(), false, NOW);
    assert_eq!(got, at(1_060, Need::Trigger));
    assert_eq!(Moment(i64::MAX).after(seconds(1)), Moment(i64::MAX));
}
