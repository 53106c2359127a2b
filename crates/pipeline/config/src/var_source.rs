//! Var sources: where `((source:name))` variables come from.

use std::collections::{BTreeSet, HashMap, VecDeque};

use airside_yaml::Node;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reader::{Fields, Reader};
use crate::resource::named_path;
use crate::shape::{Field, Kind, Shape};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VarSource {
    pub name: String,
    #[serde(rename = "type")]
    pub type_: String,
    #[serde(default)]
    pub config: Value,
}

/// Types of var sources that a pipeline may use. Concourse has more, but only for whole
/// installations.
pub(crate) const TYPES: [&str; 5] = ["vault", "dummy", "ssm", "secretsmanager", "idtoken"];

pub(crate) static SHAPE: Shape = Shape {
    name: "var_source",
    doc: "A secret store of ((source:name)) variables.",
    fields: &[
        Field::required(
            "name",
            Kind::Text,
            "Name of the var source, before the colon of its variables.",
        ),
        Field::required("type", Kind::Word(&TYPES), "Kind of secret store."),
        Field::new(
            "config",
            Kind::Object,
            "Settings of the secret store; the fields depend on its type.",
        ),
    ],
};

pub(crate) fn read(reader: &mut Reader, node: &Node, path: &str) -> Option<VarSource> {
    reader.places.note(path, node.span);
    let path = named_path(reader, node, "var_sources", path);
    let mut fields = Fields::open(reader, node, &path, &SHAPE)?;
    let source = VarSource {
        name: fields.string("name"),
        type_: fields.string("type"),
        config: fields.json("config"),
    };
    fields.close();
    Some(source)
}

impl VarSource {
    /// The sources that its own config takes variables from.
    pub fn needs(&self) -> BTreeSet<String> {
        airside_vars::names_in(&self.config)
            .iter()
            .filter_map(|name| name.split_once(':'))
            .map(|(source, _)| source.to_owned())
            .collect()
    }
}

/// Sources in an order in which each comes after those it needs. Fails with the names of those that
/// need each other, or one that does not exist.
pub fn order_var_sources(sources: &[VarSource]) -> Result<Vec<&VarSource>, Vec<String>> {
    let needs: Vec<BTreeSet<String>> = sources.iter().map(VarSource::needs).collect();
    let mut missing: Vec<usize> = needs.iter().map(BTreeSet::len).collect();
    let mut waiting: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, needs) in needs.iter().enumerate() {
        for need in needs {
            waiting.entry(need).or_default().push(index);
        }
    }
    let mut ready: VecDeque<usize> = (0..sources.len()).filter(|i| missing[*i] == 0).collect();
    let mut ordered = Vec::new();
    while let Some(index) = ready.pop_front() {
        ordered.push(&sources[index]);
        for other in waiting
            .remove(sources[index].name.as_str())
            .into_iter()
            .flatten()
        {
            missing[other] -= 1;
            if missing[other] == 0 {
                ready.push_back(other);
            }
        }
    }
    if ordered.len() == sources.len() {
        return Ok(ordered);
    }
    let stuck = sources
        .iter()
        .zip(missing)
        .filter(|(_, missing)| *missing > 0);
    Err(stuck.map(|(source, _)| source.name.clone()).collect())
}
