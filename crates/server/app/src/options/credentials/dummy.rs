//! Values in the settings themselves.

use std::path::PathBuf;

use airside_secrets::Installation;
use anyhow::{Context, Result};
use serde_json::{Map, Value};

#[derive(clap::Args)]
#[command(next_help_heading = "Secrets in the settings")]
pub(crate) struct DummyOptions {
    /// Secret with its value as YAML; a team, or a team and a pipeline, in front restricts it to
    /// them. Can be repeated
    #[arg(
        long,
        value_name = "[TEAM/[PIPELINE/]]VAR=VALUE",
        hide_env_values = true
    )]
    dummy_creds_var: Vec<String>,

    /// File with secrets, one [TEAM/[PIPELINE/]]VAR=VALUE per line
    #[arg(long, value_name = "FILE")]
    dummy_creds_var_file: Option<PathBuf>,

    /// Values that the program itself gives, by team and name.
    #[arg(skip)]
    pub(super) given: Map<String, Value>,
}

impl DummyOptions {
    pub(super) fn installation(&self) -> Result<Option<Installation>> {
        let mut values = self.given.clone();
        for given in &self.dummy_creds_var {
            let (name, value) = read(given).context("in --dummy-creds-var")?;
            values.insert(name, value);
        }
        if let Some(file) = &self.dummy_creds_var_file {
            let shown = file.display();
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read --dummy-creds-var-file {shown}"))?;
            let lines = text.lines().enumerate();
            for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
                let (name, value) =
                    read(line).with_context(|| format!("{shown}:{}", number + 1))?;
                values.insert(name, value);
            }
        }
        Ok((!values.is_empty()).then(|| Installation::dummy(values)))
    }
}

/// Reads a variable and its value. Errors do not show the value.
fn read(given: &str) -> Result<(String, Value)> {
    let (name, value) = given
        .split_once('=')
        .context("expects NAME=VALUE, but there is no `=`")?;
    let value = airside_yaml::parse(value)
        .ok()
        .and_then(|node| node.to_json().ok())
        .with_context(|| format!("the value of {name} is not YAML"))?;
    Ok((name.to_owned(), value))
}
