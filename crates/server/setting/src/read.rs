//! From the text of a pipeline, and values for its variables, to a configuration that makes sense.

use airside_config::{Loaded, api_errors, load};
use airside_model::chain;
use airside_tasks::Panicked;
use airside_vars::{Chain, Given, Lookup};
use serde_json::{Map, Value};

/// The reasons for which a text is no pipeline.
#[derive(Debug, thiserror::Error)]
pub enum ReadPipelineError {
    /// Values were to be put in, and the text is no document or a variable cannot be filled.
    #[error("the values of variables cannot be put into the pipeline: {0}")]
    Unfilled(String),
    /// The pipeline makes no sense; all mistakes, in `fly`'s words and without values.
    #[error("invalid pipeline: {}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("reading the configuration failed")]
    Interrupted(#[from] Panicked),
}

/// Reads and validates a pipeline in YAML or JSON, after the values in `given` were put in; the
/// first map that knows a variable wins, and variables without a value stay. A long text takes a
/// while, for which others would wait on this thread.
pub async fn read_pipeline(
    text: String,
    given: Vec<Map<String, Value>>,
) -> Result<Loaded, ReadPipelineError> {
    airside_tasks::blocking("configuration", move || read(&text, given)).await?
}

fn read(text: &str, given: Vec<Map<String, Value>>) -> Result<Loaded, ReadPipelineError> {
    let loaded = if given.iter().all(Map::is_empty) {
        load(text)
    } else {
        load(&filled(text, given).map_err(ReadPipelineError::Unfilled)?)
    };
    loaded.map_err(|problems| ReadPipelineError::Invalid(api_errors(&problems)))
}

/// Returns the document with the values put in, as JSON.
fn filled(text: &str, given: Vec<Map<String, Value>>) -> Result<String, String> {
    let given: Vec<Given> = given.into_iter().map(Given).collect();
    let values = Chain(given.iter().map(|vars| vars as &dyn Lookup).collect());
    let document = airside_yaml::parse(text).and_then(|node| node.to_json());
    let document = document.map_err(|error| chain(&error))?;
    let filled = airside_vars::interpolate(document, &values).map_err(|error| chain(&error))?;
    Ok(filled.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn vars(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[tokio::test]
    async fn values_are_put_in_and_others_stay() {
        let text = "jobs: [{name: ((job)), plan: [{load_var: v, file: ((file))}]}]".to_owned();
        let given = vec![vars(json!({"job": "a"})), vars(json!({"job": "b"}))];
        let loaded = read_pipeline(text, given).await.unwrap();
        assert_eq!(loaded.config.jobs[0].name, "a");
        let stored = serde_json::to_string(&loaded.config).unwrap();
        assert!(stored.contains("((file))"), "{stored}");
    }

    #[tokio::test]
    async fn mistakes_are_told_apart() {
        let some = || vec![vars(json!({"a": 1}))];
        for (text, given, is_unfilled) in [
            ("a: [", some(), true),
            ("a: [", Vec::new(), false),
            ("jobs: [{}]", some(), false),
            ("jobs: [{}]", vec![Map::new()], false),
        ] {
            let error = read_pipeline(text.to_owned(), given).await.unwrap_err();
            let unfilled = matches!(error, ReadPipelineError::Unfilled(_));
            assert_eq!(unfilled, is_unfilled, "{text}: {error}");
        }
    }
}
