//! Parameters and secrets as AWS has them, without its signatures: for tests that must run wherever
//! moto is not.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::http::{Request, TestAnswer, serve};
use crate::AwsSettings;

/// One set of names that both services give out.
pub struct AwsStandIn {
    pub url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    values: BTreeMap<String, String>,
    asked: Vec<String>,
}

impl AwsStandIn {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let kept = state.clone();
        let url = serve(move |request| kept.lock().answer(&request));
        Self { url, state }
    }

    pub fn keep(&self, name: &str, value: &str) {
        let values = &mut self.state.lock().values;
        values.insert(name.to_owned(), value.to_owned());
    }

    /// Gives all names that it was asked for.
    pub fn asked(&self) -> Vec<String> {
        self.state.lock().asked.clone()
    }

    pub fn settings(&self) -> AwsSettings {
        AwsSettings {
            access_key: "id".to_owned(),
            secret_key: "key".to_owned(),
            region: "eu-west-1".to_owned(),
            endpoint: Some(self.url.clone()),
            ..AwsSettings::default()
        }
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> TestAnswer {
        let text = |key: &str| request.body[key].as_str().unwrap_or_default().to_owned();
        let target = request.headers.get("x-amz-target").map(String::as_str);
        match target.unwrap_or_default() {
            "AmazonSSM.GetParameter" => match self.value(text("Name")) {
                Some(value) => (200, json!({"Parameter": {"Value": value}})),
                None => (400, json!({"__type": "ParameterNotFound"})),
            },
            "AmazonSSM.GetParametersByPath" => {
                let folder = text("Path");
                self.asked.push(folder.clone());
                let folder = format!("{folder}/");
                let below = self.values.iter();
                let below = below.filter(|(name, _)| name.starts_with(&folder));
                let below = below.map(|(name, value)| json!({"Name": name, "Value": value}));
                (200, json!({"Parameters": below.collect::<Vec<Value>>()}))
            }
            "secretsmanager.GetSecretValue" => match self.value(text("SecretId")) {
                Some(value) => (200, json!({"SecretString": value})),
                None => (400, json!({"__type": "ResourceNotFoundException"})),
            },
            other => (400, json!({"__type": "UnknownOperation", "message": other})),
        }
    }

    fn value(&mut self, name: String) -> Option<String> {
        let value = self.values.get(&name).cloned();
        self.asked.push(name);
        value
    }
}
