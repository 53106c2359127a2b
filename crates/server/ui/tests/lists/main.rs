//! Snapshots of pages that are lists, in their states.

mod builds;
mod causality;
mod job;
mod login;
mod resource;
mod team;
mod workers;

use airside_ui::{Page, SendButton, Shell};

/// Takes a snapshot of a page's content, and checks what all pages keep.
#[track_caller]
fn snapshot(name: &str, page: &Page) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, &page.body);
    });
    let whole = page.render(&Shell::default());
    for unsafe_part in [
        " style=",
        "<style",
        "=\"javascript:",
        " onclick=",
        "<script>",
    ] {
        assert!(!whole.contains(unsafe_part), "{unsafe_part}");
    }
    assert_eq!(whole.matches("<h1").count(), 1, "one heading");
    let ids = whole.split(" id=\"").skip(1);
    let mut ids: Vec<_> = ids.filter_map(|rest| rest.split('"').next()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "each id once");
}

/// A name that tries to be markup.
const HOSTILE: &str = "a/b?c#\"><script>alert('🦀')</script>";

fn button(text: &str) -> SendButton {
    SendButton::new(
        "PUT",
        format!("/api/v1/{}", text.to_lowercase()),
        text,
        "i-pause",
    )
}
