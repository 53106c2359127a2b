//! The pages of the web UI: views in, HTML, SVG and assets out.
//!
//! ```text
//! handler ─▶ view struct ─▶ template (askama) ─▶ body ─▶ shell ─▶ page
//!                                                    └─▶ fragment, for `?part=ID`
//! ```
//!
//! Rust draws pages, graphs and tables; the modules in `assets/` draw the dashboard's cards and the
//! lines of output, and mark the rest. Everything here is a function of its view: no clock, no
//! database, no HTTP. Everything that comes from users is text: templates escape it.

mod assets;
mod build;
mod builds;
mod causality;
mod dashboard;
mod download;
mod drawn;
mod fragment;
mod home;
mod job;
mod login;
mod marks;
mod pipeline;
mod resource;
mod send_button;
mod shell;
mod side;
mod squeeze;
mod status;
mod symbols;
mod team;
mod times;
mod workers;

pub use assets::{Asset, asset, asset_url, assets, edition};
pub use build::{
    BuildAction, BuildComparison, BuildHead, BuildInputs, BuildPage, BuildPerson, BuildSection,
    BuildSteps, BuildTab, BuildTabs, BuildWait, ComparedInput, ComparedStep, InputRow, NewInput,
    PlannedStep, StepsContext, WaitReason, short_version, step_durations, timeline,
};
pub use builds::{BuildsPage, ListedBuild};
pub use causality::{CausalityColumn, CausalityPage, RelatedJob, RelatedNode};
pub use dashboard::{Dashboard, WallMessage};
pub use download::{DownloadPage, FlyProgram};
pub use drawn::{PageTime, RowTime, type_icon, version_text};
pub use fragment::fragments;
pub use home::{FirstRun, NoPage};
pub use job::{
    CacheRow, JobBuildRow, JobLast, JobNext, JobNumbers, JobPage, JobSample, NewVersion,
    NextInputRow, PauseNote,
};
pub use login::{FlyToken, LoginForm, LoginNote, LogoutForm};
pub use pipeline::{GroupTab, PipelineInput, PipelineJob, PipelinePage, PipelineResource};
pub use resource::{
    CheckNote, OpenedVersion, PinNote, ResourcePage, VersionBuild, VersionJob, VersionRow,
};
pub use send_button::SendButton;
pub use shell::{Crumb, Page, PageKind, Shell, Theme};
pub use side::{SideBar, SidePlace};
pub use status::PageStatus;
pub use team::{DestroyForm, TeamPage, TeamPipeline, TeamRole, TeamRow, TeamsPage};
pub use times::{age_text, clock_text, duration_text};
pub use workers::{WorkerPlace, WorkerRow, WorkerStep, WorkersPage};
