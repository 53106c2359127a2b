//! Images in registries: a check looks for the version, and the runtime that places the step pulls
//! just that.
//!
//! The get is lazy. Its events say what is used, but nothing is fetched into a volume: a runtime
//! keeps images by digest, and a node's own runtime pulls for it. The get ends once the step is
//! placed, so that a pull counts as the get's time and not as the step's.

use airside_model::{
    Plan, PlanNode, Version,
    event::{Event, Origin},
};
use airside_orchestrator::ImageGet;
use airside_runtime::{Image, PullSource};
use airside_store::now;
use serde_json::{Map, Value};

use super::{ImageMetadata, ImageNeed, StepImage, announce, artifact, filled, run, served, text};
use crate::{Result, StepError, leaf::Leaf};

type Source = Map<String, Value>;

pub(super) async fn fetch(
    leaf: Leaf<'_>,
    (check, get): (Option<&Plan>, &Plan),
    wanted: ImageNeed,
    tags: &[String],
) -> Result<StepImage, StepError> {
    let PlanNode::Get(node) = &get.node else {
        return Err("the plan of an image is not a get".to_owned().into());
    };
    let source = filled(leaf, &node.source).await?;
    let repository = text(&node.type_, &source, "repository")?;
    let registries = &leaf.interpreter.engine.parts.registries;
    if node.version.is_none() && registries.is_on_nodes(repository) {
        let reference = by_tag(repository, &source);
        return Ok(Image::registry(reference).into());
    }
    announce(leaf, check, get).await?;
    let version = match (&node.version, check) {
        (Some(version), _) => version.clone(),
        (None, Some(check)) => look(leaf, check, &source).await?,
        (None, None) => return Err("the image has no version".to_owned().into()),
    };
    let (metadata, lazy) = match wanted {
        ImageNeed::Description => (describe(leaf, get, &version).await?, None),
        ImageNeed::Files => {
            say_begun(leaf, get).await?;
            let (plan, version) = (get.id.clone(), version.clone());
            (ImageMetadata::default(), Some(ImageGet { plan, version }))
        }
    };
    let reference = match version.0.get("digest") {
        Some(digest) => format!("{repository}@{digest}"),
        None => by_tag(repository, &source),
    };
    // An image that a check found without a login is public; a version that the pipeline gives
    // proves nothing.
    let ask_registry = node.version.is_some() || airside_resource_types::has_login(&source);
    let image = Image::Registry {
        reference,
        source: PullSource(source.clone()),
        ask_registry: ask_registry && !registries.is_on_nodes(repository),
        user: None,
    };
    let image = served::settle(leaf, image, tags).await?;
    Ok(StepImage {
        get: lazy,
        ..StepImage::new(image, metadata)
    })
}

/// Gets the metadata of an image, and none of its files.
async fn describe(
    leaf: Leaf<'_>,
    get: &Plan,
    version: &Version,
) -> Result<ImageMetadata, StepError> {
    let mut get = get.clone();
    let PlanNode::Get(node) = &mut get.node else {
        return Ok(ImageMetadata::default());
    };
    node.version = Some(version.clone());
    node.version_from = None;
    node.params = Map::from_iter([("format".to_owned(), Value::from("description"))]);
    let name = node.name.clone();
    let context = leaf.context.with_scope(leaf.context.scope.inner());
    run(leaf, &get, &context, "image fetching failed").await?;
    let found = context.scope.artifact(&name);
    let found = found.ok_or_else(|| "fetched artifact not found".to_owned())?;
    Ok(artifact(leaf, found, &[]).await?.metadata)
}

/// Fields that choose among tags. A source without any of them means `latest`: going through all
/// tags for an image would be asking too much.
const CHOOSING: [&str; 5] = [
    "tag",
    "tag_regex",
    "semver_constraint",
    "variant",
    "pre_releases",
];

/// Runs the check, at the registry's mirror if the operator has one.
async fn look(leaf: Leaf<'_>, check: &Plan, source: &Source) -> Result<Version, StepError> {
    let mut check = check.clone();
    if let PlanNode::Check(node) = &mut check.node {
        let mut wanted = source.clone();
        let registries = &leaf.interpreter.engine.parts.registries;
        registries.mirrors.apply(&mut wanted);
        if !CHOOSING.iter().any(|key| wanted.contains_key(*key)) {
            wanted.insert("tag".to_owned(), Value::String("latest".to_owned()));
        }
        if &wanted != source {
            node.source = wanted;
        }
    }
    let context = leaf.context.with_scope(leaf.context.scope.inner());
    run(leaf, &check, &context, "image check failed").await?;
    let found = leaf.interpreter.version(&check.id);
    found.ok_or_else(|| {
        let name = source.get("repository").and_then(Value::as_str);
        let name = by_tag(name.unwrap_or_default(), source);
        format!("the registry has no image {name}").into()
    })
}

/// Writes the events with which the get begins.
async fn say_begun(leaf: Leaf<'_>, get: &Plan) -> Result<()> {
    let (time, origin) = (now().seconds(), || Origin::step(&get.id));
    let (initialize, start) = (
        Event::InitializeGet {
            origin: origin(),
            time,
        },
        Event::StartGet {
            origin: origin(),
            time,
        },
    );
    for (what, event) in [("initialize", initialize), ("start", start)] {
        leaf.interpreter.say(&get.id, what, event).await?;
    }
    Ok(())
}

fn by_tag(repository: &str, source: &Source) -> String {
    match source.get("tag") {
        None => format!("{repository}:latest"),
        Some(Value::String(tag)) => format!("{repository}:{tag}"),
        Some(tag) => format!("{repository}:{tag}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tag_need_not_be_text() {
        for (source, expected) in [
            (json!({}), "a:latest"),
            (json!({"tag": "t"}), "a:t"),
            (json!({"tag": 3}), "a:3"),
        ] {
            let source = source.as_object().unwrap();
            assert_eq!(by_tag("a", source), expected);
        }
    }
}
