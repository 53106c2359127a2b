//! A task's configuration on its way from the pipeline or a file to what runs.
//!
//! In this order: the file, if there is one; the step's `vars` put into it; defaults of the image's
//! type; the step's limits and params laid over it; all other variables filled in; validated.

use airside_config::{LoadedTask, Problem, load_filled_task, load_task};
use airside_model::{ResourceType, TaskConfig, chain, plan::TaskPlan, task::ContainerLimits};
use airside_vars::Given;
use serde_json::Value;

use crate::{Result, StepError, files, files::NoFile, leaf::Leaf};

/// A configuration, and what is odd about it.
pub(crate) struct Resolved {
    pub(crate) config: Result<TaskConfig, String>,
    pub(crate) warnings: Vec<String>,
}

pub(crate) async fn resolve(leaf: Leaf<'_>, task: &TaskPlan) -> Result<Resolved, StepError> {
    let LoadedTask {
        mut config,
        warnings,
    } = load(leaf, task).await?;
    let warnings = warnings.into_iter().map(|warning| warning.message);
    let mut warnings: Vec<String> = warnings.collect();
    apply_defaults(&mut config, &task.resource_types);
    override_limits(&mut config, task.container_limits.as_ref());
    for (key, value) in &task.params {
        if config.params.insert(key.clone(), value.clone()).is_none() {
            let warning = format!("{key} was defined in pipeline but missing from task file");
            warnings.push(warning);
        }
    }
    let config = fill(leaf, &config).await;
    Ok(Resolved { config, warnings })
}

async fn load(leaf: Leaf<'_>, task: &TaskPlan) -> Result<LoadedTask, StepError> {
    if task.config_path.is_empty() {
        // Warnings about it were printed when the pipeline was set.
        let config = task.config.clone().map(|config| LoadedTask {
            config,
            warnings: Vec::new(),
        });
        return Ok(config.ok_or_else(|| "the task has no config".to_owned())?);
    }
    let path = &task.config_path;
    let bytes = files::read(leaf, path).await.map_err(|none| match none {
        NoFile::NotThere { .. } => format!("task config '{path}' not found").into(),
        none => none.step_error(path),
    })?;
    let text = with_vars(String::from_utf8_lossy(&bytes).into_owned(), task)?;
    let made = read_config(&text);
    Ok(made.map_err(|words| format!("failed to create task config from bytes {path}: {words}"))?)
}

/// The file with the step's own `vars` put in; those it does not name stay.
fn with_vars(text: String, task: &TaskPlan) -> Result<String, String> {
    if task.vars.is_empty() {
        return Ok(text);
    }
    let path = &task.config_path;
    let failed = |words: String| format!("failed to create task config from bytes {path}: {words}");
    let node = airside_yaml::parse(&text).map_err(|error| failed(chain(&error)))?;
    let value = node.to_json().map_err(|error| failed(chain(&error)))?;
    let filled = airside_vars::interpolate(value, &Given(task.vars.clone()))
        .map_err(|error| format!("failed to interpolate task config: {}", chain(&error)))?;
    Ok(filled.to_string())
}

async fn fill(leaf: Leaf<'_>, config: &TaskConfig) -> Result<TaskConfig, String> {
    let value = serde_json::to_value(config).map_err(|error| chain(&error))?;
    let filled = leaf.fill(value).await;
    let filled: Value =
        filled.map_err(|words| format!("failed to interpolate task config: {words}"))?;
    let loaded = load_filled_task(&filled.to_string()).map_err(words);
    loaded.map(|loaded| loaded.config)
}

fn read_config(text: &str) -> Result<LoadedTask, String> {
    load_task(text).map_err(words)
}

fn words(problems: Vec<Problem>) -> String {
    let lines = problems.iter().map(|problem| problem.message.as_str());
    let lines: Vec<String> = lines.map(|line| format!("\n  {line}")).collect();
    format!("invalid task configuration:{}", lines.concat())
}

/// A type of the pipeline's own may bring defaults for the source of its images.
fn apply_defaults(config: &mut TaskConfig, types: &[ResourceType]) {
    let Some(image) = &mut config.image_resource else {
        return;
    };
    let Some(type_) = types.iter().find(|type_| type_.name == image.type_) else {
        return;
    };
    if type_.defaults.is_empty() {
        return;
    }
    let mut source = type_.defaults.clone();
    source.extend(image.source.take().unwrap_or_default());
    image.source = Some(source);
}

fn override_limits(config: &mut TaskConfig, limits: Option<&ContainerLimits>) {
    let Some(limits) = limits else { return };
    let own = config.container_limits.get_or_insert_default();
    own.cpu = limits.cpu.or(own.cpu);
    own.memory = limits.memory.or(own.memory);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_limit_is_overridden_by_itself() {
        let mut config: TaskConfig =
            serde_json::from_value(json!({"container_limits": {"cpu": 1, "memory": 2}})).unwrap();
        let limits = |cpu, memory| ContainerLimits { cpu, memory };
        override_limits(&mut config, Some(&limits(Some(7), None)));
        assert_eq!(config.container_limits, Some(limits(Some(7), Some(2))));
        override_limits(&mut config, None);
        assert_eq!(config.container_limits, Some(limits(Some(7), Some(2))));
    }

    #[test]
    fn defaults_of_a_type_are_below_the_source() {
        let types = [ResourceType {
            name: "t".to_owned(),
            defaults: serde_json::from_value(json!({"a": 1, "b": 1})).unwrap(),
            ..ResourceType::default()
        }];
        let image = json!({"image_resource": {"type": "t", "source": {"b": 2}}});
        let mut config: TaskConfig = serde_json::from_value(image).unwrap();
        apply_defaults(&mut config, &types);
        let source = config.image_resource.unwrap().source.map(Value::Object);
        assert_eq!(source, Some(json!({"a": 1, "b": 2})));
    }

    #[test]
    fn vars_of_the_step_are_put_into_its_file() {
        let task = TaskPlan {
            config_path: "a/t.yml".to_owned(),
            vars: serde_json::from_value(json!({"x": "1"})).unwrap(),
            ..TaskPlan::default()
        };
        let text = "platform: linux\nrun: {path: \"((x))-((y))\"}";
        let filled: Value = serde_json::from_str(&with_vars(text.into(), &task).unwrap()).unwrap();
        assert_eq!(filled["run"]["path"], "1-((y))");
        let bad = with_vars("{".into(), &task).unwrap_err();
        assert!(bad.starts_with("failed to create task config from bytes a/t.yml: "));
    }

    #[test]
    fn unknown_fields_that_concourse_ignores_are_warnings() {
        let loaded = read_config("{platform: linux, run: {path: x, bogus: 1}}").unwrap();
        assert_eq!(loaded.config.run.path, "x");
        assert!(loaded.warnings[0].message.contains("bogus"), "{loaded:?}");
    }

    #[test]
    fn all_that_is_wrong_is_said() {
        let words = read_config("{run: {path: x}, inputs: [{}]}").unwrap_err();
        assert!(
            words.starts_with("invalid task configuration:\n  "),
            "{words}"
        );
        assert!(words.contains("missing 'platform'"), "{words}");
    }
}
