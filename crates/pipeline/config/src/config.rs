//! A whole pipeline.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base_type::{Pulled, registry_type};
use crate::reader::{Fields, Reader};
use crate::shape::{Field, Kind, Shape};
use crate::{
    Group, Job, PassedPattern, Problem, Resource, ResourceType, Section, VarSource, Warning,
};
use crate::{group, job, resource, resource_type, var_source};

/// A pipeline's configuration. Its JSON has Concourse's names and leaves out what is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub var_sources: Vec<VarSource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_types: Vec<ResourceType>,
    /// Prototypes, which have the fields of resource types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prototypes: Vec<ResourceType>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Free-form data for the pipeline's author; Airside does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Display {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub background_image: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub background_filter: String,
}

impl Config {
    pub fn job(&self, name: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.name == name)
    }

    pub fn resource(&self, name: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.name == name)
    }

    pub fn resource_type(&self, name: &str) -> Option<&ResourceType> {
        self.resource_types.iter().find(|type_| type_.name == name)
    }

    pub fn prototype(&self, name: &str) -> Option<&ResourceType> {
        self.prototypes.iter().find(|type_| type_.name == name)
    }

    /// The jobs that a get's `passed` names, patterns resolved, each once and in pipeline order.
    pub fn passed_jobs(&self, passed: &[String]) -> Vec<&Job> {
        let (patterns, names): (Vec<&String>, Vec<&String>) = passed
            .iter()
            .partition(|text| PassedPattern::is_pattern(text));
        let names: HashSet<&str> = names.into_iter().map(String::as_str).collect();
        let patterns: Vec<PassedPattern> = patterns
            .into_iter()
            .filter_map(|pattern| PassedPattern::new(pattern))
            .collect();
        self.jobs
            .iter()
            .filter(|job| {
                names.contains(job.name.as_str())
                    || patterns.iter().any(|pattern| pattern.matches(&job.name))
            })
            .collect()
    }
}

impl Config {
    /// Gives resources of base types the types and sources that checks and gets of them use.
    pub fn resolve_base_types(&mut self) {
        for resource in &mut self.resources {
            let is_own = |type_: &ResourceType| type_.name == resource.type_;
            if registry_type(&resource.type_).is_none() || self.resource_types.iter().any(is_own) {
                continue;
            }
            let pulled = Pulled::new(&resource.type_, resource.source.take().unwrap_or_default());
            resource.type_ = pulled.type_;
            resource.source = Some(pulled.source);
        }
    }
}

pub(crate) static SHAPE: Shape = Shape {
    name: "pipeline",
    doc: "A pipeline. Other keys at the top are left alone: people keep anchors there.",
    fields: &[
        Field::required("jobs", Kind::List(&job::SHAPE), "Jobs of the pipeline."),
        Field::new(
            "resources",
            Kind::List(&resource::SHAPE),
            "Resources that jobs get and put.",
        ),
        Field::new(
            "resource_types",
            Kind::List(&resource_type::SHAPE),
            "Resource types that the installation does not have.",
        ),
        Field::new(
            "prototypes",
            Kind::List(&resource_type::SHAPE),
            "Prototypes that run steps send messages to.",
        ),
        Field::new(
            "var_sources",
            Kind::List(&var_source::SHAPE),
            "Secret stores of ((source:name)) variables.",
        ),
        Field::new(
            "groups",
            Kind::List(&group::SHAPE),
            "Groups of jobs, shown as tabs.",
        ),
        Field::new(
            "display",
            Kind::Inner(&DISPLAY),
            "Appearance of the pipeline's page.",
        ),
        Field::new(
            "user_data",
            Kind::Anything,
            "Free-form data, which Airside only passes on.",
        ),
    ],
};

pub(crate) static DISPLAY: Shape = Shape {
    name: "display",
    doc: "Appearance of the pipeline's page.",
    fields: &[
        Field::new(
            "background_image",
            Kind::Text,
            "URL of a background image: http, https or relative.",
        ),
        Field::new(
            "background_filter",
            Kind::Text,
            "A CSS filter for the image.",
        ),
    ],
};

const MISCASED: &str = "miscased_key";
const MISSPELT: &str = "misspelt_key";

/// A key that is almost a section is none, which explains what else is wrong.
pub(crate) fn misspelt_problem(warning: &Warning) -> Option<Problem> {
    let is_no_section = [MISCASED, MISSPELT].contains(&warning.type_.as_str());
    is_no_section.then(|| Problem {
        section: Section::Jobs,
        path: None,
        message: warning.message.clone(),
        span: warning.span,
        fixes: Vec::new(),
    })
}

fn warn_of_misspelt(fields: &mut Fields<'_, '_>) {
    let miscased = fields.miscased().into_iter();
    let found: Vec<_> = miscased
        .map(|found| (MISCASED, found))
        .chain(fields.misspelt().into_iter().map(|found| (MISSPELT, found)))
        .collect();
    for (type_, (key, section)) in found {
        let message = format!(
            "key `{}` is ignored: the section is called `{section}`",
            key.text
        );
        fields.reader.warning(type_, key.span, message);
    }
}

/// Reads the top level. Keys that are not sections are dropped: people keep anchors there.
pub(crate) fn read(mut fields: Fields<'_, '_>) -> Config {
    let mut config = Config::default();
    warn_of_misspelt(&mut fields);
    fields.reader.section = Section::Groups;
    config.groups = fields.list("groups", group::read);
    fields.reader.section = Section::VarSources;
    config.var_sources = fields.list("var_sources", var_source::read);
    fields.reader.section = Section::Resources;
    config.resources = fields.list("resources", resource::read);
    fields.reader.section = Section::ResourceTypes;
    config.resource_types = fields.list("resource_types", |reader, node, path| {
        resource_type::read(reader, node, "resource_types", path)
    });
    fields.reader.section = Section::Prototypes;
    config.prototypes = fields.list("prototypes", |reader, node, path| {
        resource_type::read(reader, node, "prototypes", path)
    });
    fields.reader.section = Section::Jobs;
    config.jobs = fields.list("jobs", job::read);
    fields.reader.section = Section::Display;
    config.display = fields
        .take("display")
        .and_then(|node| read_display(fields.reader, node));
    fields.reader.section = Section::UserData;
    config.user_data = Some(fields.json("user_data")).filter(|data| !data.is_null());
    config
}

fn read_display(reader: &mut Reader, node: &airside_yaml::Node) -> Option<Display> {
    let mut fields = Fields::open(reader, node, "display", &DISPLAY)?;
    let display = Display {
        background_image: fields.string("background_image"),
        background_filter: fields.string("background_filter"),
    };
    fields.close();
    Some(display)
}
