//! `airside k8s facts`: what policies of a cluster are told of a pipeline.

use std::path::PathBuf;

use airside_config::facts;
use airside_model::facts::{PipelineFacts, SetThrough};
use anyhow::{Result, anyhow};
use clap::Args;

use super::{Variables, pipeline};

/// A pipeline's file, and values of its variables.
#[derive(Args)]
pub struct FactsOptions {
    /// Pipeline file; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    variables: Variables,
}

impl FactsOptions {
    /// Reads the pipeline and returns its facts, as `fly set-pipeline` would present them. Fails
    /// with everything that is wrong with the file.
    pub fn facts(&self) -> Result<PipelineFacts> {
        let config = pipeline(&self.file, &self.variables)
            .map_err(|problems| anyhow!("{}", problems.trim_end()))?;
        Ok(PipelineFacts {
            through: Some(SetThrough::Fly),
            ..facts(&config)?
        })
    }
}
