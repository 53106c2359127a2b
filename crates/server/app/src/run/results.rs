//! The results of a run for programs, beside what people see.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use super::{
    End,
    json::{JobResult, JsonLines, RunEvent},
    junit,
    table::JobReport,
};

#[derive(Args, Default)]
pub(crate) struct ResultOptions {
    /// Print one JSON object per line to standard output; lines for people go to standard error
    #[arg(long)]
    json: bool,

    /// File to write the results to as JUnit XML, with a test case for each step
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl ResultOptions {
    /// Returns the file that a run writes.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.junit.as_ref()
    }

    /// Returns the reason why results cannot be written.
    pub(crate) fn problem(&self) -> Option<String> {
        junit::check(self.junit.as_deref()?).err()
    }
}

/// The places to which results go.
pub(crate) struct Results {
    pub(crate) json: Option<JsonLines>,
    junit: Option<PathBuf>,
}

impl Results {
    /// Opens the places. With JSON, whatever else is printed goes to standard error from here on.
    pub(crate) fn open(options: &ResultOptions) -> Result<Self> {
        let json = options.json.then(JsonLines::take_stdout);
        Ok(Self {
            json: json.transpose()?,
            junit: options.junit.clone(),
        })
    }

    /// Writes the end of a run.
    pub(crate) fn finish(&self, end: End, reports: &[JobReport]) -> Result<()> {
        if let Some(json) = &self.json {
            json.write(&RunEvent::RunEnded {
                status: end.name(),
                exit_status: end as u8,
                jobs: reports.iter().map(JobResult::from).collect(),
            });
        }
        if let Some(path) = &self.junit {
            junit::write(path, reports)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}
