//! Keeps a client from asking an API server more than its entry allows.
//!
//! Requests beyond the rate wait their turn; none is refused. The client hands its requests to one
//! service, so it is enough to count where that service says that it is ready.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};
use tower::{Layer, Service};

/// The limit on requests to the API server: `qps` requests a second in the long run, `burst` of
/// them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub qps: u32,
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            qps: 50,
            burst: 100,
        }
    }
}

/// Makes services that keep to a rate.
#[derive(Clone, Copy)]
pub struct RateLayer(pub Rate);

impl<S> Layer<S> for RateLayer {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        let spacing = Duration::from_secs(1) / self.0.qps.max(1);
        Limited {
            inner,
            bucket: Bucket::new(spacing, self.0.burst, Instant::now()),
            turn: None,
        }
    }
}

/// The time at which the next request may go: as if requests were spaced evenly, with a credit for
/// those that were not made.
struct Bucket {
    spacing: Duration,
    credit: Duration,
    /// Time at which the last request would have gone, spaced evenly.
    last: Instant,
}

impl Bucket {
    fn new(spacing: Duration, burst: u32, now: Instant) -> Self {
        let credit = spacing * burst.saturating_sub(1);
        let last = now.checked_sub(spacing + credit).unwrap_or(now);
        Self {
            spacing,
            credit,
            last,
        }
    }

    /// Takes the next turn; it may lie in the future.
    fn take(&mut self, now: Instant) -> Instant {
        let earliest = now.checked_sub(self.credit).unwrap_or(now);
        self.last = airside_model::deadline_after(self.last, self.spacing).max(earliest);
        self.last.max(now)
    }
}

/// A service whose requests wait for their turn.
pub struct Limited<S> {
    inner: S,
    bucket: Bucket,
    /// The turn that was taken for the next request.
    turn: Option<Pin<Box<Sleep>>>,
}

impl<R, S: Service<R>> Service<R> for Limited<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        let bucket = &mut self.bucket;
        let turn = self
            .turn
            .get_or_insert_with(|| Box::pin(sleep_until(bucket.take(Instant::now()))));
        ready!(turn.as_mut().poll(context));
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.turn = None;
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use tower::{ServiceExt, service_fn};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_goes_at_once_and_the_rest_evenly() {
        let service = service_fn(async |(): ()| Ok::<_, ()>(()));
        let mut limited = RateLayer(Rate { qps: 10, burst: 3 }).layer(service);
        let mut times = Vec::new();
        let mut ask = async |times: &mut Vec<u128>, start: Instant| {
            limited.ready().await.unwrap().call(()).await.unwrap();
            times.push(start.elapsed().as_millis());
        };
        let start = Instant::now();
        for _ in 0..5 {
            ask(&mut times, start).await;
        }
        assert!(times[2] < 5, "{times:?}");
        assert!((95..110).contains(&times[3]), "{times:?}");
        assert!((195..215).contains(&times[4]), "{times:?}");

        // Who has waited long enough may burst again, and no more than that.
        tokio::time::advance(Duration::from_secs(60)).await;
        let (start, mut times) = (Instant::now(), Vec::new());
        for _ in 0..4 {
            ask(&mut times, start).await;
        }
        assert!(times[2] < 5 && times[3] >= 95, "{times:?}");
    }
}
