//! `airside doctor`: the means of this machine for local steps, as a table.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use airside_app::{options::find_shim, printing::print};
use airside_runtime_local::{IdRange, Means, MeansState, examine};
use anyhow::Result;
use clap::Args;

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Show what this machine has, and what it lacks
  airside doctor

  # Examine another data directory, since some requirements depend on its file system
  airside doctor --data /var/lib/airside";

pub(crate) const EXIT_STATUS: &str = "\
Exit status:
  0  steps can run on this machine, though maybe less isolated than they could be
  1  no step can run on this machine";

#[derive(Args)]
pub(crate) struct Options {
    /// Data directory of `airside up`; it need not exist
    #[arg(long, value_name = "DIR", default_value = "airside-data")]
    data: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let helper = [
        std::env::current_exe()?.into_os_string(),
        OsString::from("rt"),
    ];
    let folder = existing(&options.data);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut found = vec![shim()];
    found.extend(examine(&folder, &helper, IdRange::default()));
    found.push(landlock());
    print(&table(&found))?;
    let is_stuck = |means: &Means| matches!(means.state, MeansState::Missing(_));
    Ok(if found.iter().any(is_stuck) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Returns the folder, or the one around it in which it would be made.
fn existing(folder: &Path) -> &Path {
    let mut all = folder.ancestors().filter(|it| !it.as_os_str().is_empty());
    all.find(|it| it.is_dir()).unwrap_or_else(|| Path::new("."))
}

fn shim() -> Means {
    let state = match find_shim(None) {
        Ok(path) => MeansState::Present(path.display().to_string()),
        Err(error) => MeansState::Missing(format!("{error:#}")),
    };
    Means {
        name: "shim",
        purpose: "the first process of each step",
        state,
    }
}

fn landlock() -> Means {
    let state = if airside_sandbox::has_landlock() {
        MeansState::Present("enforced by the kernel".to_owned())
    } else {
        MeansState::Lacking(
            "not in this kernel: it takes Linux 5.13, with `landlock` in the list of `lsm=`"
                .to_owned(),
        )
    };
    Means {
        name: "Landlock",
        purpose: "closing files to native checks and image pulls",
        state,
    }
}

/// Returns a row for each means. The last column is as long as it must be.
fn table(found: &[Means]) -> String {
    let row = |means: &Means| match &means.state {
        MeansState::Present(text) => ["ok", means.name, means.purpose, text].map(str::to_owned),
        MeansState::Lacking(text) => {
            ["lacking", means.name, means.purpose, text].map(str::to_owned)
        }
        MeansState::Missing(text) => {
            ["MISSING", means.name, means.purpose, text].map(str::to_owned)
        }
    };
    let head = ["STATUS", "REQUIREMENT", "FOR", "FOUND, OR HOW TO GET IT"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(found.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2].map(|column| width(column).unwrap_or_default());
    let line = |[status, name, purpose, text]: &[String; 4]| {
        let [first, second, third] = widths;
        format!("{status:first$}  {name:second$}  {purpose:third$}  {text}\n")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_is_there_and_how_to_get_the_rest() {
        let means = |name, state| Means {
            name,
            purpose: "steps",
            state,
        };
        let found = [
            means("rights", MeansState::Present("root".to_owned())),
            means("nft", MeansState::Lacking("install nftables".to_owned())),
            means("shim", MeansState::Missing("build it".to_owned())),
        ];
        insta::assert_snapshot!(table(&found), @"
        STATUS   REQUIREMENT  FOR    FOUND, OR HOW TO GET IT
        ok       rights       steps  root
        lacking  nft          steps  install nftables
        MISSING  shim         steps  build it
        ");
    }

    #[test]
    fn a_data_folder_that_is_not_there_is_asked_about_where_it_would_be() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(existing(home.path()), home.path());
        assert_eq!(existing(&home.path().join("a/b")), home.path());
        assert_eq!(existing(Path::new("no-such-folder")), Path::new("."));
    }
}
