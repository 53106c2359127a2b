//! `airside images status`: sets by nodes, as a table.

use std::io::IsTerminal as _;

use airside_image_operator::{Overview, Style, table};
use anyhow::Result;
use clap::{Args, ValueEnum};

use airside_app::{colours, printing::try_print, server};

pub(crate) const EXAMPLES: &str = "\
Examples:
  # Show all ImageSets
  airside images status

  # Show them again whenever something changes, until Ctrl-C
  airside images status --watch

  # Print the ImageSets of one namespace as JSON
  airside images status -n team -o json";

/// Moves the cursor home and clears the screen below it.
const CLEAR: &str = "\x1b[H\x1b[J";

#[derive(Args)]
pub(crate) struct Options {
    /// Namespace whose ImageSets are shown [default: all namespaces]
    #[arg(long, short, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Show the status again whenever it changes
    #[arg(long, short)]
    watch: bool,

    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A table of ImageSets by node
    Table,
    /// JSON, for programs
    Json,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    server::on_threads(async {
        let client = airside_image_operator::client().await?;
        let mut shown = Ok(true);
        let mut last = String::new();
        airside_image_operator::follow(&client, |seen| {
            shown = show(options, seen, &mut last);
            options.watch && matches!(shown, Ok(true))
        })
        .await;
        shown.map(|_| ())
    })
}

/// Returns false once standard output has no reader.
fn show(options: &Options, seen: &Overview, last: &mut String) -> Result<bool> {
    let mut seen = seen.clone();
    let is_wanted =
        |namespace: &String| options.namespace.as_ref().is_none_or(|it| it == namespace);
    seen.sets.retain(|set| is_wanted(&set.namespace));
    let text = match options.output {
        Output::Json => serde_json::to_string_pretty(&seen)? + "\n",
        Output::Table if std::io::stdout().is_terminal() => table(&seen, Style::Terminal),
        Output::Table => table(&seen, Style::Plain),
    };
    // Unchanged output is not repeated.
    if text == *last {
        return Ok(true);
    }
    let clear = if options.watch && colours::stdout_has_cursor() {
        CLEAR
    } else {
        ""
    };
    let has_reader = try_print(&format!("{clear}{text}"))?;
    *last = text;
    Ok(has_reader)
}
