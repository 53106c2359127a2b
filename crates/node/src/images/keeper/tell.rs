//! What a turn tells the cluster, as seldom as it can.

use std::time::Instant;

use airside_image_sets::{NodeImagesStatus, plan::Plan};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use tracing::warn;

use super::{Keeper, Said, Sight};
use crate::{
    images::{
        report::{self, Seen},
        watch::Known,
    },
    runtime::RuntimeError,
};

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

    fn conditions(&self, sight: &Sight) -> Vec<Condition> {
        let before = self.said.as_ref().map(|said| &said.status.conditions[..]);
        let of = |kind, state, words: &str| {
            report::condition(before.unwrap_or_default(), kind, state, words, sight.now)
        };
        let mut conditions = vec![of("RuntimeReachable", Ok("Answers"), "")];
        match sight.lists.pins_show() {
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
                warn!(%error, "what this node has could not be told");
                false
            }
        }
    }
}
