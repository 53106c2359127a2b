//! Errors that end the command. All begin alike, those that clap finds included.

use std::process::ExitCode;

use airside_app::{colours, printing::tell};

/// The beginning of an error that clap writes.
const OF_CLAP: &str = "error:";

/// Prints an error, if the command ended with one. Returns the command's exit status.
pub(crate) fn report(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("airside: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints a wrong usage as every other error is printed, and help as clap does.
pub(crate) fn report_usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let text = error.render();
        let text = if colours::on_stderr() {
            text.ansi().to_string()
        } else {
            text.to_string()
        };
        tell(begin_alike(&text).trim_end());
    } else {
        // If its reader went away, there is no better place for an error.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Replaces the beginning of an error of clap's, with or without colours. A text that is not an
/// error (the help for a command without its subcommand) stays as it is.
fn begin_alike(text: &str) -> String {
    match text.split_once(OF_CLAP) {
        Some((style, rest)) if style.is_empty() || style.starts_with('\x1b') => {
            format!("{style}airside:{rest}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_clap_begin_as_ours_do() {
        for (text, expected) in [
            ("error: no such option", "airside: no such option"),
            ("\x1b[1merror:\x1b[0m x", "\x1b[1mairside:\x1b[0m x"),
            ("Usage: airside\n error: x", "Usage: airside\n error: x"),
        ] {
            assert_eq!(begin_alike(text), expected);
        }
    }
}
