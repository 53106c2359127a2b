//! Secrets for a run, and variables that have no value: found before anything begins.

use std::{collections::BTreeSet, path::PathBuf};

use airside_config::{Config, inputs, outputs};
use airside_vars::Reference;
use clap::Args;
use serde_json::{Map, Value};

use super::{folders::Folder, order::Order};

#[derive(Args, Default)]
#[command(next_help_heading = "Secrets")]
pub(crate) struct SecretOptions {
    /// Secret value of a variable, hidden in all output; visible to other users of this machine, so
    /// prefer the file. Can be repeated
    #[arg(long = "secret", value_name = "NAME=VALUE", hide_env_values = true)]
    secrets: Vec<String>,

    /// YAML file with secret values of variables; the last of several wins. Can be repeated
    #[arg(long = "secrets-file", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl SecretOptions {
    /// Returns the files with secrets.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Gives the secrets by name. What is wrong is told without the values.
    pub(crate) fn read(&self) -> Result<Map<String, Value>, String> {
        let mut secrets = Map::new();
        for path in &self.files {
            let shown = path.display();
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read --secrets-file {shown}: {error}"))?;
            let read = airside_yaml::parse(&text).and_then(|node| node.to_json());
            match read {
                Ok(Value::Object(map)) => secrets.extend(map),
                Ok(Value::Null) => {}
                _ => {
                    let words = "is no YAML map: secrets are written `name: value`";
                    return Err(format!("--secrets-file {shown} {words}"));
                }
            }
        }
        for given in &self.secrets {
            let Some((name, value)) = given.split_once('=') else {
                let words = "expects NAME=VALUE, but there is no `=`";
                return Err(format!("in --secret: {words}"));
            };
            secrets.insert(name.to_owned(), value.into());
        }
        Ok(secrets)
    }
}

/// Returns a message that names the variables of the jobs, and of their resources, that have no
/// value.
pub(crate) fn problem(
    config: &Config,
    order: &Order,
    folders: &[Folder],
    secrets: &Map<String, Value>,
) -> Option<String> {
    let undefined: Vec<String> = needed(config, order, folders)
        .into_iter()
        .filter(|reference| reference.source.is_empty() && !secrets.contains_key(&reference.path))
        .map(|reference| format!("(({reference}))"))
        .collect();
    if undefined.is_empty() {
        return None;
    }
    Some(format!(
        "no value is known for {}: give it with -v NAME=VALUE or -l FILE, or, if it is a secret, with \
         --secrets-file FILE",
        undefined.join(", ")
    ))
}

/// Gives the variables that are left in the chosen jobs and in what they get and put.
fn needed(config: &Config, order: &Order, folders: &[Folder]) -> BTreeSet<Reference> {
    let jobs = config.jobs.iter().filter(|job| order.has(&job.name));
    let (mut resources, mut values) = (BTreeSet::new(), Vec::new());
    for job in jobs {
        let given = |name: &String| folders.iter().any(|folder| folder.resource == *name);
        let fetched = inputs(job).into_iter().map(|input| input.resource);
        resources.extend(fetched.filter(|name| !given(name)));
        resources.extend(outputs(job).into_iter().map(|output| output.resource));
        values.extend(serde_json::to_value(job));
    }
    let used = resources.iter().filter_map(|name| config.resource(name));
    values.extend(used.flat_map(serde_json::to_value));
    let names = values.iter().flat_map(airside_vars::names_in);
    let references = names.map(|name| Reference::parse(&name));
    references.flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::order::Choice, *};

    const PIPELINE: &str = "
resources:
- {name: a, type: git, source: {uri: ((uri))}}
- {name: b, type: git, source: {uri: ((other))}}
var_sources: [{name: v, type: dummy, config: {vars: {}}}]
jobs:
- name: one
  plan:
  - get: a
  - task: t
    config: {platform: linux, run: {path: echo, args: [((word.field)), ((v:x)), ((.:y)), ((word))]}}
- name: two
  plan: [{task: t, file: ((file))}]
- name: three
  plan: [{get: b}]
";

    fn words(jobs: &[&str], folders: &[Folder], secrets: Value) -> Option<String> {
        let loaded = airside_config::load(PIPELINE).unwrap();
        let jobs: Vec<String> = jobs.iter().map(|job| (*job).to_owned()).collect();
        let order = Order::new(&loaded.config, Choice::Only(&jobs)).unwrap();
        problem(
            &loaded.config,
            &order,
            folders,
            secrets.as_object().unwrap(),
        )
    }

    #[test]
    fn all_variables_without_a_value_are_named_at_once() {
        let all = words(&["one", "two"], &[], json!({})).unwrap();
        let expected =
            "no value is known for ((file)), ((uri)), ((word)), ((word.field)): give it with -v";
        assert!(all.starts_with(expected), "{all}");
        let secrets = json!({"word": {"field": "x"}, "uri": "u"});
        assert_eq!(words(&["one"], &[], secrets), None);
        let folder = Folder {
            resource: "a".to_owned(),
            path: ".".into(),
        };
        assert_eq!(words(&["one"], &[folder], json!({"word": 1})), None);
    }

    #[test]
    fn secrets_are_read_and_not_shown() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "a: one\nb: {c: two}\n").unwrap();
        let options = |secrets: &[&str]| SecretOptions {
            secrets: secrets.iter().map(|text| (*text).to_owned()).collect(),
            files: vec![file.path().to_owned()],
        };
        let read = options(&["a=x=y"]).read().map(Value::Object);
        assert_eq!(read, Ok(json!({"a": "x=y", "b": {"c": "two"}})));
        let words = options(&["hunter2"]).read().unwrap_err();
        assert!(!words.contains("hunter2"), "{words}");
        std::fs::write(&file, "[hunter2]").unwrap();
        let words = options(&[]).read().unwrap_err();
        assert!(
            words.contains("is no YAML map") && !words.contains("hunter2"),
            "{words}"
        );
    }
}
