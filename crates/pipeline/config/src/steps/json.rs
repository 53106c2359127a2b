//! Reads a step back from its JSON: a step's kind is that of its key, as in a pipeline.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::detect::CORES;
use super::{Core, Step};
use crate::steps::modifiers;

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        let Some(core) = CORES.iter().find(|core| map.contains_key(core.key)) else {
            return Err(D::Error::custom("a step without a kind"));
        };
        let mut around = Map::new();
        for name in modifiers::names(core) {
            if let Some(value) = map.remove(name) {
                around.insert(name.to_owned(), value);
            }
        }
        Ok(Self {
            core: read_core(core.key, map).map_err(D::Error::custom)?,
            modifiers: from(around).map_err(D::Error::custom)?,
        })
    }
}

fn read_core(key: &str, map: Map<String, Value>) -> Result<Core, serde_json::Error> {
    Ok(match key {
        "get" => Core::Get(from(map)?),
        "put" => Core::Put(from(map)?),
        "task" => Core::Task(from(map)?),
        "run" => Core::Run(from(map)?),
        "set_pipeline" => Core::SetPipeline(from(map)?),
        "load_var" => Core::LoadVar(from(map)?),
        "try" => Core::Try(from(map)?),
        "do" => Core::Do(from(map)?),
        _ => Core::InParallel(from(map)?),
    })
}

fn from<T: DeserializeOwned>(map: Map<String, Value>) -> Result<T, serde_json::Error> {
    T::deserialize(Value::Object(map))
}
