//! Secrets for a run: by name, from the command line, variables of the environment and files.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Map, Value};

/// Bytes of one file with a secret: beyond any key or certificate.
const MAX_SECRET_BYTES: u64 = 1 << 20;

#[derive(Args, Default)]
#[command(next_help_heading = "Secrets")]
pub(crate) struct SecretOptions {
    /// Secret value of a variable, hidden in all output; NAME alone takes the value of the
    /// environment variable NAME, where other users of this machine cannot see it. Can be repeated
    #[arg(long = "secret", value_name = "NAME[=VALUE]", hide_env_values = true)]
    secrets: Vec<String>,

    /// File with the secret value of one variable; the line break at the end of a single line is
    /// not part of it. Can be repeated
    #[arg(long = "secret-file", value_name = "NAME=FILE", value_parser = named_file)]
    named_files: Vec<NamedFile>,

    /// YAML file with secret values of variables; the last of several wins. Can be repeated
    #[arg(long = "secrets-file", value_name = "FILE")]
    files: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
struct NamedFile {
    name: String,
    path: PathBuf,
}

fn named_file(text: &str) -> Result<NamedFile, String> {
    let (name, path) = text
        .split_once('=')
        .filter(|(name, path)| !name.is_empty() && !path.is_empty())
        .ok_or("the file of a secret is written NAME=FILE")?;
    Ok(NamedFile {
        name: name.to_owned(),
        path: PathBuf::from(path),
    })
}

impl SecretOptions {
    /// Returns the files with secrets.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let named = self.named_files.iter().map(|named| &named.path);
        self.files.iter().chain(named)
    }

    /// Returns the secrets by name. Errors do not contain the values.
    pub(crate) fn read(&self) -> Result<Map<String, Value>, String> {
        self.read_with(&|name| std::env::var(name).ok())
    }

    fn read_with(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Map<String, Value>, String> {
        let mut secrets = Map::new();
        for path in &self.files {
            secrets.extend(read_map(path)?);
        }
        for NamedFile { name, path } in &self.named_files {
            let value = read_value(path).map_err(|error| {
                format!(
                    "cannot read --secret-file {name}={}: {error}",
                    path.display(),
                    error = airside_model::chain(&error)
                )
            })?;
            secrets.insert(name.clone(), value.into());
        }
        for given in &self.secrets {
            let (name, value) = match given.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (given.as_str(), from_environment(given, environment)?),
            };
            secrets.insert(name.to_owned(), value.into());
        }
        Ok(secrets)
    }
}

/// The text may be a secret that was given without its name, so the error does not repeat it.
fn from_environment(
    name: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let is_name = !name.is_empty() && !name.contains('\0');
    is_name.then(|| environment(name)).flatten().ok_or_else(|| {
        "in --secret: without `=` it names an environment variable with the value, and there is none of that \
         name (or it is not text); write NAME=VALUE, or set the variable"
            .to_owned()
    })
}

fn read_map(path: &Path) -> Result<Map<String, Value>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!(
            "cannot read --secrets-file {shown}: {}",
            airside_model::chain(&error)
        )
    })?;
    match airside_yaml::parse(&text).and_then(|node| node.to_json()) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        _ => Err(format!(
            "--secrets-file {shown} is not a YAML map: secrets are written `name: value`"
        )),
    }
}

/// Passwords are written by `echo`, which ends the line; keys of several lines need their last one
/// ended.
fn read_value(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?
        .take(MAX_SECRET_BYTES + 1)
        .read_to_string(&mut text)?;
    if read as u64 > MAX_SECRET_BYTES {
        return Err(io::Error::other("it has more than 1 MiB"));
    }
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    Ok(if line.contains('\n') {
        text
    } else {
        line.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_read_and_not_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "a: one\nb: {c: two}\n").unwrap();
        let options = |secrets: &[&str]| SecretOptions {
            secrets: secrets.iter().map(|text| (*text).to_owned()).collect(),
            files: vec![file.path().to_owned()],
            named_files: Vec::new(),
        };
        let read = options(&["a=x=y"]).read().map(Value::Object);
        assert_eq!(read, Ok(json!({"a": "x=y", "b": {"c": "two"}})));
        let words = options(&["hunter2"]).read().unwrap_err();
        assert!(!words.contains("hunter2"), "{words}");
        std::fs::write(&file, "[hunter2]").unwrap();
        let words = options(&[]).read().unwrap_err();
        assert!(
            words.contains("is not a YAML map") && !words.contains("hunter2"),
            "{words}"
        );
    }

    #[test]
    fn a_name_alone_stands_for_a_variable_of_the_environment() {
        let options = SecretOptions {
            secrets: vec!["TOKEN".to_owned(), "other=plain".to_owned()],
            ..SecretOptions::default()
        };
        let environment = |name: &str| (name == "TOKEN").then(|| "a=b".to_owned());
        let read = options.read_with(&environment).map(Value::Object);
        assert_eq!(read, Ok(json!({"TOKEN": "a=b", "other": "plain"})));
        let words = options.read_with(&|_| None).unwrap_err();
        assert!(words.contains("an environment variable"), "{words}");
    }

    #[test]
    fn a_file_of_one_line_counts_without_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (content, value) in [
            ("word\n", "word"),
            ("word\r\n", "word"),
            ("word", "word"),
            ("", ""),
            ("one\ntwo\n", "one\ntwo\n"),
        ] {
            std::fs::write(&file, content).unwrap();
            assert_eq!(read_value(file.path()).unwrap(), value, "{content:?}");
        }
        std::fs::write(&file, vec![b'x'; MAX_SECRET_BYTES as usize + 1]).unwrap();
        assert!(read_value(file.path()).is_err());
    }
}
