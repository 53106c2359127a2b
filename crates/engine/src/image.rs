//! The root file systems of steps: natively from where they are, or fetched by plans of their own.

use airside_model::{
    Plan, PlanNode, VolumeId,
    event::{Event, Origin},
    plan::GetPlan,
    public_plan::public_plan,
    task::ImageResource,
};
use airside_runtime::Image;
use airside_store::now;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Result, leaf::Leaf, status::Status};

/// A root file system, and what its metadata say of running something in it.
#[derive(Clone, Debug)]
pub(crate) struct StepImage {
    pub(crate) image: Image,
    pub(crate) metadata: ImageMetadata,
}

/// `metadata.json`, beside the `rootfs` of an image in an artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct ImageMetadata {
    #[serde(default)]
    env: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) user: Option<String>,
    #[serde(default)]
    cmd: Option<Vec<String>>,
    #[serde(default)]
    entrypoint: Option<Vec<String>>,
}

impl ImageMetadata {
    pub(crate) fn env(&self) -> Vec<(String, String)> {
        let entries = self.env.iter().flatten();
        entries
            .filter_map(|entry| entry.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// What the image runs by itself: its entrypoint with its command behind it.
    pub(crate) fn program(&self) -> Option<(String, Vec<String>)> {
        let words = self.entrypoint.iter().chain(&self.cmd).flatten();
        let mut words = words.cloned();
        let path = words.next().filter(|path| !path.is_empty())?;
        Some((path, words.collect()))
    }
}

impl From<Image> for StepImage {
    fn from(image: Image) -> Self {
        Self {
            image,
            metadata: ImageMetadata::default(),
        }
    }
}

/// How fetching an image ended where it gave none.
pub(crate) enum NoImage {
    Error(String),
    /// The plans that fetch it were stopped.
    Stopped,
}

impl From<String> for NoImage {
    fn from(words: String) -> Self {
        Self::Error(words)
    }
}

/// An artifact that is an image.
pub(crate) async fn artifact(
    leaf: Leaf<'_>,
    volume: VolumeId,
) -> Result<Result<StepImage, NoImage>> {
    let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
    let metadata = match orchestrator.read_file(&volume, "metadata.json").await {
        Ok(Some(bytes)) => bytes,
        // As an image of nothing but a root file system.
        Ok(None) => b"{}".to_vec(),
        Err(error) => return Ok(Err(NoImage::Error(error.to_string()))),
    };
    Ok(match serde_json::from_slice(&metadata) {
        Ok(metadata) => Ok(StepImage {
            image: Image::Volume { volume },
            metadata,
        }),
        Err(error) => Err(NoImage::Error(format!(
            "error parsing metadata.json from rootfs: {error}"
        ))),
    })
}

/// Fetches an image by the plans for that: one that looks for its version, if there is one, and one
/// that gets it. What the server can pull by itself is left to the runtime.
pub(crate) async fn fetch(
    leaf: Leaf<'_>,
    check: Option<&Plan>,
    get: &Plan,
) -> Result<Result<StepImage, NoImage>> {
    let PlanNode::Get(image) = &get.node else {
        return Ok(Err(NoImage::Error(
            "the plan of an image is no get".to_owned(),
        )));
    };
    if let Some(native) = native(image) {
        return Ok(match filled(leaf, &native).await {
            Ok(native) => image_of(&native)
                .map(StepImage::from)
                .map_err(NoImage::from),
            Err(words) => Err(NoImage::Error(words)),
        });
    }
    if image.image.get_plan.is_none() && !airside_resources::is_native(&image.type_) {
        return Ok(Err(NoImage::Error(format!(
            "images of type `{}` are not supported by this version of Airside; use `host`, \
             `registry-image`, `oci-layout` or a resource type that makes one",
            image.type_
        ))));
    }
    announce(leaf, check, get).await?;
    let context = leaf.context.with_scope(leaf.context.scope.inner());
    for (plan, failed) in [
        (check, "image check failed"),
        (Some(get), "image fetching failed"),
    ] {
        let Some(plan) = plan else { continue };
        match leaf.interpreter.run(plan, context.clone()).await? {
            Status::Succeeded => {}
            Status::Failed => return Ok(Err(NoImage::Error(failed.to_owned()))),
            Status::Errored => {
                let errors = leaf.interpreter.errors(plan);
                let words = errors
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| failed.to_owned());
                return Ok(Err(NoImage::Error(words)));
            }
            Status::TimedOut | Status::Aborted => return Ok(Err(NoImage::Stopped)),
        }
    }
    match context.scope.artifact(&image.name) {
        Some(volume) => artifact(leaf, volume).await,
        None => Ok(Err(NoImage::Error("fetched artifact not found".to_owned()))),
    }
}

async fn announce(leaf: Leaf<'_>, check: Option<&Plan>, get: &Plan) -> Result<()> {
    let (time, origin) = (now().seconds(), || Origin::step(leaf.plan));
    if let Some(check) = check {
        let event = Event::ImageCheck {
            time,
            origin: origin(),
            plan: public_plan(check),
        };
        leaf.say("image check", event).await?;
    }
    let event = Event::ImageGet {
        time,
        origin: origin(),
        plan: public_plan(get),
    };
    leaf.say("image get", event).await
}

/// What a get fetches, if that is an image the server knows how to pull.
fn native(get: &GetPlan) -> Option<ImageResource> {
    let known = matches!(get.type_.as_str(), "host" | "registry-image" | "oci-layout");
    (known && get.image.get_plan.is_none()).then(|| ImageResource {
        type_: get.type_.clone(),
        source: Some(get.source.clone()),
        version: get.version.clone(),
        ..ImageResource::default()
    })
}

async fn filled(leaf: Leaf<'_>, image: &ImageResource) -> Result<ImageResource, String> {
    let source = Value::Object(image.source.clone().unwrap_or_default());
    let source: Map<String, Value> = match leaf.fill(source).await? {
        Value::Object(source) => source,
        _ => Map::new(),
    };
    Ok(ImageResource {
        source: Some(source),
        ..image.clone()
    })
}

/// Which root file system an image resource of a native type means.
fn image_of(resource: &ImageResource) -> Result<Image, String> {
    match resource.type_.as_str() {
        "host" => Ok(Image::Host),
        "registry-image" => Ok(Image::Registry {
            reference: registry_reference(resource)?,
        }),
        "oci-layout" => Ok(Image::OciLayout {
            path: text(resource, "path")?.to_owned(),
        }),
        other => Err(format!("images of type `{other}` are not native")),
    }
}

fn registry_reference(resource: &ImageResource) -> Result<String, String> {
    let repository = text(resource, "repository")?;
    let digest = resource.version.as_ref();
    if let Some(digest) = digest.and_then(|version| version.0.get("digest")) {
        return Ok(format!("{repository}@{digest}"));
    }
    let source = resource.source.as_ref();
    match source.and_then(|source| source.get("tag")) {
        None => Ok(format!("{repository}:latest")),
        Some(Value::String(tag)) => Ok(format!("{repository}:{tag}")),
        Some(tag) => Ok(format!("{repository}:{tag}")),
    }
}

fn text<'a>(resource: &'a ImageResource, key: &str) -> Result<&'a str, String> {
    let source = resource.source.as_ref();
    let found = source.and_then(|source| source.get(key)?.as_str());
    found.ok_or_else(|| {
        format!(
            "the image_resource of type `{}` needs a `{key}` in its source",
            resource.type_
        )
    })
}

#[cfg(test)]
mod tests {
    use airside_model::Version;
    use serde_json::json;

    use super::*;

    fn resource(type_: &str, source: Value) -> ImageResource {
        ImageResource {
            type_: type_.to_owned(),
            source: serde_json::from_value(source).unwrap(),
            ..ImageResource::default()
        }
    }

    #[test]
    fn native_images_are_named_by_their_source() {
        let reference = |source| image_of(&resource("registry-image", source));
        let registry = |reference: &str| {
            let reference = reference.to_owned();
            Ok(Image::Registry { reference })
        };
        assert_eq!(reference(json!({"repository": "a"})), registry("a:latest"));
        assert_eq!(
            reference(json!({"repository": "a", "tag": 3})),
            registry("a:3")
        );
        assert!(reference(json!({})).unwrap_err().contains("`repository`"));
        let mut pinned = resource("registry-image", json!({"repository": "a", "tag": "t"}));
        pinned.version = Some(Version::from([("digest", "sha256:1")]));
        assert_eq!(image_of(&pinned), registry("a@sha256:1"));
        assert_eq!(image_of(&resource("host", json!({}))), Ok(Image::Host));
    }

    #[test]
    fn metadata_say_what_runs() {
        let program = |value: Value| {
            let metadata: ImageMetadata = serde_json::from_value(value).unwrap();
            metadata.program()
        };
        let words = |words: &[&str]| {
            let mut words = words.iter().map(|&word| word.to_owned());
            words.next().map(|path| (path, words.collect()))
        };
        for (value, expected) in [
            (json!({}), &[][..]),
            (json!({"env": null, "cmd": null}), &[]),
            (json!({"cmd": ["c", "1"]}), &["c", "1"]),
            (json!({"entrypoint": ["e", "1"]}), &["e", "1"]),
            (json!({"entrypoint": ["e"], "cmd": ["c"]}), &["e", "c"]),
        ] {
            assert_eq!(program(value.clone()), words(expected), "{value}");
        }
        let metadata: ImageMetadata =
            serde_json::from_value(json!({"env": ["A=b=c", "odd"], "user": "u"})).unwrap();
        assert_eq!(metadata.env(), [("A".to_owned(), "b=c".to_owned())]);
    }
}
