//! The control file: which teams have which namespaces of which clusters.
//!
//! ```yaml
//! clusters:
//! - name: build-cluster
//!   kubeconfig: control.conf # or context, service_account, api_server
//!   teams:
//!   - team: main
//!     namespace: ci-main
//! ```
//!
//! Reading it does not touch any cluster. One mistake refuses the whole file.

mod entry;

use std::path::{Path, PathBuf};

use airside_clusters::{ClusterAccess, Rate};
use airside_setting::FlyMode;

/// Largest size of a control file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A cluster and the teams that have a namespace of it, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlCluster {
    pub name: String,
    pub access: ClusterAccess,
    pub rate: Rate,
    pub teams: Vec<ControlTeam>,
}

/// A team and its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlTeam {
    pub team: String,
    pub namespace: String,
    pub fly: FlyMode,
    /// True if jobs are shown as objects.
    pub mirrors_jobs: bool,
    /// True if builds are shown as objects.
    pub mirrors_builds: bool,
    /// Number of finished builds of a job that have an object.
    pub builds_kept: u32,
    /// Largest number of builds of the namespace that have an object.
    pub objects_max: u32,
    /// True if configurations of objects may hold passwords in clear.
    pub clear_secrets: bool,
}

/// A control file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ControlFileError {
    #[error("{}: cannot read the control file", file.display())]
    Read {
        file: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: the control file is larger than 1 MiB", file.display())]
    TooLarge { file: PathBuf },
    #[error("{}{}: {message}", file.display(), position(*line, *column))]
    Invalid {
        file: PathBuf,
        line: u64,
        column: u64,
        message: String,
    },
}

fn position(line: u64, column: u64) -> String {
    if line == 0 {
        String::new()
    } else {
        format!(":{line}:{column}")
    }
}

/// Reads and checks a control file.
pub fn load(file: &Path) -> Result<Vec<ControlCluster>, ControlFileError> {
    let unread = |source| ControlFileError::Read {
        file: file.to_owned(),
        source,
    };
    if std::fs::metadata(file).map_err(unread)?.len() > MAX_FILE_BYTES {
        let file = file.to_owned();
        return Err(ControlFileError::TooLarge { file });
    }
    parse(file, &std::fs::read_to_string(file).map_err(unread)?)
}

/// Checks the text of a control file; its name is only for the messages.
pub fn parse(file: &Path, text: &str) -> Result<Vec<ControlCluster>, ControlFileError> {
    entry::parse(text).map_err(|fault| ControlFileError::Invalid {
        file: file.to_owned(),
        line: fault.line,
        column: fault.column,
        message: fault.message,
    })
}

#[cfg(test)]
mod tests;
