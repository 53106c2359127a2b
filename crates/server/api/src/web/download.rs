//! The page from which people download `fly`.

use airside_ui::{DownloadPage, FlyProgram};
use axum::{extract::State, response::Response};

use super::PageRequest;
use crate::{ApiState, CONCOURSE_VERSION, error::Result};

/// The machines that fly is made for: names as files have them, and as people do.
const MACHINES: [(&str, &str, &str, &str); 5] = [
    ("linux", "amd64", "Linux", "x86-64"),
    ("linux", "arm64", "Linux", "ARM 64"),
    ("darwin", "amd64", "macOS", "Intel"),
    ("darwin", "arm64", "macOS", "Apple silicon"),
    ("windows", "amd64", "Windows", "x86-64"),
];

pub(crate) async fn show(State(state): State<ApiState>, request: PageRequest) -> Result<Response> {
    let mut programs = Vec::new();
    for (platform, arch, system, machine) in MACHINES {
        let Some(dir) = &state.cli_dir else { break };
        let file = dir.join(format!("fly-{platform}-{arch}"));
        let found = tokio::fs::metadata(file).await;
        if found.is_ok_and(|found| found.is_file()) {
            programs.push(FlyProgram {
                system,
                machine,
                href: format!("/api/v1/cli?platform={platform}&arch={arch}"),
            });
        }
    }
    let shown = DownloadPage {
        version: CONCOURSE_VERSION.to_owned(),
        external_url: state.external_url.to_string(),
        programs,
    };
    Ok(request.show(&shown.page()))
}
