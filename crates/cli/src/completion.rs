//! `airside completion`: scripts with which shells complete this command.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

#[derive(Args)]
pub(crate) struct Options {
    /// The shell that will read it: `source <(airside completion bash)`
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(options: &Options, mut command: Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "airside", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
