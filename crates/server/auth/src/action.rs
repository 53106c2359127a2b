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

/// The rights that an action needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredAccess {
    /// Every caller, token or not; a token is not even looked at.
    Public,
    /// Every caller, but a token that is shown must be good; the response holds only the objects
    /// that its holder may see.
    Filtered,
    /// Every caller with a good token; the response holds only the objects that its holder may see.
    Token,
    /// Every user with a role on some team; the response holds only the objects that they may see.
    SomeTeam,
    /// Every user with at least this role on the team.
    Role(Role),
    /// Every user with at least this role on the team that the worker belongs to; a worker of no
    /// team is the admins'.
    WorkerTeam(Role),
    /// Every caller if the pipeline is exposed, else viewers.
    ExposedPipeline,
    /// Every caller if the pipeline is exposed and the job is public, else viewers.
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

            /// The route's name, as Concourse has it where it has the route.
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

            pub fn access(self) -> RequiredAccess {
                match self { $(Self::$name => $access),* }
            }

            /// Returns true for a page of the web UI, whose refusals are pages, too.
            pub fn is_page(self) -> bool {
                self.name().starts_with("Show")
            }
        }
    };
}

use RequiredAccess::{ExposedJob, ExposedPipeline, Filtered, Public, SomeTeam, Token};

const VIEWER: RequiredAccess = RequiredAccess::Role(Role::Viewer);
const OPERATOR: RequiredAccess = RequiredAccess::Role(Role::PipelineOperator);
const MEMBER: RequiredAccess = RequiredAccess::Role(Role::Member);
const OWNER: RequiredAccess = RequiredAccess::Role(Role::Owner);
const ADMIN: RequiredAccess = RequiredAccess::Role(Role::Admin);
const WORKER_VIEWER: RequiredAccess = RequiredAccess::WorkerTeam(Role::Viewer);
const WORKER_MEMBER: RequiredAccess = RequiredAccess::WorkerTeam(Role::Member);

actions! {
    GetInfo: Get "/api/v1/info", Public;
    GetInfoCreds: Get "/api/v1/info/creds", ADMIN;
    GetHealth: Get "/api/v1/health", Filtered;
    DownloadCli: Get "/api/v1/cli", Public;
    GetLogLevel: Get "/api/v1/log-level", ADMIN;
    SetLogLevel: Put "/api/v1/log-level", ADMIN;
    GetOpenIDConfiguration: Get "/.well-known/openid-configuration", Public;
    GetSigningKeys: Get "/.well-known/jwks.json", Public;
    GetWall: Get "/api/v1/wall", Public;
    SetWall: Put "/api/v1/wall", ADMIN;
    ClearWall: Delete "/api/v1/wall", ADMIN;
    GetUser: Get "/api/v1/user", Token;
    ListActiveUsersSince: Get "/api/v1/users", ADMIN;
    GetComponents: Get "/api/v1/components", ADMIN;
    PauseAllComponents: Put "/api/v1/components/pause", ADMIN;
    UnpauseAllComponents: Put "/api/v1/components/unpause", ADMIN;
    PauseComponent: Put "/api/v1/components/{component_name}/pause", ADMIN;
    UnpauseComponent: Put "/api/v1/components/{component_name}/unpause", ADMIN;

    ListTeams: Get "/api/v1/teams", Filtered;
    GetTeam: Get "/api/v1/teams/{team_name}", VIEWER;
    SetTeam: Put "/api/v1/teams/{team_name}", OWNER;
    // Secrets, workers and rules for pods know teams by name: another name is another team to them.
    RenameTeam: Put "/api/v1/teams/{team_name}/rename", ADMIN;
    DestroyTeam: Delete "/api/v1/teams/{team_name}", ADMIN;
    ListTeamBuilds: Get "/api/v1/teams/{team_name}/builds", VIEWER;
    CreateBuild: Post "/api/v1/teams/{team_name}/builds", MEMBER;
    GetCc: Get "/api/v1/teams/{team_name}/cc.xml", Filtered;
    CreateArtifact: Post "/api/v1/teams/{team_name}/artifacts", MEMBER;
    GetArtifact: Get "/api/v1/teams/{team_name}/artifacts/{artifact_id}", MEMBER;
    ListContainers: Get "/api/v1/teams/{team_name}/containers", VIEWER;
    GetContainer: Get "/api/v1/teams/{team_name}/containers/{handle}", VIEWER;
    HijackContainer: Get "/api/v1/teams/{team_name}/containers/{handle}/hijack", MEMBER;
    ListVolumes: Get "/api/v1/teams/{team_name}/volumes", VIEWER;

    SaveConfig: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/config", MEMBER;
    GetConfig: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/config", VIEWER;
    ListAllPipelines: Get "/api/v1/pipelines", Filtered;
    ListPipelines: Get "/api/v1/teams/{team_name}/pipelines", Filtered;
    GetPipeline: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}", ExposedPipeline;
    DeletePipeline: Delete "/api/v1/teams/{team_name}/pipelines/{pipeline_name}", MEMBER;
    OrderPipelines: Put "/api/v1/teams/{team_name}/pipelines/ordering", MEMBER;
    OrderPipelinesWithinGroup: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/ordering",
        MEMBER;
    PausePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/pause", OPERATOR;
    UnpausePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/unpause", OPERATOR;
    ArchivePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/archive", MEMBER;
    ExposePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/expose", MEMBER;
    HidePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/hide", MEMBER;
    RenamePipeline: Put "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/rename", MEMBER;
    GetVersionsDb: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/versions-db", VIEWER;
    ListPipelineBuilds: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/builds",
        ExposedPipeline;
    CreatePipelineBuild: Post "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/builds", MEMBER;
    PipelineBadge: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/badge", ExposedPipeline;

    ListAllJobs: Get "/api/v1/jobs", Filtered;
    ListJobs: Get "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs", ExposedPipeline;
    GetJob: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}",
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
    RerunJobBuild: Post
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/builds/{build_name}",
        OPERATOR;
    ListJobInputs: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/inputs",
        VIEWER;
    PauseJob: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/pause",
        OPERATOR;
    UnpauseJob: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/unpause",
        OPERATOR;
    ScheduleJob: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/schedule",
        OPERATOR;
    JobBadge: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/badge",
        ExposedPipeline;
    MainJobBadge: Get "/api/v1/pipelines/{pipeline_name}/jobs/{job_name}/badge", Public;
    ClearTaskCache: Delete
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/tasks/{step_name}/cache",
        OPERATOR;

    ListAllResources: Get "/api/v1/resources", Filtered;
    ListResources: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources",
        ExposedPipeline;
    GetResource: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}",
        ExposedPipeline;
    ListResourceTypes: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types",
        ExposedPipeline;
    ListSharedForResource: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/shared",
        ADMIN;
    ListSharedForResourceType: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types/{resource_type_name}/shared",
        ADMIN;
    CheckResource: Post
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/check",
        OPERATOR;
    CheckResourceWebHook: Post
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/check/webhook",
        Public;
    CheckResourceType: Post
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types/{resource_type_name}/check",
        OPERATOR;
    CheckPrototype: Post
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/prototypes/{prototype_name}/check",
        OPERATOR;
    ClearResourceCache: Delete
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/cache",
        OPERATOR;
    ListResourceVersions: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions",
        ExposedPipeline;
    ClearResourceVersions: Delete
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions",
        ADMIN;
    ClearResourceTypeVersions: Delete
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resource-types/{resource_type_name}/versions",
        ADMIN;
    GetResourceVersion: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}",
        ExposedPipeline;
    EnableResourceVersion: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}/enable",
        OPERATOR;
    DisableResourceVersion: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}/disable",
        OPERATOR;
    PinResourceVersion: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}/pin",
        OPERATOR;
    UnpinResource: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/unpin",
        OPERATOR;
    SetPinCommentOnResource: Put
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/pin_comment",
        OPERATOR;
    ListBuildsWithVersionAsInput: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}/input_to",
        ExposedPipeline;
    ListBuildsWithVersionAsOutput: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}/output_of",
        ExposedPipeline;
    GetDownstreamResourceCausality: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}/downstream",
        ExposedPipeline;
    GetUpstreamResourceCausality: Get
        "/api/v1/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/versions/{resource_config_version_id}/upstream",
        ExposedPipeline;

    ListBuilds: Get "/api/v1/builds", Filtered;
    GetBuild: Get "/api/v1/builds/{build_id}", ExposedPipeline;
    GetBuildPlan: Get "/api/v1/builds/{build_id}/plan", ExposedJob;
    BuildEvents: Get "/api/v1/builds/{build_id}/events", ExposedJob;
    BuildResources: Get "/api/v1/builds/{build_id}/resources", ExposedPipeline;
    GetBuildPreparation: Get "/api/v1/builds/{build_id}/preparation", ExposedJob;
    ListBuildArtifacts: Get "/api/v1/builds/{build_id}/artifacts", ExposedJob;
    AbortBuild: Put "/api/v1/builds/{build_id}/abort", OPERATOR;
    SetBuildComment: Put "/api/v1/builds/{build_id}/comment", OPERATOR;

    ListWorkers: Get "/api/v1/workers", SomeTeam;
    RegisterWorker: Post "/api/v1/workers", ADMIN;
    LandWorker: Put "/api/v1/workers/{worker_name}/land", WORKER_MEMBER;
    RetireWorker: Put "/api/v1/workers/{worker_name}/retire", WORKER_MEMBER;
    PruneWorker: Put "/api/v1/workers/{worker_name}/prune", WORKER_MEMBER;
    HeartbeatWorker: Put "/api/v1/workers/{worker_name}/heartbeat", ADMIN;
    DeleteWorker: Delete "/api/v1/workers/{worker_name}", ADMIN;
    ListDestroyingContainers: Get "/api/v1/containers/destroying", WORKER_VIEWER;
    ReportWorkerContainers: Put "/api/v1/containers/report", WORKER_MEMBER;
    ListDestroyingVolumes: Get "/api/v1/volumes/destroying", WORKER_VIEWER;
    ReportWorkerVolumes: Put "/api/v1/volumes/report", WORKER_MEMBER;

    // Ours: Concourse has no such workers.
    ListAgentTokens: Get "/api/v1/agents", ADMIN;
    CreateAgentToken: Put "/api/v1/agents/{agent_name}/token", ADMIN;
    RevokeAgentToken: Delete "/api/v1/agents/{agent_name}/token", ADMIN;

    // Pages, at Concourse's addresses; ours begin with /airside.
    GoToName: Get "/airside/v1/go", Filtered;

    ShowDashboard: Get "/", Filtered;
    ShowPipeline: Get "/teams/{team_name}/pipelines/{pipeline_name}", ExposedPipeline;
    ShowJob: Get "/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}", ExposedPipeline;
    ShowJobBuild: Get
        "/teams/{team_name}/pipelines/{pipeline_name}/jobs/{job_name}/builds/{build_name}",
        ExposedPipeline;
    ShowResource: Get
        "/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}",
        ExposedPipeline;
    ShowBuild: Get "/builds/{build_id}", ExposedPipeline;
    ShowBuilds: Get "/airside/builds", Filtered;
    ShowWorkers: Get "/airside/workers", SomeTeam;

    // Ours: output by lines, for the web UI.
    BuildLines: Get "/airside/v1/builds/{build_id}/lines", ExposedJob;
    FindBuildLines: Get "/airside/v1/builds/{build_id}/find", ExposedJob;
    BuildLogText: Get "/airside/v1/builds/{build_id}/log.txt", ExposedJob;
    ShowTeams: Get "/airside/teams", SomeTeam;
    ShowTeam: Get "/airside/teams/{team_name}", VIEWER;
    ShowDownstream: Get
        "/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/causality/{resource_config_version_id}/downstream",
        ExposedPipeline;
    ShowUpstream: Get
        "/teams/{team_name}/pipelines/{pipeline_name}/resources/{resource_name}/causality/{resource_config_version_id}/upstream",
        ExposedPipeline;
    ShowDownload: Get "/download-fly", Public;

    // Ours: each topic is judged as its page is.
    FollowLive: Get "/airside/v1/live", Filtered;
}
