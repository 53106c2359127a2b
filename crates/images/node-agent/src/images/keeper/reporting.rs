//! Reports of a turn to the cluster, as few as possible.

use std::time::{Duration, Instant};

use airside_containerd::ContainerdError;
use airside_image_rules::{NodeImagesStatus, plan::Plan};
use airside_model::chain;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use tracing::warn;

use super::{Keeper, Observation, WrittenStatus};
use crate::images::{
    report::{self, ReportInput},
    watch::DesiredState,
};

/// Time after which a pin that we set in the runtime should show in what the kubelet sees. It
/// mostly does so soon that the turn waits for it.
const SHOWS_SOON: Duration = Duration::from_millis(500);
/// Time after which a runtime that has not shown a pin will not show it.
const SHOWS_WITHIN: Duration = Duration::from_secs(10);

/// Time since which the runtime has not shown a pin of the agent, if it does not.
#[derive(Debug, Default)]
pub(super) struct PinVisibility(Option<Instant>);

impl PinVisibility {
    /// Returns the time until it is certain that pins do not show.
    pub(super) fn known_in(&self) -> Option<Duration> {
        let waited = self.0?.elapsed();
        (waited < SHOWS_WITHIN).then(|| SHOWS_WITHIN - waited)
    }

    /// Returns true if pins may show any moment.
    pub(super) fn is_new(&mut self, shown: Option<bool>, now: Instant) -> bool {
        self.judge(shown, now);
        self.0
            .is_some_and(|since| now.saturating_duration_since(since) < SHOWS_SOON)
    }

    /// Returns true if pins show, and none while that is still open.
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
    /// Reports the node's images if they changed or a heartbeat is due. Returns false if the write
    /// failed.
    pub(super) async fn report(
        &mut self,
        known: &DesiredState,
        observation: &Observation,
        plan: &Plan,
    ) -> bool {
        let seen = ReportInput {
            now: observation.now,
            wants: &known.wants,
            found: &observation.found,
            plan,
            usage: observation.usage,
            pressure: known.node.pressure,
            rules: &self.settings.rules,
        };
        let mut status = report::status(&seen, &mut self.memory);
        let begun = report::just_begun(&seen, &self.memory);
        status.boot_id.clone_from(&known.node.boot_id);
        status.conditions = self.conditions(observation);
        let is_due = self.written_status.as_ref().is_none_or(|written| {
            written.at.elapsed() >= self.settings.heartbeat
                || written.status.heartbeat.is_none()
                || report::essence(&written.status, &begun) != report::essence(&status, &begun)
        });
        if !is_due {
            return true;
        }
        status.heartbeat = Some(Time(observation.now));
        self.write(known, status).await
    }

    fn conditions(&mut self, observation: &Observation) -> Vec<Condition> {
        let shown = observation.lists.pins_show();
        let pins = self.pin_visibility.judge(shown, Instant::now());
        let before = self
            .written_status
            .as_ref()
            .map(|written| &written.status.conditions[..]);
        let before = before.unwrap_or_default();
        let of = |kind, state, words: &str| {
            report::condition(before, kind, state, words, observation.now)
        };
        let mut conditions = vec![of("RuntimeReachable", Ok("Answers"), "")];
        match pins {
            // The last condition stays until more is known.
            None if shown.is_some() => {
                let last = before.iter().find(|written| written.type_ == "PinVisible");
                conditions.extend(last.cloned());
            }
            None => {}
            Some(true) => conditions.push(of("PinVisible", Ok("Shown"), "")),
            Some(false) => {
                let words = "the runtime does not show the agent's pins to the kubelet, \
                             which may remove these images";
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

    /// Reports that the runtime does not answer. The last status stays, without a heartbeat that
    /// would confirm it.
    pub(super) async fn report_unobserved(
        &mut self,
        known: &DesiredState,
        error: &ContainerdError,
    ) {
        let mut status = self
            .written_status
            .as_ref()
            .map(|written| written.status.clone())
            .unwrap_or_default();
        let away = report::condition(
            &status.conditions,
            "RuntimeReachable",
            Err("Away"),
            &chain(&error),
            Timestamp::now(),
        );
        status
            .conditions
            .retain(|condition| condition.type_ != away.type_);
        status.conditions.push(away);
        if self
            .written_status
            .as_ref()
            .is_none_or(|written| written.status != status)
        {
            self.write(known, status).await;
        }
    }

    async fn write(&mut self, known: &DesiredState, status: NodeImagesStatus) -> bool {
        match self.cluster.write_status(&known.node.uid, &status).await {
            Ok(()) => {
                let at = Instant::now();
                self.written_status = Some(WrittenStatus { status, at });
                true
            }
            Err(error) => {
                warn!(
                    error = %chain(&error),
                    "status of NodeImages not written"
                );
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
        let (mut pin_visibility, start) = (PinVisibility::default(), Instant::now());
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
                pin_visibility.judge(shown, at(second)),
                expected,
                "second {second}"
            );
        }
        assert!(pin_visibility.is_new(Some(false), at(16)));
        assert!(!pin_visibility.is_new(Some(false), at(17)));
        assert!(!pin_visibility.is_new(Some(true), at(18)));
    }
}
