//! The one way to set a pipeline, for the API, `set_pipeline` steps and objects of clusters alike.
//!
//! ```text
//! text ─ read ─▶ Config ─ rules ─▶ judge ─▶ save
//!                        (may it?) (dry run) (store)
//! ```
//!
//! - `read` puts values of variables into a text and validates it, on a thread for such work;
//! - `rules` are pure: what a team's [`FlyMode`] and an object that sets the pipeline mean for
//!   whoever wants to set, rename, archive or destroy it;
//! - `judge` is the seam to a cluster: [`Judge`] says which teams it has a word about, and judges
//!   proposals by their facts. [`AllowAll`] is the judge of a server without clusters;
//! - `clear_secrets` finds passwords that would stand in clear in a cluster's database;
//! - `setter` puts these in order: [`PipelineSetter`].
//!
//! **Invariant:** no pipeline is saved that a judge was to see and did not allow. A judge that does
//! not answer refuses.

mod clear_secrets;
mod judge;
mod name;
mod read;
mod rules;
mod setter;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use clear_secrets::literal_secrets;
pub use judge::{AllowAll, Judge, JudgeError, PipelineProposal};
pub use name::{check_name, pipeline_reference};
pub use read::{ReadPipelineError, read_pipeline};
pub use rules::{
    ChangeRoute, FlyMode, PipelineChange, SaveClaim, SetRoute, TeamControl, change_route, set_route,
};
pub use setter::{PipelineSetter, PreparedSet, SetPipeline, SetPipelineError, save_request};
