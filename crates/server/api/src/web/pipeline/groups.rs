//! Groups of a pipeline's jobs: which are shown, and the addresses that show others.

use airside_store::PipelineSummary;
use airside_ui::GroupTab;
use serde::Deserialize;
use url::form_urlencoded;

use crate::web::{PageRequest, links::pipeline_url};

/// The largest number of groups that an address can name.
const MAX_NAMED: usize = 64;

#[derive(Default, Deserialize)]
struct PipelineOutline {
    #[serde(default)]
    groups: Vec<NamedGroup>,
}

#[derive(Deserialize)]
struct NamedGroup {
    name: String,
}

/// The groups of a pipeline, and those that a request asks for.
pub(super) struct ShownGroups<'a> {
    pipeline: &'a PipelineSummary,
    names: Vec<String>,
    /// The groups that are shown; none shows all jobs.
    shown: Vec<String>,
    is_outline: bool,
}

impl<'a> ShownGroups<'a> {
    pub(super) fn of(pipeline: &'a PipelineSummary, request: &PageRequest) -> Self {
        let outline: PipelineOutline = serde_json::from_str(&pipeline.outline).unwrap_or_default();
        let query = request.uri.query().unwrap_or_default();
        let asked = form_urlencoded::parse(query.as_bytes())
            .filter(|(key, _)| key == "group")
            .map(|(_, name)| name.into_owned())
            .take(MAX_NAMED);
        let names: Vec<_> = outline.groups.into_iter().map(|group| group.name).collect();
        Self {
            shown: asked.filter(|name| names.contains(name)).collect(),
            is_outline: request.query("view").is_some_and(|view| view == "outline"),
            pipeline,
            names,
        }
    }

    /// Returns true if a job of these groups is shown.
    pub(super) fn show(&self, groups: &[String]) -> bool {
        self.shown.is_empty() || groups.iter().any(|group| self.shown.contains(group))
    }

    /// Returns a tab for all jobs, then one for each group.
    pub(super) fn tabs(&self) -> Vec<GroupTab> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let all = GroupTab {
            name: "All".to_owned(),
            href: self.address(&[], self.is_outline),
            toggle: self.address(&[], self.is_outline),
            is_shown: self.shown.is_empty(),
        };
        let groups = self.names.iter().map(|name| {
            let is_shown = self.shown.contains(name);
            let mut toggled: Vec<&str> = self.shown.iter().map(String::as_str).collect();
            if is_shown {
                toggled.retain(|other| other != name);
            } else {
                toggled.push(name);
            }
            GroupTab {
                name: name.clone(),
                href: self.address(&[name], self.is_outline),
                toggle: self.address(&toggled, self.is_outline),
                is_shown,
            }
        });
        std::iter::once(all).chain(groups).collect()
    }

    /// Returns the addresses of the graph and of the outline.
    pub(super) fn views(&self) -> (String, String) {
        let shown: Vec<&str> = self.shown.iter().map(String::as_str).collect();
        (self.address(&shown, false), self.address(&shown, true))
    }

    fn address(&self, groups: &[&str], is_outline: bool) -> String {
        let address = pipeline_url(self.pipeline, &[]);
        let (path, vars) = address.split_once('?').unwrap_or((&address, ""));
        let mut query = form_urlencoded::Serializer::new(vars.to_owned());
        for group in groups {
            query.append_pair("group", group);
        }
        if is_outline {
            query.append_pair("view", "outline");
        }
        match query.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}
