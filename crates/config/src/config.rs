//! A whole pipeline.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reader::{Fields, Reader};
use crate::{Glob, Group, Job, Resource, Section};

/// A pipeline's configuration. Its JSON has Concourse's names and leaves out what is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<Display>,
    /// Anything; nobody but the pipeline's author reads it.
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

    /// The jobs that a get's `passed` names, patterns resolved, each once and in pipeline order.
    pub fn passed_jobs(&self, passed: &[String]) -> Vec<&Job> {
        let globs: Vec<Glob> = passed
            .iter()
            .filter_map(|pattern| Glob::new(pattern))
            .collect();
        self.jobs
            .iter()
            .filter(|job| globs.iter().any(|glob| glob.matches(&job.name)))
            .collect()
    }
}

/// Reads the top level. Keys that are no section are dropped: people keep anchors there.
pub(crate) fn read(mut fields: Fields<'_, '_>) -> Config {
    for (name, section) in [
        ("resource_types", Section::ResourceTypes),
        ("prototypes", Section::Prototypes),
        ("var_sources", Section::VarSources),
    ] {
        fields.reader.section = section;
        refuse_if_any(&mut fields, name);
    }
    let mut config = Config::default();
    fields.reader.section = Section::Groups;
    config.groups = fields.list("groups", crate::group::read);
    fields.reader.section = Section::Resources;
    config.resources = fields.list("resources", crate::resource::read);
    fields.reader.section = Section::Jobs;
    config.jobs = fields.list("jobs", crate::job::read);
    fields.reader.section = Section::Display;
    config.display = fields
        .take("display")
        .and_then(|node| read_display(fields.reader, node));
    fields.reader.section = Section::UserData;
    config.user_data = fields
        .take("user_data")
        .map(|node| fields.reader.json(node, "user_data"));
    config
}

fn refuse_if_any(fields: &mut Fields<'_, '_>, name: &'static str) {
    let Some(node) = fields.take(name) else {
        return;
    };
    if !fields.reader.items(node, name).is_empty() {
        let span = fields.key_span(name).unwrap_or(node.span);
        fields.reader.unsupported(name, span, &format!("`{name}`"));
    }
}

fn read_display(reader: &mut Reader, node: &airside_yaml::Node) -> Option<Display> {
    let mut fields = Fields::open(reader, node, "display")?;
    let display = Display {
        background_image: fields.string("background_image"),
        background_filter: fields.string("background_filter"),
    };
    fields.close();
    Some(display)
}
