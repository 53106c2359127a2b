//! The handlers, one file per family, each mounted under its action and behind the guard.

mod builds;
mod config;
mod containers;
mod events;
mod info;
mod jobs;
mod pipelines;
mod resources;
mod teams;
mod workers;

use airside_auth::{Action, Method};
use axum::{
    Router,
    handler::Handler,
    middleware::from_fn_with_state,
    routing::{MethodFilter, on},
};

use crate::{ApiState, guard::guard};

/// Mounts handlers. There is no way around the guard: it is part of mounting.
struct Routes {
    state: ApiState,
    router: Router<ApiState>,
}

impl Routes {
    fn on<H, T>(mut self, action: Action, handler: H) -> Self
    where
        H: Handler<T, ApiState>,
        T: 'static,
    {
        let method = match action.method() {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Delete => MethodFilter::DELETE,
        };
        let guarded =
            on(method, handler).layer(from_fn_with_state((self.state.clone(), action), guard));
        self.router = self.router.route(action.path(), guarded);
        self
    }
}

pub(crate) fn all(state: &ApiState) -> Router<ApiState> {
    let routes = Routes {
        state: state.clone(),
        router: Router::new(),
    };
    routes
        .on(Action::GetInfo, info::info)
        .on(Action::GetWall, info::wall)
        .on(Action::GetUser, teams::user)
        .on(Action::ListTeams, teams::list)
        .on(Action::GetTeam, teams::get)
        .on(Action::SaveConfig, config::save)
        .on(Action::GetConfig, config::get)
        .on(Action::ListAllPipelines, pipelines::list_all)
        .on(Action::ListPipelines, pipelines::list)
        .on(Action::GetPipeline, pipelines::get)
        .on(Action::DeletePipeline, pipelines::delete)
        .on(Action::PausePipeline, pipelines::pause)
        .on(Action::UnpausePipeline, pipelines::unpause)
        .on(Action::ExposePipeline, pipelines::expose)
        .on(Action::HidePipeline, pipelines::hide)
        .on(Action::ListPipelineBuilds, builds::of_pipeline)
        .on(Action::ListJobs, jobs::list)
        .on(Action::GetJob, jobs::get)
        .on(Action::ListJobBuilds, jobs::builds)
        .on(Action::CreateJobBuild, jobs::trigger)
        .on(Action::GetJobBuild, builds::get)
        .on(Action::ListResources, resources::list)
        .on(Action::ListBuilds, builds::list)
        .on(Action::ListTeamBuilds, builds::of_team)
        .on(Action::GetBuild, builds::get)
        .on(Action::GetBuildPlan, builds::plan)
        .on(Action::BuildEvents, events::follow)
        .on(Action::GetBuildPreparation, builds::preparation)
        .on(Action::AbortBuild, builds::abort)
        .on(Action::ListWorkers, workers::list)
        .on(Action::ListContainers, containers::list)
        .router
}
