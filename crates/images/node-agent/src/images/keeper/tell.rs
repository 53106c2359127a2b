//! What a turn tells the cluster, as seldom as it can.

use std::time::{Duration, Instant};

use airside_containerd::RuntimeError;
use airside_image_rules::{NodeImagesStatus, plan::Plan};
use airside_model::chain;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use tracing::warn;

use super::{Keeper, Said, Sight};
use crate::images::{
    report::{self, Seen},
    watch::Known,
};

/// What we mark in the runtime shows a moment later in what it tells the kubelet: mostly so soon that it is waited for.
const SHOWS_SOON: Duration = Duration::from_millis(500);
/// After this it will not.
const SHOWS_WITHIN: Duration = Duration::from_secs(10);

/// Since when the runtime has not shown a pin of ours.
#[derive(Debug, Default)]
pub(super) struct Unshown(Option<Instant>);

impl Unshown {
    /// How long until it can be said that it does not show.
    pub(super) fn known_in(&self) -> Option<Duration> {
        let waited = self.0?.elapsed();
        (waited < SHOWS_WITHIN).then(|| SHOWS_WITHIN - waited)
    }

    /// Whether it may show any moment.
    pub(super) fn is_new(&mut self, shown: Option<bool>, now: Instant) -> bool {
        self.judge(shown, now);
        self.0
            .is_some_and(|since| now.saturating_duration_since(since) < SHOWS_SOON)
    }

    /// Whether pins show, as far as that can be said: nothing while it may still come.
    fn judge(&mut self, shown: Option<bool>, now: Instant) -> Option<bool> {
        if shown != Some(false) {
            self.0 = None;
            return shown;
        }
        let since = *self.0.get_or_insert(now);
        (now.saturating_duration_since(since) >= SHOWS_WITHIN).then_some(false)
    }
}

impl Keeper {
    /// False if it could not be told.
    pub(super) async fn say(&mut self, known: &Known, sight: &Sight, plan: &Plan) -> bool {
        let seen = Seen {
            now: sight.now,
            wants: &known.wants,
            found: &sight.found,
            plan,
            usage: sight.usage,
            pressure: known.node.pressure,
            rules: &self.settings.rules,
        };
        let mut status = report::status(&seen, &mut self.memory);
        let begun = report::just_begun(&seen, &self.memory);
        status.boot_id.clone_from(&known.node.boot_id);
        status.conditions = self.conditions(sight);
        let is_due = self.said.as_ref().is_none_or(|said| {
            said.at.elapsed() >= self.settings.heartbeat
                || said.status.heartbeat.is_none()
                || report::essence(&said.status, &begun) != report::essence(&status, &begun)
        });
        if !is_due {
            return true;
        }
        status.heartbeat = Some(Time(sight.now));
        self.write(known, status).await
    }

    fn conditions(&mut self, sight: &Sight) -> Vec<Condition> {
        let shown = sight.lists.pins_show();
        let pins = self.unshown.judge(shown, Instant::now());
        let before = self.said.as_ref().map(|said| &said.status.conditions[..]);
        let before = before.unwrap_or_default();
        let of =
            |kind, state, words: &str| report::condition(before, kind, state, words, sight.now);
        let mut conditions = vec![of("RuntimeReachable", Ok("Answers"), "")];
        match pins {
            // What was said stands until more is known.
            None if shown.is_some() => {
                let said = before.iter().find(|said| said.type_ == "PinVisible");
                conditions.extend(said.cloned());
            }
            None => {}
            Some(true) => conditions.push(of("PinVisible", Ok("Shown"), "")),
            Some(false) => {
                let words = "the runtime does not show our pins to the kubelet, which may take these images away";
                conditions.push(of("PinVisible", Err("NotShown"), words));
            }
        }
        match &self.operator {
            None => {}
            Some(Ok(())) => conditions.push(of("OperatorReachable", Ok("Answers"), "")),
            Some(Err(words)) => conditions.push(of("OperatorReachable", Err("Away"), words)),
        }
        conditions.extend(self.mirror.borrow().clone());
        conditions
    }

    /// The runtime does not answer: what was said stands, without a heartbeat that would confirm it.
    pub(super) async fn say_blind(&mut self, known: &Known, error: &RuntimeError) {
        let mut status = self
            .said
            .as_ref()
            .map(|said| said.status.clone())
            .unwrap_or_default();
        let away = report::condition(
            &status.conditions,
            "RuntimeReachable",
            Err("Away"),
            &error.to_string(),
            Timestamp::now(),
        );
        status
            .conditions
            .retain(|condition| condition.type_ != away.type_);
        status.conditions.push(away);
        if self.said.as_ref().is_none_or(|said| said.status != status) {
            self.write(known, status).await;
        }
    }

    async fn write(&mut self, known: &Known, status: NodeImagesStatus) -> bool {
        match self.cluster.say(&known.node.uid, &status).await {
            Ok(()) => {
                let at = Instant::now();
                self.said = Some(Said { status, at });
                true
            }
            Err(error) => {
                warn!(error = %chain(&error), "what this node has could not be told");
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_that_does_not_show_at_once_is_no_news() {
        let (mut unshown, start) = (Unshown::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for (shown, second, expected) in [
            (None, 0, None),
            (Some(true), 1, Some(true)),
            // Just made.
            (Some(false), 2, None),
            (Some(true), 3, Some(true)),
            (Some(false), 4, None),
            (Some(false), 13, None),
            (Some(false), 14, Some(false)),
            (Some(true), 15, Some(true)),
            (Some(false), 16, None),
        ] {
            assert_eq!(
                unshown.judge(shown, at(second)),
                expected,
                "second {second}"
            );
        }
        assert!(unshown.is_new(Some(false), at(16)));
        assert!(!unshown.is_new(Some(false), at(17)));
        assert!(!unshown.is_new(Some(true), at(18)));
    }
}
