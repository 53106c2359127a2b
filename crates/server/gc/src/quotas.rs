//! Metrics of what teams use of their quotas.

use airside_model::Quota;

use crate::{Collector, Result};

impl Collector {
    /// Reports to the metrics what teams use, as far as they have quotas.
    pub async fn report_quotas(&self) -> Result<()> {
        let mut uses = self.parts.store.quota_uses().await?;
        for each in &mut uses {
            if each.quota == Quota::Registry {
                each.used = self.parts.workers.registry_use(&each.team).await;
            }
        }
        let uses = uses.iter();
        let told = uses.map(|each| (&*each.team, each.quota.name(), each.used, each.limit));
        self.parts.metrics.quotas(told);
        Ok(())
    }
}
