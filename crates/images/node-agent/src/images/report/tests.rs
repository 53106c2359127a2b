use std::collections::BTreeMap;

use airside_image_rules::plan::Attempts;
use airside_oci::Reference;

use super::*;

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

fn want() -> DesiredPull {
    let name: Reference = "app:1".parse().unwrap();
    DesiredPull {
        wanted: DesiredImage {
            content: format!("app@{DIGEST}").parse().unwrap(),
            name,
            id: "sha256:1".to_owned(),
            size: 2_500_000,
            pinned: true,
            priority: 0,
            failures_before_error: 3,
        },
        needs_login: false,
        generation: 1,
    }
}

/// The one image of a look at this time.
fn told(
    state: PlannedState,
    memory: &mut PullMemory,
    found: &[ObservedImage],
    now: Timestamp,
) -> NodeImage {
    let plan = Plan {
        states: vec![state],
        ..Plan::default()
    };
    let seen = ReportInput {
        now,
        wants: &[want()],
        found,
        plan: &plan,
        usage: Usage {
            used: 80,
            capacity: 100,
        },
        pressure: false,
        rules: &DiskRules::default(),
    };
    let status = status(&seen, memory);
    let [image] = &status.images[..] else {
        panic!("{status:?}")
    };
    image.clone()
}

fn waiting(state: NodeImageState, waiting: Waiting) -> PlannedState {
    PlannedState {
        state,
        waiting: Some(waiting),
    }
}

fn failed() -> PullMemory {
    let attempts = Attempts::default().failed(at(1));
    let content = want().wanted.content.to_string();
    PullMemory {
        attempts: BTreeMap::from([(content.clone(), attempts)]),
        words: BTreeMap::from([(content, "no such host".to_owned())]),
        ..PullMemory::default()
    }
}

#[test]
fn a_failure_is_told_with_its_words_and_the_next_try() {
    let state = waiting(NodeImageState::Pending, Waiting::Until(at(6)));
    let image = told(state, &mut failed(), &[], at(2));
    assert_eq!(image.message, "no such host");
    assert_eq!((image.attempts, image.next_try), (1, Some(Time(at(6)))));
    assert_eq!(image.since, Some(Time(at(1))));
    assert_eq!(image.size_bytes, 2_500_000);
}

#[test]
fn what_was_told_of_a_failure_is_remembered_by_the_next_agent() {
    let state = waiting(NodeImageState::Pending, Waiting::Until(at(6)));
    let said = NodeImagesStatus {
        images: vec![told(state, &mut failed(), &[], at(2))],
        ..NodeImagesStatus::default()
    };
    let mut memory = PullMemory::default();
    memory.recall(&said);
    assert_eq!(memory.attempts, failed().attempts);
    assert_eq!(memory.words, failed().words);
    assert!(memory.broken_off.is_empty());
}

#[test]
fn what_was_taken_away_for_room_is_remembered_by_the_next_agent() {
    let mut memory = PullMemory::default();
    memory.collected(&want().wanted);
    let state = waiting(NodeImageState::Pending, Waiting::Room);
    let image = told(state.clone(), &mut memory, &[], at(2));
    assert!(image.collected && image.message.starts_with("the image was removed"));
    let said = NodeImagesStatus {
        images: vec![image],
        ..NodeImagesStatus::default()
    };
    let mut next = PullMemory::default();
    next.recall(&said);
    assert_eq!(next.attempts, memory.attempts);
    assert!(next.words.is_empty());
    let present = PlannedState {
        state: NodeImageState::Present,
        waiting: None,
    };
    assert!(
        !told(present, &mut next, &[], at(3)).collected,
        "it is there"
    );

    // Its label goes before it, and it is told with that already.
    let plan = Plan {
        states: vec![state],
        steps: vec![Step::Remove {
            id: want().wanted.id,
        }],
        ..Plan::default()
    };
    let seen = ReportInput {
        now: at(2),
        wants: &[want()],
        found: &[],
        plan: &plan,
        usage: Usage::default(),
        pressure: false,
        rules: &DiskRules::default(),
    };
    assert!(status(&seen, &mut PullMemory::default()).images[0].collected);
}

#[test]
fn a_state_has_the_time_at_which_it_began() {
    let mut memory = PullMemory::default();
    let present = PlannedState {
        state: NodeImageState::Present,
        waiting: None,
    };
    let found = ObservedImage {
        id: "sha256:1".to_owned(),
        size: 7,
        pin: Pin::Ours,
        ..ObservedImage::default()
    };
    let first = told(
        present.clone(),
        &mut memory,
        std::slice::from_ref(&found),
        at(0),
    );
    let later = told(present, &mut memory, &[found], at(9));
    assert_eq!((first.size_bytes, first.pinned), (7, true));
    assert_eq!(first, later, "nothing to write");
    let gone = told(
        waiting(NodeImageState::Pending, Waiting::Turn),
        &mut memory,
        &[],
        at(12),
    );
    assert_eq!(gone.since, Some(Time(at(12))));
}

#[test]
fn a_lack_of_room_is_explained() {
    let state = waiting(NodeImageState::Pending, Waiting::Room);
    let image = told(state.clone(), &mut PullMemory::default(), &[], at(0));
    assert_eq!(
        image.message,
        "there is no room: 3 MB do not fit below the high mark of 75%"
    );
    let mut memory = PullMemory::default();
    memory.collected(&want().wanted);
    let image = told(state, &mut memory, &[], at(0));
    assert!(
        image.message.contains("below the low mark of 65%"),
        "{}",
        image.message
    );
}

#[test]
fn a_full_disk_says_why_nothing_is_added() {
    let plan = Plan::default();
    let rules = DiskRules::default();
    let mut seen = ReportInput {
        now: at(0),
        wants: &[],
        found: &[],
        plan: &plan,
        usage: Usage {
            used: 74,
            capacity: 100,
        },
        pressure: false,
        rules: &rules,
    };
    assert_eq!(full(&seen), "");
    seen.usage.used = 75;
    insta::assert_snapshot!(full(&seen), @"the file system of images is at its high mark of 75%: nothing is added; what was pulled for sets and is not in use goes until 65%");
    seen.pressure = true;
    assert!(full(&seen).starts_with("the node is under disk pressure"));
}

#[test]
fn numbers_of_the_disk_alone_are_nothing_to_write() {
    let one = NodeImagesStatus {
        heartbeat: Some(Time(at(0))),
        disk: Some(Disk {
            used: "1%".to_owned(),
            capacity_bytes: 5,
            ..Disk::default()
        }),
        ..NodeImagesStatus::default()
    };
    let mut other = one.clone();
    (other.heartbeat, other.disk.as_mut().unwrap().used) = (Some(Time(at(9))), "2%".to_owned());
    assert_eq!(essence(&one, &[]), essence(&other, &[]));
    let image = NodeImage {
        image: "app".to_owned(),
        ..NodeImage::default()
    };
    other.images.push(image);
    assert_ne!(essence(&one, &[]), essence(&other, &[]));
    let begun = ["app".to_owned()];
    assert_eq!(essence(&one, &begun), essence(&other, &begun));
}

#[test]
fn a_condition_keeps_its_time_while_it_says_the_same() {
    let one = condition(&[], "PinVisible", Ok("Shown"), "", at(0));
    let same = condition(
        std::slice::from_ref(&one),
        "PinVisible",
        Ok("Shown"),
        "",
        at(5),
    );
    assert_eq!(one, same);
    let other = condition(&[one], "PinVisible", Err("NotShown"), "", at(5));
    assert_eq!(other.last_transition_time, Time(at(5)));
}

#[test]
fn a_set_that_is_edited_begins_anew() {
    let content = want().wanted.content.to_string();
    let mut memory = failed();
    memory.keep_only(&[want()]);
    assert_eq!(
        memory.attempts[&content].failures, 1,
        "seen for the first time"
    );
    memory.keep_only(&[want()]);
    assert_eq!(memory.attempts[&content].failures, 1);
    let edited = DesiredPull {
        generation: 2,
        ..want()
    };
    memory.keep_only(&[edited]);
    assert_eq!(memory.attempts[&content].failures, 0);
    memory.keep_only(&[]);
    assert!(memory.attempts.is_empty() && memory.words.is_empty());
}
