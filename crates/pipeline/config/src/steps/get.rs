//! `get`: fetches a version of a resource.

use airside_model::plan::GetPlan;
use airside_model::{Plan, PlanNode, Version};
use airside_yaml::Value;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Map;

use crate::base_type::Pulled;
use crate::plan::{PlanError, Planner};
use crate::problem::Fix;
use crate::reader::Fields;
use crate::shape::{Field, Kind, Shape};
use crate::validate::Checker;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetStep {
    #[serde(rename = "get")]
    pub name: String,
    /// Resource, if it differs from the name; see [`GetStep::resource`].
    #[serde(default, rename = "resource", skip_serializing_if = "String::is_empty")]
    pub raw_resource: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionSpec>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, serde_json::Value>,
    /// Names or patterns of jobs that the version must have passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trigger: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timeout: String,
}

pub(crate) static SHAPE: Shape = Shape {
    name: "get_step",
    doc: "Fetches a version of a resource.",
    fields: &[
        Field::required(
            "get",
            Kind::Text,
            "Name of the resource, and of the artifact.",
        ),
        Field::new(
            "resource",
            Kind::Text,
            "Name of the resource, if it differs from the artifact's.",
        ),
        Field::new(
            "passed",
            Kind::Texts,
            "Names or patterns of jobs that the version must have passed.",
        ),
        Field::new("trigger", Kind::Flag, "Start a build for each new version."),
        Field::new(
            "version",
            Kind::GetVersion,
            "Version to get: latest, every, or a fixed one.",
        ),
        Field::new(
            "params",
            Kind::Object,
            "Params of the get; the fields depend on the type.",
        ),
        Field::new(
            "tags",
            Kind::Texts,
            "Tags of the workers that run the step.",
        ),
        Field::new(
            "timeout",
            Kind::Duration,
            "Timeout of the step, without the time to fetch its image.",
        ),
    ],
};

/// The version of a resource that an input wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum VersionSpec {
    #[default]
    Latest,
    Every,
    Pinned(Version),
    /// Some other word. Concourse takes it for the latest, and shows it as an empty one.
    Unclear,
}

impl Serialize for VersionSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Latest => serializer.serialize_str("latest"),
            Self::Every => serializer.serialize_str("every"),
            Self::Pinned(version) => version.serialize(serializer),
            Self::Unclear => serializer.serialize_str(""),
        }
    }
}

impl<'de> Deserialize<'de> for VersionSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Word(String),
            Pinned(Version),
        }
        match Written::deserialize(deserializer)? {
            Written::Word(word) => Ok(Self::from_word(&word)),
            Written::Pinned(version) => Ok(Self::Pinned(version)),
        }
    }
}

impl VersionSpec {
    fn from_word(word: &str) -> Self {
        match word {
            "latest" => Self::Latest,
            "every" => Self::Every,
            _ => Self::Unclear,
        }
    }
}

pub(super) fn read(fields: &mut Fields<'_, '_>) -> GetStep {
    GetStep {
        name: fields.string("get"),
        raw_resource: fields.string("resource"),
        version: read_version(fields),
        params: fields.object("params").unwrap_or_default(),
        passed: fields.strings("passed"),
        trigger: fields.flag("trigger"),
        tags: fields.strings("tags"),
        timeout: fields.duration("timeout", &[]),
    }
}

/// The values of a pinned version must be strings as written: `1.10` without quotes is the number
/// 1.1, which is not the version that was meant.
fn read_version(fields: &mut Fields<'_, '_>) -> Option<VersionSpec> {
    let node = fields.take("version")?;
    let path = fields.path_of("version");
    fields.reader.places.note(path.clone(), node.span);
    let reader = &mut *fields.reader;
    if let Value::Map(_) = &node.value {
        let pinned = reader.map(node, &path, |reader, value, path| match &value.value {
            Value::String(_) => reader.text(value, path),
            other => {
                let message = format!(
                    "must be a string, but is {}; put it in quotes",
                    other.kind()
                );
                reader.problem(path, value.span, message);
                if other.scalar_text().is_some() {
                    reader.fix(Fix::quote(value.span));
                }
                String::new()
            }
        });
        return Some(VersionSpec::Pinned(Version(pinned)));
    }
    let word = reader.text(node, &path);
    // What is not text has been complained about.
    node.value.scalar_text()?;
    if let Some(var) = airside_vars::first(&word) {
        let message = format!("the variable (({var})) needs a value when the pipeline is set");
        reader.problem(&path, node.span, message);
    }
    // Written by those who mean that there is none.
    (word != "nil").then(|| VersionSpec::from_word(&word))
}

impl GetStep {
    /// The resource it fetches.
    pub fn resource(&self) -> &str {
        if self.raw_resource.is_empty() {
            &self.name
        } else {
            &self.raw_resource
        }
    }

    pub(super) fn check(&self, path: &str, checker: &mut Checker<'_>) {
        let path = format!("{path}.get({})", self.name);
        checker.identifier(&self.name, &path);
        if !checker.seen_gets.insert(self.name.clone()) {
            checker.problem(&path, "repeated name");
        }
        if self.version == Some(VersionSpec::Unclear) {
            let place = format!("{path}.version");
            let message = format!(
                "{place}: is not `latest`, `every` or a version such as {{ref: abc}}, and counts as `latest`"
            );
            checker.warning("pipeline", &place, message);
        }
        checker.resource_exists(self.resource(), &path);
        for (index, pattern) in self.passed.iter().enumerate() {
            self.check_passed(pattern, &path, index, checker);
        }
    }

    fn check_passed(&self, pattern: &str, path: &str, index: usize, checker: &mut Checker<'_>) {
        let span = checker.places.find(&format!("{path}.passed[{index}]"));
        let path = format!("{path}.passed");
        let config = checker.config;
        let matching = match checker.passed_jobs(pattern) {
            Ok(matching) => matching,
            Err(message) => return checker.problem_at(&path, span, message),
        };
        if matching.is_empty() {
            let names = config.jobs.iter().map(|job| job.name.as_str());
            let hint = checker.hint(pattern, names);
            let message = format!("no matching job(s) for '{pattern}'{hint}");
            return checker.problem_at(&path, span, message);
        }
        for index in matching {
            if !checker.steps_missing && !checker.index.touches(index, self.resource()) {
                let message = format!(
                    "job '{}' does not interact with resource '{}'",
                    config.jobs[index].name,
                    self.resource()
                );
                checker.problem_at(&path, span, message);
            }
        }
    }

    pub(super) fn plan(&self, planner: &mut Planner<'_>) -> Result<Plan, PlanError> {
        let resource = planner.resource(&self.name, self.resource())?;
        let version = planner.version(&self.name)?;
        let tags = planner.tags(&self.tags);
        let id = planner.next_id()?;
        let image = planner.image(&id, &resource.type_, &tags, false)?;
        let Pulled { type_, source } = planner.pulled(resource);
        let get = PlanNode::Get(GetPlan {
            name: self.name.clone(),
            type_,
            resource: resource.name.clone(),
            source,
            image,
            params: self.params.clone(),
            version: Some(version),
            version_from: None,
            tags,
            timeout: self.timeout.clone(),
        });
        Ok(Plan::new(id, get))
    }
}
