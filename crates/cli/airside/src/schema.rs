//! `airside schema`: the JSON Schema of pipelines, for editors.

use airside_config::{pipeline_schema, task_schema};
use clap::Args;

use airside_app::printing::print;

#[derive(Args)]
pub(crate) struct Options {
    /// The schema of task files instead of pipelines
    #[arg(long)]
    task: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let schema = match options.task {
        true => task_schema(),
        false => pipeline_schema(),
    };
    Ok(print(&format!("{schema:#}\n"))?)
}
