//! `airside clean`: removes what killed servers and runs left on this machine.

use std::io::Write;

use airside_runtime_local::{Leavings, Why, leavings};
use anyhow::{Result, bail};
use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  airside clean --dry-run
      what was left on this machine, and by whom
  airside clean
      removes it
  airside clean --stopped
      also what stopped servers would come back to: their steps are killed

After `kill -9` of a server or of `airside run`, containers, control groups, network rules and temporary folders may be \
left. Each start of `airside up`, `airside run` and `airside agent` removes what belongs to nobody any more; this \
does it by hand, and says what it removed. Nothing of a server that runs is touched.
";

#[derive(Args)]
pub(crate) struct Options {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Also remove what belongs to servers that are stopped and have steps, which are then lost
    #[arg(long)]
    stopped: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    airside_app::enter_user_namespace()?;
    let mut out = std::io::stdout();
    let (mut found, mut failed) = (false, 0);
    for left in leavings(&std::env::temp_dir(), None) {
        found = true;
        let name = left
            .installation
            .as_ref()
            .map_or("unknown", |id| id.as_str());
        writeln!(out, "installation {name} ({})", left.why)?;
        if left.why == Why::Stopped && !options.stopped {
            writeln!(out, "  kept; --stopped removes it")?;
        } else if options.dry_run {
            for thing in left.things() {
                writeln!(out, "  would remove {thing}")?;
            }
        } else {
            failed += remove(left, &mut out)?;
        }
    }
    if !found {
        writeln!(out, "nothing is left of killed servers and runs")?;
    }
    match failed {
        0 => Ok(()),
        _ => bail!("{failed} things could not be removed; the lines above say why"),
    }
}

/// Removes one installation's leavings. Gives the number of things that stay.
fn remove(left: Leavings, out: &mut impl Write) -> Result<usize> {
    let mut failed = 0;
    for (thing, removed) in left.remove() {
        match removed {
            Ok(()) => writeln!(out, "  removed {thing}")?,
            Err(error) => {
                failed += 1;
                writeln!(out, "  {thing} stays: {:#}", anyhow::Error::from(error))?;
            }
        }
    }
    Ok(failed)
}
