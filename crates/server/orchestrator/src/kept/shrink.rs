//! Marks for containers that stay, and smaller reservations for those that no person looks into.

use std::time::Duration;

use airside_store::{KeptContainer, Micros, now};

use crate::{Orchestrator, Result, container_ref::ContainerRef};

/// Most containers go with their build soon after their step: only those that stay longer are
/// marked.
const MARKED_AFTER: Duration = Duration::from_secs(10);

/// Returns true if nothing has happened in a kept container for this time.
fn is_idle(kept: &KeptContainer, idle_for: Duration, now: Micros) -> bool {
    let last = [
        Some(kept.kept_at),
        kept.checked_at,
        kept.container.hijacked_at,
    ];
    let last = last.into_iter().flatten().max();
    last.is_some_and(|last| now.since(last) >= idle_for)
}

impl Orchestrator {
    /// Asks runtimes to mark kept containers, and to make idle ones smaller. They know which they
    /// have done already.
    pub(crate) async fn shrink_kept(&self) -> Result<()> {
        for kept in self.parts.store.kept_containers().await? {
            let Some(entry) = self.parts.workers.get(&kept.container.worker) else {
                continue;
            };
            let handle = &kept.container.handle;
            // One for checks is at work.
            let stays = kept.checked_at.is_none() && now().since(kept.kept_at) >= MARKED_AFTER;
            if stays && let Err(error) = entry.runtime.mark_kept(handle).await {
                ContainerRef::from(&kept.container)
                    .log_failure(&error, "kept container not marked yet");
            }
            let Some(idle_for) = entry.runtime.kept().shrink_after else {
                continue;
            };
            if !is_idle(&kept, idle_for, now()) {
                continue;
            }
            if let Err(error) = entry.runtime.shrink(handle).await {
                ContainerRef::from(&kept.container)
                    .log_failure(&error, "kept container not made smaller yet");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::tests::{NOW, ago, failed};

    #[test]
    fn idle_since_whatever_happened_last() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let mut kept = failed("h");
        assert!(is_idle(&kept, hours(2), NOW));
        assert!(!is_idle(&kept, hours(3), NOW));
        kept.container.hijacked_at = Some(ago(1));
        assert!(is_idle(&kept, hours(1), NOW));
        assert!(!is_idle(&kept, hours(2), NOW));
        kept.checked_at = Some(NOW);
        assert!(!is_idle(&kept, hours(1), NOW));
    }
}
