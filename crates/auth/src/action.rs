//! The one table of what is served: for each action its route and what it takes to do it.

use crate::Role;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// What an action takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody, token or not; a token is not even looked at.
    Public,
    /// Anybody, but a token that is shown must be good; the answer holds only what its holder may
    /// see.
    Filtered,
    /// Anybody with a good token; the answer holds only what its holder may see.
    Token,
    /// At least this role on the team.
    Role(Role),
    /// Anybody if the pipeline is exposed, else viewers.
    ExposedPipeline,
    /// Anybody if the pipeline is exposed and the job is public, else viewers.
    ExposedJob,
}

macro_rules! actions {
    ($($name:ident: $method:ident $path:literal, $access:expr;)*) => {
        /// Everything that the API does. What is not here is not served.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($name),*
        }

        impl Action {
            pub const ALL: &'static [Action] = &[$(Self::$name),*];

            /// The route's name, as Concourse has it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            pub fn method(self) -> Method {
                match self { $(Self::$name => Method::$method),* }
            }

            /// The path, with its parameters in braces.
            pub fn path(self) -> &'static str {
                match self { $(Self::$name => $path),* }
            }

            pub fn access(self) -> Access {
                match self { $(Self::$name => $access),* }
            }
        }
    };
}

use Access::{ExposedJob, ExposedPipeline, Filtered, Public, Token};

const VIEWER: Access = Access::Role(Role::Viewer);
const OPERATOR: Access = Access::Role(Role::PipelineOperator);
const MEMBER: Access = Access::Role(Role::Member);

actions! {
    GetInfo: Get "/api/v1/info", Public;
    GetWall: Get "/api/v1/wall", Public;
    GetUser: Get "/api/v1/user", Token;

    ListTeams: Get "/api/v1/teams", Filtered;
    GetTeam: Get "/api/v1/teams/{team_name}", VIEWER;

    SaveConfig: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/config", MEMBER;
    GetConfig: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/config", VIEWER;

    ListAllPipelines: Get "/api/v1/pipelines", Filtered;
    ListPipelines: Get "/api/v1/teams/{team_name}/pipelines", Filtered;
    GetPipeline: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}", ExposedPipeline;
    DeletePipeline: Delete "/api/v1/teams/{team_name}/pipelines/{pipeline_name}", MEMBER;
    PausePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/pause", OPERATOR;
    UnpausePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/unpause", OPERATOR;
    ExposePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/expose", MEMBER;
    HidePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/hide", MEMBER;
    ListPipelineBuilds: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/builds",
        ExposedPipeline;

    ListJobs: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs", ExposedPipeline;
    GetJob: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}",
        ExposedPipeline;
    ListJobBuilds: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/builds",
        ExposedPipeline;
    CreateJobBuild: Post
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/builds",
        OPERATOR;
    GetJobBuild: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/builds/{build_name}",
        ExposedPipeline;

    ListResources: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources",
        ExposedPipeline;

    ListBuilds: Get "/api/v1/builds", Filtered;
    ListTeamBuilds: Get "/api/v1/teams/{team_name}/builds", VIEWER;
    GetBuild: Get "/api/v1/builds/{build_id}", ExposedPipeline;
    GetBuildPlan: Get "/api/v1/builds/{build_id}/plan", ExposedJob;
    BuildEvents: Get "/api/v1/builds/{build_id}/events", ExposedJob;
    GetBuildPreparation: Get "/api/v1/builds/{build_id}/preparation", ExposedJob;
    AbortBuild: Put "/api/v1/builds/{build_id}/abort", OPERATOR;

    ListWorkers: Get "/api/v1/workers", Token;
    ListContainers: Get "/api/v1/teams/{team_name}/containers", VIEWER;
}
