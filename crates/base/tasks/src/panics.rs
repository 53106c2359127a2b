//! The record of panics: their number, and the message of each.

use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    cell::{Cell, RefCell},
    collections::BTreeMap,
    panic::PanicHookInfo,
};

use parking_lot::Mutex;
use tracing::error;

/// The name under which panics outside of any task are counted: those of blocking threads, say.
const THREAD: &str = "thread";

/// The longest message of a panic that is kept; a message may hold input.
const MAX_MESSAGE_BYTES: usize = 2000;

static COUNTS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Number of futures that catch panics and that this thread is polling, one inside the other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The place of the panic that is being caught.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns the number of panics in each task since the program began.
pub fn panics() -> Vec<(&'static str, u64)> {
    let counts = COUNTS.lock();
    counts.iter().map(|(name, count)| (*name, *count)).collect()
}

/// Makes panics lines of the log, in place of text on standard error. To be called once, after the
/// log was started.
pub fn log_panics() {
    std::panic::set_hook(Box::new(hook));
}

/// A mark that panics of this thread are caught for as long as it lives.
pub(crate) struct Inside(());

impl Inside {
    pub(crate) fn enter() -> Self {
        DEPTH.set(DEPTH.get().saturating_add(1));
        Self(())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
}

fn hook(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    let place = match Backtrace::capture() {
        trace if trace.status() == BacktraceStatus::Captured => {
            place.map(|place| format!("{place}\n{trace}"))
        }
        _ => place,
    };
    // A program that ends at a panic catches none.
    if cfg!(panic = "unwind") && DEPTH.get() > 0 {
        // The future that catches it has the name, and logs it.
        return PLACE.set(place);
    }
    count(THREAD);
    let message = said(info.payload(), place.as_deref());
    let thread = std::thread::current();
    error!(
        thread = thread.name().unwrap_or_default(),
        panic = %message,
        "thread panicked"
    );
}

/// Logs and counts a panic; its message.
pub(crate) fn report(name: &'static str, payload: &(dyn Any + Send)) -> String {
    count(name);
    let message = said(payload, PLACE.take().as_deref());
    error!(task = name, panic = %message, "task panicked");
    message
}

fn count(name: &'static str) {
    let mut counts = COUNTS.lock();
    let count = counts.entry(name).or_default();
    *count = count.saturating_add(1);
}

fn said(payload: &dyn Any, place: Option<&str>) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words");
    let end = text.floor_char_boundary(MAX_MESSAGE_BYTES);
    match place {
        Some(place) => format!("{} ({place})", &text[..end]),
        None => text[..end].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_bounded_and_say_where() {
        let long = "ä".repeat(MAX_MESSAGE_BYTES);
        assert!(said(&long, None).len() <= MAX_MESSAGE_BYTES);
        assert_eq!(said(&"words", Some("a.rs:1:2")), "words (a.rs:1:2)");
        assert_eq!(said(&3, None), "a panic without words");
    }
}
