//! `airside schema`: the JSON Schema of pipelines, for editors.

use airside_config::{pipeline_schema, task_schema};
use clap::Args;

use airside_app::printing::print;

#[derive(Args)]
pub(crate) struct Options {
    /// Print the schema of task files instead of pipelines
    #[arg(long)]
    task: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let schema = if options.task {
        task_schema()
    } else {
        pipeline_schema()
    };
    Ok(print(&format!("{schema:#}\n"))?)
}
