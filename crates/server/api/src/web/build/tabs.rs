//! The builds of a job around one of them.

use airside_model::{BuildId, BuildStatus};
use airside_store::{Build, BuildFilter, BuildPage, BuildRange};
use airside_ui::{BuildTab, BuildTabs};

use super::ShownBuild;
use crate::error::Result;

/// Number of builds in one strip.
const STRIP: i64 = 100;

impl ShownBuild<'_> {
    /// Returns the tabs, and the newest build that succeeded before this one, if it is near.
    pub(super) async fn tabs(&self) -> Result<(BuildTabs, Option<Build>)> {
        let Some(job) = self.build.job else {
            return Ok((BuildTabs::default(), None));
        };
        let filter = BuildFilter {
            job: Some(job),
            ..BuildFilter::default()
        };
        let list = async |range| {
            let page = BuildPage {
                limit: STRIP,
                range,
            };
            self.state.store.builds(&filter, page).await
        };
        let newest = list(BuildRange::ALL).await?;
        let asked = |name: &str| self.request.query(name)?.parse().ok().map(BuildId);
        let (older, newer) = (asked("older"), asked("newer"));
        let is_near = newest.iter().any(|build| build.id == self.build.id);
        let builds = match (older, newer) {
            (Some(to), _) => list(up_to(to)).await?,
            (None, Some(from)) => list(beyond(from)).await?,
            (None, None) if is_near => newest.clone(),
            (None, None) => list(up_to(self.build.id)).await?,
        };
        let before = |build: &&Build| build.place() < self.build.place();
        let green = |build: &&Build| build.status == BuildStatus::Succeeded;
        let green = builds.iter().filter(before).find(green).cloned();
        Ok((self.strip(&builds, &newest), green))
    }

    fn strip(&self, builds: &[Build], newest: &[Build]) -> BuildTabs {
        let tab = |build: &Build| BuildTab {
            name: build.name.clone(),
            href: self.url_of(build),
            status: build.status.into(),
            is_here: build.id == self.build.id,
        };
        let page = self.url_of(self.build);
        let separator = if page.contains('?') { '&' } else { '?' };
        let more = |name: &str, build: &Build| format!("{page}{separator}{name}={}", build.id);
        let is_newest = builds.first().map(|build| build.id) == newest.first().map(|it| it.id);
        let is_full = builds.len() as i64 == STRIP;
        let unfinished = newest
            .iter()
            .find(|build| !build.status.is_finished() && build.id > self.build.id);
        BuildTabs {
            tabs: builds.iter().map(tab).collect(),
            newer: builds
                .first()
                .filter(|_| !is_newest)
                .map(|build| more("newer", build)),
            older: builds
                .last()
                .filter(|_| is_full)
                .map(|build| more("older", build)),
            next: unfinished.map(tab),
        }
    }
}

fn up_to(to: BuildId) -> BuildRange {
    BuildRange::Ids {
        from: None,
        to: Some(to),
    }
}

fn beyond(from: BuildId) -> BuildRange {
    BuildRange::Ids {
        from: Some(from),
        to: None,
    }
}
