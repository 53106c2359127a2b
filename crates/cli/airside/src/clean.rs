//! `airside clean`: removes what killed servers and runs left on this machine.

use std::path::PathBuf;

use airside_app::{
    printing::print,
    run::cache::{self, CacheFolder},
};
use airside_runtime_local::{Leavings, Why, leavings};
use anyhow::{Result, bail};
use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Show what was left on this machine
  airside clean --dry-run

  # Remove it
  airside clean

  # Also remove what stopped servers would resume; their steps are killed
  airside clean --stopped

  # Also remove the images and task caches that `airside run` keeps
  airside clean --cache";

#[derive(Args)]
pub(crate) struct Options {
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Also remove what belongs to stopped servers; their steps are killed
    #[arg(long)]
    stopped: bool,

    /// Also remove the cache of `airside run`, except what a running `airside run` uses
    #[arg(long)]
    cache: bool,

    /// Directory of the cache of `airside run` [default: that of `airside run`; or the variable
    /// AIRSIDE_CACHE_DIR]
    #[arg(long, value_name = "DIR", env = "AIRSIDE_CACHE_DIR", hide_env = true)]
    cache_dir: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let find = || CacheFolder::find(options.cache_dir.as_deref());
    let cache = options.cache.then(find).transpose()?;
    airside_app::enter_user_namespace()?;
    let (mut found, mut failed) = (false, 0);
    for left in leavings(&std::env::temp_dir(), None) {
        found = true;
        let name = left
            .installation
            .as_ref()
            .map_or("unknown", |id| id.as_str());
        print(&format!("installation {name} ({})\n", left.why))?;
        if left.why == Why::Stopped && !options.stopped {
            print("  kept; --stopped removes it\n")?;
        } else if options.dry_run {
            for thing in left.things() {
                print(&format!("  would remove {thing}\n"))?;
            }
        } else {
            failed += remove(left)?;
        }
    }
    if let Some(cache) = &cache {
        let mut told = Vec::new();
        let removed = cache::remove(cache, options.dry_run, &mut told);
        print(&String::from_utf8_lossy(&told))?;
        removed?;
    } else if !found {
        print("nothing to remove\n")?;
    }
    match failed {
        0 => Ok(()),
        _ => bail!("{failed} things could not be removed; the lines above say why"),
    }
}

/// Removes one installation's leavings. Gives the number of things that stay.
fn remove(left: Leavings) -> Result<usize> {
    let mut failed = 0;
    for (thing, removed) in left.remove() {
        match removed {
            Ok(()) => print(&format!("  removed {thing}\n"))?,
            Err(error) => {
                failed += 1;
                let error = anyhow::Error::from(error);
                print(&format!("  cannot remove {thing}: {error:#}\n"))?;
            }
        }
    }
    Ok(failed)
}
