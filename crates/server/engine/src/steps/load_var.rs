//! `load_var`: makes a variable of the build from a file.

use airside_model::{chain, event::Source, plan::LoadVarPlan};
use serde_json::Value;

use crate::{
    Result, StepError, files, files::NoFile, leaf::Leaf, outcome::Outcome, scope::LocalVar,
    status::Status,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Yaml,
    Trim,
    Raw,
}

impl Format {
    fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "yml" | "yaml" => Some(Self::Yaml),
            "trim" => Some(Self::Trim),
            "raw" => Some(Self::Raw),
            _ => None,
        }
    }

    /// Chooses the format that the step names, else by the file's ending, else text without the
    /// spaces around it.
    fn choose(wanted: &str, file: &str) -> Result<Self, String> {
        if !wanted.is_empty() {
            return Self::named(wanted).ok_or_else(|| format!("invalid format {wanted}"));
        }
        let name = file.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        Ok(ending.and_then(Self::named).unwrap_or(Self::Trim))
    }

    fn read(self, file: &str, bytes: &[u8]) -> Result<Value, String> {
        let text = String::from_utf8_lossy(bytes);
        let failed = |format: &str, reason: String| {
            format!("failed to parse {file} in format {format}: {reason}")
        };
        match self {
            Self::Json => {
                serde_json::from_str(&text).map_err(|error| failed("json", chain(&error)))
            }
            Self::Yaml => airside_yaml::parse(&text)
                .and_then(|node| node.to_json())
                .map_err(|error| failed("yaml", chain(&error))),
            Self::Trim => Ok(Value::String(text.trim().to_owned())),
            Self::Raw => Ok(Value::String(text.into_owned())),
        }
    }
}

pub(crate) async fn run(leaf: Leaf<'_>, plan: &LoadVarPlan) -> Result<Status, StepError> {
    leaf.initialize().await?;
    let plan = filled(leaf, plan).await?;
    leaf.start().await?;
    let value = value(leaf, &plan).await?;
    let secret = !plan.reveal;
    if secret && let Err(words) = leaf.hide(std::slice::from_ref(&value)).await {
        let hint = "load a smaller file, or set `reveal: true` if it holds no secret";
        return Err(format!("{words}: {hint}").into());
    }
    let name = &plan.name;
    let lines = [
        ("fetched", format!("var {name} fetched.\n")),
        ("added", format!("added var {name} to build.\n")),
    ];
    for (what, line) in lines {
        leaf.print(what, Source::Stdout, &line).await?;
    }
    let mut outcome = Outcome::of(Status::Succeeded);
    let var = LocalVar { value, secret };
    outcome.hidden.vars.insert(name.clone(), var);
    Ok(leaf.finish(outcome).await?)
}

async fn filled(leaf: Leaf<'_>, plan: &LoadVarPlan) -> Result<LoadVarPlan, String> {
    let value = serde_json::to_value(plan).map_err(|error| chain(&error))?;
    serde_json::from_value(leaf.fill(value).await?).map_err(|error| chain(&error))
}

async fn value(leaf: Leaf<'_>, plan: &LoadVarPlan) -> Result<Value, StepError> {
    let file = &plan.file;
    if !file.contains('/') {
        return Err(format!("file '{file}' does not specify where the file lives").into());
    }
    let format = Format::choose(&plan.format, file)?;
    match files::read(leaf, file).await {
        Ok(bytes) => Ok(format.read(file, &bytes)?),
        Err(NoFile::UnknownArtifact { artifact, path }) => {
            Err(format!("unknown artifact source: '{artifact}' in file path '{path}'").into())
        }
        Err(none) => Err(none.step_error(file)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_format_is_said_or_seen() {
        for (wanted, file, format) in [
            ("", "a/b.json", Format::Json),
            ("", "a/b.yml", Format::Yaml),
            ("", "a/b.yaml", Format::Yaml),
            ("", "a/b.txt", Format::Trim),
            ("", "a/b", Format::Trim),
            ("", "a.json/b", Format::Trim),
            ("raw", "a/b.json", Format::Raw),
            ("yml", "a/b", Format::Yaml),
        ] {
            assert_eq!(Format::choose(wanted, file), Ok(format), "{wanted} {file}");
        }
        let wrong = Format::choose("toml", "a/b");
        assert_eq!(wrong, Err("invalid format toml".to_owned()));
    }

    #[test]
    fn files_become_values() {
        for (format, text, value) in [
            (Format::Json, r#"{"a": [1, "x"]}"#, json!({"a": [1, "x"]})),
            (Format::Yaml, "a: [1, x]", json!({"a": [1, "x"]})),
            (Format::Trim, " x\n", json!("x")),
            (Format::Raw, " x\n", json!(" x\n")),
        ] {
            assert_eq!(format.read("f", text.as_bytes()), Ok(value), "{text}");
        }
        for (format, text) in [(Format::Json, "{} {}"), (Format::Yaml, "{")] {
            let words = format.read("a/f", text.as_bytes()).unwrap_err();
            assert!(
                words.starts_with("failed to parse a/f in format "),
                "{words}"
            );
        }
    }
}
