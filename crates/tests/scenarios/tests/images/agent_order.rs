//! The order of a node's pulls, their number at once, and pins. Needs a cluster: see `make
//! test-cluster-all`.

use crate::support::agent::Stage;
use crate::support::shelf::Image;
use airside_scenarios::wait_until;
use serde_json::json;

/// Returns the images in this state.
fn in_state<'a>(stage: &Stage, images: &'a [Image], state: &str) -> Vec<&'a str> {
    let told = images
        .iter()
        .filter(|image| stage.told(image)["state"] == state);
    told.map(|image| image.name.as_str()).collect()
}

#[test]
fn few_are_pulled_at_once_the_biggest_first_and_no_failure_is_any_of_it() {
    let Some(stage) = Stage::with_agent(&["--pulls-at-once=2"]) else {
        return;
    };
    let images: [Image; 4] =
        [1, 4, 2, 3].map(|size| stage.shelf.image(&format!("app{size}:1"), size));
    stage.shelf.hold(true);
    stage.set("one", &images.each_ref(), json!({}));
    wait_until("the two biggest are under way", || {
        in_state(&stage, &images, "pulling") == [images[1].name.as_str(), &images[3].name]
    });
    assert_eq!(stage.shelf.waiting(), 2, "and no other");
    assert_eq!(in_state(&stage, &images, "pending").len(), 2);
    stage.shelf.hold(false);
    stage.wait_for_labels(4, "=present");
    assert!(
        images
            .iter()
            .all(|image| stage.shelf.fetched(&image.layer) == 1)
    );
}

#[test]
fn a_set_whose_priority_is_raised_goes_before_others_that_wait() {
    let Some(stage) = Stage::with_agent(&["--pulls-at-once=1"]) else {
        return;
    };
    let [first, second, urgent] =
        [3, 2, 1].map(|size| stage.shelf.image(&format!("app{size}:1"), size));
    stage.shelf.hold(true);
    stage.set("many", &[&first, &second], json!({}));
    stage.set("urgent", &[&urgent], json!({}));
    stage.wait_for_state(&first, "pulling");
    stage.wait_for_state(&urgent, "pending");
    stage.set("urgent", &[&urgent], json!({"priority": 5}));
    stage.shelf.hold(false);
    stage.wait_for_labels(3, "=present");
    let order: Vec<String> = [&first, &urgent, &second]
        .map(|image| image.layer.clone())
        .into();
    assert_eq!(stage.shelf.layers_in_order(), order);
}

#[test]
fn pins_stay_within_their_budget_the_highest_priority_first() {
    let Some(mut stage) = Stage::with_agent(&["--pin-budget=5"]) else {
        return;
    };
    let (one, other) = (
        stage.shelf.image("one:1", 3),
        stage.shelf.image("other:1", 4),
    );
    stage.set("one", &[&one], json!({"priority": 1}));
    stage.set("other", &[&other], json!({}));
    stage.wait_for_labels(2, "=present");
    let pinned = || [&one, &other].map(|image| stage.marks(image).contains("pinned=pinned"));
    wait_until("the first is pinned, and the other does not fit", || {
        pinned() == [true, false]
    });
    stage.set("other", &[&other], json!({"priority": 2}));
    wait_until("the other goes first", || pinned() == [false, true]);
    assert_eq!(stage.told(&one)["pinned"], false);
    stage.set("other", &[&other], json!({"priority": 2, "pinned": false}));
    wait_until("there is room again", || pinned() == [true, false]);
    stage.kill_9();
}
