//! Attends to a target: its API server's answers, and what the target lacks. Two tasks, so that a
//! slow probe does not delay the notice that the server is gone.

use std::{sync::Arc, time::Duration};

use airside_model::InstallationId;
use airside_runtime::{Condition, Lack};
use kube::Client;
use tokio::{
    sync::{Notify, watch},
    task::AbortHandle,
    time::Instant,
};
use tracing::{info, warn};

use crate::{network_policy, preflight::Preflight, targets::Target};

/// Interval between two requests to a server that answers.
const PULSE: Duration = Duration::from_secs(10);
/// Interval between two requests to a server that does not answer.
const ANXIOUS: Duration = Duration::from_secs(1);
/// Pause before the next look for what is lacking, at first and when a step wanted it: an
/// administrator may have mended it. As long as the answer stays the same, each pause is twice the
/// one before.
const MIN_PREFLIGHT_PAUSE: Duration = Duration::from_secs(30);
/// The longest of these pauses, and the pause where nothing is lacking.
const MAX_PREFLIGHT_PAUSE: Duration = Duration::from_secs(10 * 60);
/// Pause before another try to find out what could not be found out.
const DOUBT_PAUSE: Duration = Duration::from_secs(3);

/// Starts both; they end with the handle.
pub(crate) fn start(
    target: &Target,
    installation: &InstallationId,
    client: &Client,
) -> (watch::Receiver<Condition>, Doubts, AbortHandle) {
    let (condition, receiver) = watch::channel(Condition {
        not_offered: target.not_offered(),
        ..Condition::default()
    });
    let doubts = Doubts::default();
    let attendant = Attendant {
        target: target.clone(),
        client: client.clone(),
        condition,
        doubts: doubts.clone(),
    };
    let preflight = Preflight::new(target, installation, client);
    let parts = Arc::new((attendant, preflight));
    let attending = airside_tasks::restart("target", move || {
        let parts = parts.clone();
        async move {
            let (attendant, preflight) = &*parts;
            tokio::join!(attendant.feel_pulse(), attendant.look_for_lacks(preflight));
        }
    });
    (receiver, doubts, attending.abort_handle())
}

struct Attendant {
    target: Target,
    client: Client,
    condition: watch::Sender<Condition>,
    doubts: Doubts,
}

/// The signal to look now for what is lacking: the server answers again, or has refused what it
/// allowed before.
#[derive(Clone, Default)]
pub(crate) struct Doubts {
    raised: Arc<Notify>,
    wanted: Arc<Notify>,
}

impl Doubts {
    pub(crate) fn raise(&self) {
        self.raised.notify_one();
    }

    /// Notes that a step wanted what is lacking. Steps may want it all the time, so this alone
    /// makes no look come sooner than at first.
    pub(crate) fn wanted(&self) {
        self.wanted.notify_one();
    }

    /// Waits until it is time to look again: after `pause`, or sooner if there is a doubt.
    async fn next(&self, pause: Duration) {
        let asked = async {
            tokio::time::sleep(MIN_PREFLIGHT_PAUSE).await;
            self.wanted.notified().await;
        };
        tokio::select! {
            () = self.raised.notified() => {}
            () = asked => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Returns the pause before the next look: shorter where something is lacking, and ever longer as
/// long as it stays the same.
fn pause(lacks: &[Lack], before: Option<&[Lack]>, last: Duration) -> Duration {
    match before {
        _ if lacks.is_empty() => MAX_PREFLIGHT_PAUSE,
        Some(before) if before == lacks => {
            (last * 2).clamp(MIN_PREFLIGHT_PAUSE, MAX_PREFLIGHT_PAUSE)
        }
        _ => MIN_PREFLIGHT_PAUSE,
    }
}

/// An API server's answer to a request that every account may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pulse {
    Answers,
    /// The API server does not know us (any more): the account is gone, or its credentials have run
    /// out.
    Unknown,
    Silent,
}

impl Pulse {
    fn of(answer: Result<(), &kube::Error>) -> Self {
        match answer {
            Ok(()) => Self::Answers,
            Err(kube::Error::Api(status)) if status.code == 401 => Self::Unknown,
            // Any other answer will do, be it a refusal.
            Err(kube::Error::Api(status)) if status.code < 500 => Self::Answers,
            Err(_) => Self::Silent,
        }
    }

    /// Returns the reason why nothing can be placed, after it has been so for a while.
    fn trouble(self, after: Duration) -> Option<String> {
        let seconds = after.as_secs();
        match self {
            Self::Answers => None,
            Self::Unknown => Some(format!(
                "its API server has not accepted its credentials for {seconds} s; renew them, or make its \
                 account again (`airside k8s rbac`)"
            )),
            Self::Silent => Some(format!("its API server has not answered for {seconds} s")),
        }
    }
}

impl Attendant {
    async fn feel_pulse(&self) {
        let after = self.target.stalled_after;
        let mut well = Instant::now();
        let mut away = false;
        loop {
            let trouble = self.pulse().await.trouble(after);
            let pause = match trouble {
                None => {
                    well = Instant::now();
                    self.revive();
                    if std::mem::take(&mut away) {
                        self.doubts.raise();
                    }
                    PULSE.min(after / 2)
                }
                Some(words) => {
                    away = true;
                    if well.elapsed() >= after {
                        self.stall(words);
                    }
                    ANXIOUS
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn pulse(&self) -> Pulse {
        let question = http::Request::get("/version").body(Vec::new());
        let question = question.expect("a fixed path is a valid request");
        let answer = self.client.request_text(question);
        match tokio::time::timeout(self.target.stalled_after, answer).await {
            Ok(answer) => Pulse::of(answer.as_ref().map(|_| ())),
            Err(_) => Pulse::Silent,
        }
    }

    fn stall(&self, words: String) {
        self.condition.send_if_modified(|condition| {
            let fresh = condition.stalled.as_ref() != Some(&words);
            if fresh {
                warn!(worker = %self.target.name, reason = words, "worker stalled");
                condition.stalled = Some(words);
            }
            fresh
        });
    }

    fn revive(&self) {
        self.condition.send_if_modified(|condition| {
            let stalled = condition.stalled.take().is_some();
            if stalled {
                info!(worker = %self.target.name, "worker running: its API server answers");
            }
            stalled
        });
    }

    async fn look_for_lacks(&self, preflight: &Preflight) {
        let (mut before, mut last) = (None::<Vec<Lack>>, MIN_PREFLIGHT_PAUSE);
        loop {
            let Ok(lacks) = preflight.run().await else {
                self.doubts.next(DOUBT_PAUSE).await;
                continue;
            };
            let lacks = self.learn_all(preflight, lacks).await;
            last = pause(&lacks, before.as_deref(), last);
            before = Some(lacks);
            self.doubts.next(last).await;
        }
    }

    /// Finds out what the target lacks, and returns what can be mended. The answers to `asked` are
    /// known at once; a pod takes its time.
    async fn learn_all(&self, preflight: &Preflight, asked: Vec<Lack>) -> Vec<Lack> {
        let remarks: Vec<Lack> = network_policy::warning(&self.target).into_iter().collect();
        let learn = |nodes: &[Lack]| self.learn([&asked[..], nodes, &remarks].concat());
        learn(&preflight.known_of_nodes());
        if let Some(found) = preflight.look_at_nodes(&asked).await {
            learn(&found);
        }
        [asked, preflight.known_of_nodes()].concat()
    }

    /// Says what is new, once.
    fn learn(&self, lacks: Vec<Lack>) {
        self.condition.send_if_modified(|condition| {
            if condition.lacks == lacks {
                return false;
            }
            let worker = &self.target.name;
            for lack in lacks.iter().filter(|lack| !condition.lacks.contains(lack)) {
                let shapes: Vec<String> = lack.shapes.iter().map(ToString::to_string).collect();
                warn!(%worker, cannot_run = shapes.join(", "), reason = lack.why, "worker cannot run every step");
            }
            if lacks.is_empty() {
                info!(%worker, "worker can run every step");
            }
            condition.lacks = lacks;
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn what_stays_lacking_is_asked_for_ever_more_rarely() {
        let lack = |why: &str| Lack {
            shapes: Vec::new(),
            why: why.to_owned(),
        };
        let (one, other) = ([lack("one")], [lack("other")]);
        let (mut last, mut asked) = (MIN_PREFLIGHT_PAUSE, 0);
        let mut left = Duration::from_secs(24 * 3600);
        while let Some(rest) = left.checked_sub(last) {
            (last, left, asked) = (pause(&one, Some(&one), last), rest, asked + 1);
        }
        assert!(asked < 150, "{asked} times in a day");
        assert_eq!(last, MAX_PREFLIGHT_PAUSE);
        assert_eq!(
            pause(&other, Some(&one), last),
            MIN_PREFLIGHT_PAUSE,
            "it is news"
        );
        assert_eq!(
            pause(&[], Some(&one), MIN_PREFLIGHT_PAUSE),
            MAX_PREFLIGHT_PAUSE
        );
        assert_eq!(pause(&one, None, MIN_PREFLIGHT_PAUSE), MIN_PREFLIGHT_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn steps_that_want_what_is_lacking_make_it_looked_for_soon_but_not_at_once() {
        let doubts = Doubts::default();
        doubts.wanted();
        let before = Instant::now();
        doubts.next(MAX_PREFLIGHT_PAUSE).await;
        assert_eq!(before.elapsed(), MIN_PREFLIGHT_PAUSE);
        doubts.raise();
        let before = Instant::now();
        doubts.next(MAX_PREFLIGHT_PAUSE).await;
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[test]
    fn an_answer_is_told_from_silence_and_from_not_being_known() {
        let said = |code| kube::Error::Api(Status::failure("no", "Why").with_code(code).boxed());
        let unreachable = kube::Error::Service("connection refused".into());
        assert_eq!(Pulse::of(Ok(())), Pulse::Answers);
        for (error, expected) in [
            (said(403), Pulse::Answers),
            (said(404), Pulse::Answers),
            (said(401), Pulse::Unknown),
            (said(503), Pulse::Silent),
            (unreachable, Pulse::Silent),
        ] {
            assert_eq!(Pulse::of(Err(&error)), expected, "{error}");
        }
        let after = Duration::from_secs(30);
        let words = |pulse: Pulse| pulse.trouble(after).unwrap_or_default();
        assert_eq!(words(Pulse::Answers), "");
        assert_eq!(
            words(Pulse::Silent),
            "its API server has not answered for 30 s"
        );
        assert!(
            words(Pulse::Unknown)
                .starts_with("its API server has not accepted its credentials for 30 s")
        );
    }
}
