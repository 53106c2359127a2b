//! Variables that have no value: found before anything begins.

use std::collections::BTreeSet;

use airside_config::{Config, Job, Leaf, inputs, outputs};
use airside_vars::Reference;
use serde_json::{Map, Value};

use super::{
    folders::{Folder, resource_types},
    order::Order,
};

/// The source of variables that a build sets itself: by `load_var` and `across`.
const LOCAL: &str = ".";

/// Returns a message that names the variables of the jobs, and of what they get and put, that have
/// no value.
pub(crate) fn problem(
    config: &Config,
    order: &Order,
    folders: &[Folder],
    secrets: &Map<String, Value>,
) -> Option<String> {
    let needed = needed(config, order, folders);
    let undefined: Vec<String> = needed
        .into_iter()
        .filter(|reference| match reference.source.as_str() {
            "" => !secrets.contains_key(&reference.path),
            LOCAL => false,
            source => config.var_sources.iter().all(|known| known.name != source),
        })
        .map(|reference| format!("(({reference}))"))
        .collect();
    if undefined.is_empty() {
        return None;
    }
    Some(format!(
        "no value is known for {}: give it with -v NAME=VALUE or -l FILE, or, if it is a secret, with \
         --secret NAME (from the environment), --secret-file NAME=FILE or --secrets-file FILE",
        undefined.join(", ")
    ))
}

/// Gives the variables that are left in the chosen jobs, in what they get and put, in the types of
/// that and of the images of tasks, and in the var sources that they name.
fn needed(config: &Config, order: &Order, folders: &[Folder]) -> BTreeSet<Reference> {
    let jobs = config.jobs.iter().filter(|job| order.has(&job.name));
    let (mut resources, mut values) = (BTreeSet::new(), Vec::new());
    for job in jobs.clone() {
        let given = |name: &String| folders.iter().any(|folder| folder.resource == *name);
        let fetched = inputs(job).into_iter().map(|input| input.resource);
        resources.extend(fetched.filter(|name| !given(name)));
        resources.extend(outputs(job).into_iter().map(|output| output.resource));
        values.extend(serde_json::to_value(job));
    }
    let used: Vec<_> = resources
        .iter()
        .filter_map(|name| config.resource(name))
        .collect();
    let images = jobs.clone().flat_map(image_types);
    let type_names = used.iter().map(|used| used.type_.clone()).chain(images);
    let types = type_names.flat_map(|name| resource_types(config, &name));
    values.extend(types.flat_map(serde_json::to_value));
    values.extend(used.iter().flat_map(serde_json::to_value));
    let mut references: BTreeSet<Reference> = values.iter().flat_map(references_in).collect();
    let sources = config.var_sources.iter();
    let named = sources.filter(|source| references.iter().any(|one| one.source == source.name));
    let configured: Vec<Value> = named.flat_map(serde_json::to_value).collect();
    references.extend(configured.iter().flat_map(references_in));
    references
}

/// Returns the types that the images of a job's tasks are fetched by. A task's file is not known
/// yet.
fn image_types(job: &Job) -> Vec<String> {
    let mut types = Vec::new();
    job.visit_leaves(&mut |leaf| {
        if let Leaf::Task(task) = leaf {
            let image = task
                .config
                .as_ref()
                .and_then(|it| it.image_resource.as_ref());
            types.extend(image.map(|image| image.type_.clone()));
        }
    });
    types
}

fn references_in(value: &Value) -> impl Iterator<Item = Reference> {
    let names = airside_vars::names_in(value).into_iter();
    names.filter_map(|name| Reference::parse(&name).ok())
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
    fn only_what_nothing_else_gives_is_named() {
        let pipeline = "
resource_types:
- {name: own, type: registry-image, source: {repository: r, password: ((type_word))}}
- {name: below, type: registry-image, source: {repository: r, password: ((below_word))}}
- {name: images, type: below, source: {token: ((image_word))}}
resources: [{name: a, type: own, source: {}}]
var_sources: [{name: v, type: vault, config: {url: https://vault.test, client_token: ((token))}}]
jobs:
- name: locals
  plan:
  - load_var: loaded
    file: f/x
  - task: t
    across: [{var: each, values: [1]}]
    params: {A: ((.:each)), B: ((.:loaded))}
    config: {platform: linux, run: {path: 'true'}}
- name: image
  plan:
  - task: t
    config: {platform: linux, image_resource: {type: images, source: {}}, run: {path: 'true'}}
- name: rest
  plan:
  - get: a
  - set_pipeline: child
    file: a/p.yml
    instance_vars: {branch: ((branch))}
    vars: {x: ((v:known)), y: ((gone:z))}
";
        let config = airside_config::load(pipeline).unwrap().config;
        let words = |job: &str| {
            let order = Order::new(&config, Choice::Only(&[job.to_owned()])).unwrap();
            problem(&config, &order, &[], &Map::new())
        };
        assert_eq!(words("locals"), None);
        let image = words("image").unwrap();
        let expected = "no value is known for ((below_word)), ((image_word)): ";
        assert!(image.starts_with(expected), "{image}");
        let words = words("rest").unwrap();
        let expected = "no value is known for ((branch)), ((token)), ((type_word)), ((gone:z)): ";
        assert!(words.starts_with(expected), "{words}");
        assert!(words.contains("--secret NAME"), "{words}");
    }
}
