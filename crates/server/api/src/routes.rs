//! The handlers, one file per family, each mounted under its action and behind the guard.

mod agents;
mod artifacts;
mod badges;
pub(crate) mod builds;
mod causality;
mod checks;
mod cli;
mod config;
mod containers;
mod events;
mod hijack;
mod id_tokens;
mod info;
mod job_inputs;
mod jobs;
mod lines;
mod live;
mod log_text;
mod one_off;
mod pipelines;
mod resources;
pub(crate) mod server;
mod teams;
mod versions;
mod volumes;
pub(crate) mod workers;

use airside_auth::{Action, Method};
use axum::{
    Router,
    handler::Handler,
    middleware::from_fn_with_state,
    routing::{MethodFilter, get, on},
};

use crate::{
    ApiState,
    guard::{guard, guard_page},
    web,
};

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

    fn page<H, T>(mut self, action: Action, handler: H) -> Self
    where
        H: Handler<T, ApiState>,
        T: 'static,
    {
        let state = (self.state.clone(), action);
        let guarded = get(handler).layer(from_fn_with_state(state, guard_page));
        self.router = self.router.route(action.path(), guarded);
        self
    }
}

#[derive(serde::Deserialize)]
struct PipelineName {
    pipeline_name: String,
}

pub(crate) fn all(state: &ApiState) -> Router<ApiState> {
    let routes = Routes {
        state: state.clone(),
        router: Router::new(),
    };
    let routes = builds_and_workers(versions(pipelines(server_and_teams(routes))));
    pages(routes).router
}

fn server_and_teams(routes: Routes) -> Routes {
    routes
        .on(Action::GetInfo, info::info)
        .on(Action::GetInfoCreds, server::creds)
        .on(Action::GetHealth, server::health)
        .on(Action::GetLogLevel, server::log_level)
        .on(Action::SetLogLevel, server::set_log_level)
        .on(Action::GetOpenIDConfiguration, id_tokens::discovery)
        .on(Action::GetSigningKeys, id_tokens::keys)
        .on(Action::GetWall, server::wall)
        .on(Action::SetWall, server::set_wall)
        .on(Action::ClearWall, server::clear_wall)
        .on(Action::GetUser, teams::user)
        .on(Action::ListActiveUsersSince, server::active_users)
        .on(Action::GetComponents, server::components)
        .on(Action::PauseAllComponents, server::pause_components)
        .on(Action::UnpauseAllComponents, server::unpause_components)
        .on(Action::PauseComponent, server::pause_component)
        .on(Action::UnpauseComponent, server::unpause_component)
        .on(Action::ListTeams, teams::list)
        .on(Action::GetTeam, teams::get)
        .on(Action::SetTeam, teams::set)
        .on(Action::RenameTeam, teams::rename)
        .on(Action::DestroyTeam, teams::destroy)
        .on(Action::GetCc, badges::cctray)
}

fn pipelines(routes: Routes) -> Routes {
    routes
        .on(Action::SaveConfig, config::save)
        .on(Action::GetConfig, config::get)
        .on(Action::ListAllPipelines, pipelines::list_all)
        .on(Action::ListPipelines, pipelines::list)
        .on(Action::GetPipeline, pipelines::get)
        .on(Action::DeletePipeline, pipelines::delete)
        .on(Action::OrderPipelines, pipelines::order)
        .on(
            Action::OrderPipelinesWithinGroup,
            pipelines::order_instances,
        )
        .on(Action::ClearTaskCache, jobs::clear_task_cache)
        .on(Action::PausePipeline, pipelines::pause)
        .on(Action::UnpausePipeline, pipelines::unpause)
        .on(Action::ArchivePipeline, pipelines::archive)
        .on(Action::ExposePipeline, pipelines::expose)
        .on(Action::HidePipeline, pipelines::hide)
        .on(Action::RenamePipeline, pipelines::rename)
        .on(Action::PipelineBadge, badges::pipeline)
        .on(Action::ListAllJobs, jobs::list_all)
        .on(Action::ListJobs, jobs::list)
        .on(Action::GetJob, jobs::get)
        .on(Action::PauseJob, jobs::pause)
        .on(Action::UnpauseJob, jobs::unpause)
        .on(Action::JobBadge, badges::job)
        .on(Action::MainJobBadge, badges::of_main)
        .on(Action::ListAllResources, resources::list_all)
        .on(Action::ListResources, resources::list)
        .on(Action::GetResource, resources::get)
        .on(Action::ListResourceTypes, resources::types)
        .on(Action::CheckResource, checks::resource)
        .on(Action::CheckResourceWebHook, checks::webhook)
        .on(Action::CheckResourceType, checks::resource_type)
        .on(Action::CheckPrototype, checks::prototype)
}

fn versions(routes: Routes) -> Routes {
    routes
        .on(Action::ListResourceVersions, versions::list)
        .on(Action::GetResourceVersion, versions::get)
        .on(Action::EnableResourceVersion, versions::enable)
        .on(Action::DisableResourceVersion, versions::disable)
        .on(Action::PinResourceVersion, versions::pin)
        .on(Action::UnpinResource, versions::unpin)
        .on(Action::SetPinCommentOnResource, versions::comment)
        .on(Action::ClearResourceCache, versions::clear_cache)
        .on(Action::ClearResourceVersions, versions::clear)
        .on(Action::ClearResourceTypeVersions, versions::clear_of_type)
        .on(Action::ListBuildsWithVersionAsInput, versions::input_to)
        .on(Action::ListBuildsWithVersionAsOutput, versions::output_of)
        .on(Action::ListSharedForResource, versions::shared)
        .on(Action::ListSharedForResourceType, versions::shared_type)
        .on(
            Action::GetDownstreamResourceCausality,
            causality::downstream,
        )
        .on(Action::GetUpstreamResourceCausality, causality::upstream)
        .on(Action::GetVersionsDb, causality::versions_db)
}

fn builds_and_workers(routes: Routes) -> Routes {
    routes
        .on(Action::ListPipelineBuilds, builds::of_pipeline)
        .on(Action::ListJobBuilds, jobs::builds)
        .on(Action::CreateJobBuild, jobs::trigger)
        .on(Action::GetJobBuild, builds::get)
        .on(Action::RerunJobBuild, jobs::rerun)
        .on(Action::ScheduleJob, jobs::schedule)
        .on(Action::BuildResources, builds::resources)
        .on(Action::SetBuildComment, builds::comment)
        .on(Action::ListBuilds, builds::list)
        .on(Action::ListTeamBuilds, builds::of_team)
        .on(Action::GetBuild, builds::get)
        .on(Action::GetBuildPlan, builds::plan)
        .on(Action::BuildEvents, events::follow)
        .on(Action::BuildLines, lines::window)
        .on(Action::FindBuildLines, lines::find)
        .on(Action::BuildLogText, log_text::stream_text)
        .on(Action::GetBuildPreparation, builds::preparation)
        .on(Action::AbortBuild, builds::abort)
        .on(Action::ListAgentTokens, agents::list)
        .on(Action::CreateAgentToken, agents::create)
        .on(Action::RevokeAgentToken, agents::revoke)
        .on(Action::FollowLive, live::follow)
        .on(Action::ListWorkers, workers::list)
        .on(Action::RegisterWorker, workers::register)
        .on(Action::LandWorker, workers::land)
        .on(Action::RetireWorker, workers::retire)
        .on(Action::PruneWorker, workers::prune)
        .on(Action::HeartbeatWorker, workers::heartbeat)
        .on(Action::DeleteWorker, workers::delete)
        .on(
            Action::ListDestroyingContainers,
            workers::destroying_containers,
        )
        .on(Action::ReportWorkerContainers, workers::report)
        .on(Action::ListDestroyingVolumes, workers::destroying_volumes)
        .on(Action::ReportWorkerVolumes, workers::report)
        .on(Action::ListContainers, containers::list)
        .on(Action::GetContainer, containers::get)
        .on(Action::HijackContainer, hijack::hijack)
        .on(Action::ListVolumes, volumes::list)
        .on(Action::CreateArtifact, artifacts::create)
        .on(Action::GetArtifact, artifacts::get)
        .on(Action::ListBuildArtifacts, artifacts::of_build)
        .on(Action::CreateBuild, one_off::of_team)
        .on(Action::CreatePipelineBuild, one_off::of_pipeline)
        .on(Action::ListJobInputs, job_inputs::list)
        .on(Action::DownloadCli, cli::download)
}

fn pages(routes: Routes) -> Routes {
    routes
        .on(Action::GoToName, web::go::find)
        .page(Action::ShowDashboard, web::dashboard::show)
        .page(Action::ShowPipeline, web::pipeline::show)
        .page(Action::ShowJob, web::job::show)
        .page(Action::ShowJobBuild, web::build::show)
        .page(Action::ShowBuild, web::build::show)
        .page(Action::ShowResource, web::resource::show)
        .page(Action::ShowBuilds, web::builds::show)
        .page(Action::ShowWorkers, web::workers::show)
        .page(Action::ShowTeams, web::teams::list)
        .page(Action::ShowTeam, web::teams::show)
        .page(Action::ShowDownstream, web::causality::downstream)
        .page(Action::ShowUpstream, web::causality::upstream)
        .page(Action::ShowDownload, web::download::show)
}
