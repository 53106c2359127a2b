//! Futures whose panic is caught.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    task::Poll,
};

use tokio::task::JoinHandle;

use crate::panics::{self, Inside};

type Payload = Box<dyn Any + Send>;

/// A panic that was caught, logged and counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fault in Airside ended this: {message}")]
pub struct Panicked {
    /// The panic's message, with the place in the source where that is known.
    pub message: String,
}

/// Starts a task whose panic is logged and counted under `name`, and ends nothing else. The handle
/// logs the panic like any other task's.
#[track_caller]
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    tokio::spawn(named(name, future))
}

/// Logs and counts a panic of the future under `name`, then lets it end the task that the future is
/// part of.
pub async fn named<F: Future>(name: &'static str, future: F) -> F::Output {
    match catch(name, future).await {
        Ok(output) => output,
        Err((_, payload)) => resume_unwind(payload),
    }
}

/// Logs and counts a panic of the future under `name`, and hands it to the caller as an error.
pub async fn caught<F: Future>(name: &'static str, future: F) -> Result<F::Output, Panicked> {
    catch(name, future).await.map_err(|(panicked, _)| panicked)
}

/// Runs work that blocks on a thread for such work. A panic is logged and counted under `name`, and
/// handed to the caller as an error.
pub async fn blocking<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    let done = tokio::task::spawn_blocking(move || {
        let _inside = Inside::enter();
        // The work is used up by a panic, so nothing sees a state that is half changed.
        catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Panicked {
            message: panics::report(name, &*payload),
        })
    });
    match done.await {
        Ok(done) => done,
        // The runtime took the thread away because the program ends, and this future with it: a
        // build must not be errored for that.
        Err(_) => std::future::pending().await,
    }
}

async fn catch<F: Future>(name: &'static str, future: F) -> Result<F::Output, (Panicked, Payload)> {
    let mut future = pin!(future);
    let polled = poll_fn(|context| {
        let _inside = Inside::enter();
        // The future is never polled again after a panic, so nothing sees a state that is half
        // changed.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    });
    polled.await.map_err(|payload| {
        let message = panics::report(name, &*payload);
        (Panicked { message }, payload)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(name: &str) -> u64 {
        let counted = crate::panics();
        let found = counted.iter().find(|(known, _)| *known == name);
        found.map_or(0, |(_, count)| *count)
    }

    #[tokio::test]
    async fn a_panic_ends_its_task_alone_and_is_counted() {
        let ended = spawn("caught.rs spawn", async { panic!("of a task") }).await;
        assert!(ended.is_err_and(|error| error.is_panic()));
        assert_eq!(spawn("caught.rs well", async { 3 }).await.ok(), Some(3));
        assert_eq!(count("caught.rs spawn"), 1);
        assert_eq!(count("caught.rs well"), 0);
    }

    #[tokio::test]
    async fn a_caught_panic_has_its_words() {
        let text = "of a request".to_owned();
        let ended = caught("caught.rs caught", async { panic!("{text}") });
        let panicked: Panicked = ended.await.map(|(): ()| "no panic").unwrap_err();
        assert!(panicked.message.contains("of a request"), "{panicked}");
        assert_eq!(count("caught.rs caught"), 1);
    }

    #[tokio::test]
    async fn a_panic_after_a_wait_is_caught_too() {
        let ended = caught("caught.rs late", async {
            tokio::task::yield_now().await;
            panic!("late")
        });
        assert!(Result::<(), _>::is_err(&ended.await));
    }

    #[tokio::test]
    async fn a_panic_of_blocking_work_is_an_error_of_its_caller() {
        let ended = blocking("caught.rs blocking", || panic!("of a thread")).await;
        let panicked: Panicked = ended.map(|(): ()| "no panic").unwrap_err();
        assert!(panicked.message.contains("of a thread"), "{panicked}");
        assert_eq!(count("caught.rs blocking"), 1);
        assert_eq!(blocking("caught.rs well", || 3).await, Ok(3));
    }

    #[tokio::test]
    async fn nested_panics_are_told_once() {
        let inner = caught("caught.rs inner", async { panic!("inner") });
        let outer = caught("caught.rs outer", inner).await;
        assert!(outer.is_ok_and(|inner: Result<(), _>| inner.is_err()));
        assert_eq!(count("caught.rs inner"), 1);
        assert_eq!(count("caught.rs outer"), 0);
    }
}
