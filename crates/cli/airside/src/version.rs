//! The version of this program, with the commit that it was built from.

use airside_app::printing::print;

/// Commit of the build; empty if the sources were not a clone.
const COMMIT: &str = env!("AIRSIDE_COMMIT");

/// Returns the version without the program's name, as clap shows it.
pub(crate) fn version() -> String {
    shown(env!("CARGO_PKG_VERSION"), COMMIT)
}

/// Prints the line that `airside --version` prints, too.
pub(crate) fn run() -> anyhow::Result<()> {
    Ok(print(&format!("airside {}\n", version()))?)
}

fn shown(version: &str, commit: &str) -> String {
    match commit {
        "" => version.to_owned(),
        commit => format!("{version} (commit {commit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_a_clone_has_no_commit() {
        assert_eq!(shown("0.1.0", ""), "0.1.0");
        assert_eq!(shown("0.1.0", "0123abc"), "0.1.0 (commit 0123abc)");
    }
}
