//! `airside man`: manual pages, made from the same texts as every `--help`.

use std::path::PathBuf;

use airside_app::printing::print;
use anyhow::{Context as _, Result};
use clap::{Args, Command};
use clap_mangen::Man;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Read the page of the command itself
  airside man | man -l -

  # Install the pages of all commands, then read one
  airside man ~/.local/share/man/man1
  man airside-up";

#[derive(Args)]
pub(crate) struct Options {
    /// Directory to write the pages of all commands to; created if missing [default: print the page
    /// of `airside`]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, command: Command) -> Result<()> {
    match &options.folder {
        Some(folder) => {
            let written = std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder));
            written.with_context(|| format!("cannot write the pages to {}", folder.display()))
        }
        None => Ok(print(&page(command)?)?),
    }
}

/// Returns the page of the command itself, in roff.
fn page(mut command: Command) -> Result<String> {
    command.build();
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(String::from_utf8(page)?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn command() -> Command {
        airside_app::settings::as_shown(crate::Arguments::command())
    }

    #[test]
    fn the_page_of_the_command_lists_the_others() {
        let page = page(command()).unwrap();
        assert!(page.contains(".TH airside 1"), "{page}");
        assert!(page.contains("airside\\-up(1)"), "{page}");
        assert!(!page.contains("puller"), "hidden commands have no page");
    }

    #[test]
    fn every_command_that_is_shown_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("man1");
        let folder = Some(inner.clone());
        run(&Options { folder }, command()).unwrap();
        let names: Vec<String> = std::fs::read_dir(&inner)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        for name in ["airside.1", "airside-up.1", "airside-k8s-rbac.1"] {
            assert!(names.iter().any(|known| known == name), "{names:?}");
        }
        for hidden in ["airside-rt.1", "airside-help.1", "airside-k8s-help.1"] {
            assert!(names.iter().all(|known| known != hidden), "{names:?}");
        }
        let up = std::fs::read_to_string(inner.join("airside-up.1")).unwrap();
        assert!(up.contains("\\-\\-listen"), "{up}");
    }
}
