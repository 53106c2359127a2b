//! `airside completion`: scripts with which shells complete this command.

use clap::{Args, Command};
use clap_complete::Shell;

use airside_app::printing::print;

#[derive(Args)]
pub(crate) struct Options {
    /// Shell to complete in: `source <(airside completion bash)`
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(options: &Options, mut command: Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "airside", &mut script);
    Ok(print(&String::from_utf8(script)?)?)
}
