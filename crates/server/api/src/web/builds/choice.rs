//! The builds that an address asks for: of a team, of pipelines of a name, with a status.

use airside_model::{BuildStatus, TeamId};
use airside_store::{BuildFilter, Team};
use airside_ui::PageStatus;
use url::form_urlencoded;

use crate::{ApiState, error::Result, routes::builds::visible, web::PageRequest};

/// The most pipelines of one name whose builds are listed.
const MAX_PIPELINES: usize = 100;

const STATUSES: [BuildStatus; 6] = [
    BuildStatus::Started,
    BuildStatus::Pending,
    BuildStatus::Failed,
    BuildStatus::Errored,
    BuildStatus::Aborted,
    BuildStatus::Succeeded,
];

#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) team: String,
    pub(super) pipeline: String,
    pub(super) status: Option<BuildStatus>,
}

impl Choice {
    pub(super) fn of(request: &PageRequest) -> Self {
        let text = |name| request.query(name).unwrap_or_default().trim().to_owned();
        Self {
            team: text("team"),
            pipeline: text("pipeline"),
            status: BuildStatus::parse(&text("status")),
        }
    }

    pub(super) fn is_narrow(&self) -> bool {
        !self.team.is_empty() || !self.pipeline.is_empty() || self.status.is_some()
    }

    /// Returns the address of the first page of this choice.
    pub(super) fn address(&self) -> String {
        let status = self.status.map_or("", BuildStatus::as_str);
        let pairs = [
            ("team", self.team.as_str()),
            ("pipeline", &self.pipeline),
            ("status", status),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs.iter().filter(|(_, value)| !value.is_empty()));
        match query.finish() {
            query if query.is_empty() => "/airside/builds".to_owned(),
            query => format!("/airside/builds?{query}"),
        }
    }

    /// Returns the statuses to choose from; the chosen one leads back to all.
    pub(super) fn statuses(&self) -> Vec<(PageStatus, String, bool)> {
        let offered = STATUSES.map(|status| {
            let is_chosen = self.status == Some(status);
            let other = Self {
                status: (!is_chosen).then_some(status),
                ..self.clone()
            };
            (PageStatus::from(status), other.address(), is_chosen)
        });
        offered.to_vec()
    }
}

/// Returns filters that do not overlap and let through only what the viewer may see.
pub(super) async fn filters(
    state: &ApiState,
    request: &PageRequest,
    teams: &[Team],
    choice: &Choice,
) -> Result<Vec<BuildFilter>> {
    if !choice.pipeline.is_empty() {
        return of_pipelines(state, request, teams, choice).await;
    }
    if choice.team.is_empty() {
        return visible(state, &request.scope).await;
    }
    let team = teams.iter().find(|team| team.name == choice.team);
    let filter = team.map(|team| BuildFilter {
        team: Some(team.id),
        exposed_beyond: (!request.scope.can_view(team)).then(Vec::new),
        ..BuildFilter::default()
    });
    Ok(filter.into_iter().collect())
}

async fn of_pipelines(
    state: &ApiState,
    request: &PageRequest,
    teams: &[Team],
    choice: &Choice,
) -> Result<Vec<BuildFilter>> {
    let viewed = |id: TeamId| {
        let team = teams.iter().find(|team| team.id == id);
        team.is_some_and(|team| request.scope.can_view(team))
    };
    let pipelines = state.store.pipelines(None).await?;
    let chosen = pipelines.into_iter().filter(|pipeline| {
        let is_of_team = choice.team.is_empty() || pipeline.team_name == choice.team;
        let is_seen = pipeline.public || viewed(pipeline.team);
        pipeline.name == choice.pipeline && is_of_team && is_seen
    });
    let filters = chosen.take(MAX_PIPELINES).map(|pipeline| BuildFilter {
        pipeline: Some(pipeline.id),
        ..BuildFilter::default()
    });
    Ok(filters.collect())
}
