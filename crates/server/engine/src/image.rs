//! The root file systems of steps: natively from where they are, or fetched by plans of their own.

mod registry;
mod served;

use airside_config::resource_types_line;
use airside_model::{
    Plan, PlanNode,
    event::{Event, Origin},
    plan::GetPlan,
    public_plan::public_plan,
};
use airside_orchestrator::ImageGet;
use airside_resource_types::Registries;
use airside_runtime::{Image, PullSource};
use airside_store::now;
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use self::served::ServedImages;

use crate::{
    Result, StepError,
    leaf::Leaf,
    scope::{Artifact, Context},
    status::Status,
    steps::filled,
};

/// A root file system, and what its metadata say of running something in it.
#[derive(Clone, Debug)]
pub(crate) struct StepImage {
    pub(crate) image: Image,
    pub(crate) metadata: ImageMetadata,
    /// The image's get, if it lasts until the step is placed.
    pub(crate) get: Option<ImageGet>,
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

    /// Returns the program that the image names: its entrypoint with its command behind it.
    pub(crate) fn program(&self) -> Option<(String, Vec<String>)> {
        let words = self.entrypoint.iter().chain(&self.cmd).flatten();
        let mut words = words.cloned();
        let path = words.next().filter(|path| !path.is_empty())?;
        Some((path, words.collect()))
    }
}

impl StepImage {
    /// The user that the image itself carries is the runtime's to start the step as. It is not said
    /// twice.
    fn new(image: Image, mut metadata: ImageMetadata) -> Self {
        if image.user().is_some() {
            metadata.user = None;
        }
        Self {
            image,
            metadata,
            get: None,
        }
    }
}

impl From<Image> for StepImage {
    fn from(image: Image) -> Self {
        Self::new(image, ImageMetadata::default())
    }
}

/// True if a step must know more of an image than where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageNeed {
    Files,
    /// The place of the image and the program that it names: the step names no program.
    Description,
}

/// Returns the image of an artifact that is one, or describes one, for a step with these tags.
pub(crate) async fn artifact(
    leaf: Leaf<'_>,
    Artifact { volume, reference }: Artifact,
    tags: &[String],
) -> Result<StepImage, StepError> {
    let orchestrator = &leaf.interpreter.engine.parts.orchestrator;
    let metadata = match orchestrator.read_file(&volume, "metadata.json").await {
        Ok(Some(bytes)) => bytes,
        // As an image of nothing but a root file system.
        Ok(None) => b"{}".to_vec(),
        Err(error) => return Err(airside_model::chain(&error).into()),
    };
    let metadata: ImageMetadata = serde_json::from_slice(&metadata).map_err(|error| {
        format!(
            "error parsing metadata.json from rootfs: {}",
            airside_model::chain(&error)
        )
    })?;
    let image = match reference {
        Some(reference) if reference.is_read_by_pod(leaf) => {
            reference.image().with_user(metadata.user.as_deref())
        }
        Some(reference) => served::settle(leaf, reference.image(), tags).await?,
        None => Image::Volume { volume },
    };
    Ok(StepImage::new(image, metadata))
}

/// An image that only its name is known of, for a step with these tags.
pub(crate) async fn by_reference(
    leaf: Leaf<'_>,
    reference: &str,
    tags: &[String],
) -> Result<StepImage, StepError> {
    let image = unproved(&leaf.interpreter.engine.parts.registries, reference);
    Ok(served::settle(leaf, image, tags).await?.into())
}

/// Returns an image by its name: nothing shows yet that the team may pull it.
fn unproved(registries: &Registries, reference: &str) -> Image {
    let (repository, _) = served::split(reference);
    Image::Registry {
        reference: reference.to_owned(),
        source: PullSource::default(),
        ask_registry: !registries.is_on_nodes(repository),
        user: None,
    }
}

/// Fetches an image by the plans for that: one that looks for its version, if there is one, and one
/// that gets it. What the server can pull by itself is left to the runtime. The tags are those of
/// the step that wants it.
pub(crate) async fn fetch(
    leaf: Leaf<'_>,
    (check, get): (Option<&Plan>, &Plan),
    wanted: ImageNeed,
    tags: &[String],
) -> Result<StepImage, StepError> {
    let PlanNode::Get(image) = &get.node else {
        return Err("the plan of an image is not a get".to_owned().into());
    };
    if image.image.get_plan.is_none() {
        match image.type_.as_str() {
            "host" => return Ok(Image::Host.into()),
            "registry-image" => return registry::fetch(leaf, (check, get), wanted, tags).await,
            "oci-layout" => return Ok(layout(leaf, image).await?),
            _ => {}
        }
    }
    if image.image.get_plan.is_none() && !airside_resource_types::is_native(&image.type_) {
        return Err(no_image_type(&image.type_).into());
    }
    announce(leaf, check, get).await?;
    let context = leaf.context.with_scope(leaf.context.scope.inner());
    for (plan, failed) in [
        (check, "image check failed"),
        (Some(get), "image fetching failed"),
    ] {
        let Some(plan) = plan else { continue };
        run(leaf, plan, &context, failed).await?;
    }
    match context.scope.artifact(&image.name) {
        Some(found) => artifact(leaf, found, tags).await,
        None => Err("fetched artifact not found".to_owned().into()),
    }
}

fn no_image_type(type_: &str) -> String {
    match type_ {
        "" => "the image_resource has no `type`; `registry-image` is the usual one".to_owned(),
        other => format!(
            "images of type `{other}` are not supported; use `registry-image`, `host` or `oci-layout`, or bring the type \
             with this line in `resource_types`: {}",
            resource_types_line(other)
        ),
    }
}

/// Runs one of the plans of an image.
pub(crate) async fn run(
    leaf: Leaf<'_>,
    plan: &Plan,
    context: &Context,
    failed: &str,
) -> Result<(), StepError> {
    let status = leaf.interpreter.run_node(plan, context.clone()).await?;
    Err(match (status, leaf.context.stop.cause()) {
        (Status::Succeeded, _) => return Ok(()),
        (Status::Failed, _) => failed.to_owned().into(),
        (Status::Errored, _) => {
            let first = leaf.interpreter.errors(plan).into_iter().next();
            first.unwrap_or_else(|| failed.to_owned()).into()
        }
        (Status::TimedOut | Status::Aborted, Some(cause)) => StepError::Stopped(cause),
        (Status::TimedOut | Status::Aborted, None) => {
            "fetching the image was interrupted".to_owned().into()
        }
    })
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

/// A folder of the worker's machine.
async fn layout(leaf: Leaf<'_>, image: &GetPlan) -> Result<StepImage, String> {
    let source = filled(leaf, &image.source).await?;
    let path = text(&image.type_, &source, "path")?.to_owned();
    Ok(Image::OciLayout { path }.into())
}

fn text<'a>(type_: &str, source: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    let found = source.get(key).and_then(Value::as_str);
    found.ok_or_else(|| {
        format!("the image_resource of type `{type_}` needs a `{key}` in its source")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_image_of_no_known_type_says_what_to_write() {
        assert!(no_image_type("").contains("has no `type`"));
        let words = no_image_type("pool");
        assert!(
            words.contains("{name: pool, type: registry-image"),
            "{words}"
        );
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

    #[test]
    fn hostile_names_of_images_are_asked_about_unless_nodes_bring_them() {
        let registries = Registries {
            on_nodes: vec!["airside.local".to_owned()],
            ..Registries::default()
        };
        for (reference, expected) in [
            ("private.example/name:tag", true),
            ("localhost:5000/a", true),
            ("busybox", true),
            ("airside.local/busybox:1", false),
            ("airside.local/busybox@sha256:0", false),
        ] {
            let image = unproved(&registries, reference);
            let asks = matches!(
                image,
                Image::Registry {
                    ask_registry: true,
                    ..
                }
            );
            assert_eq!(asks, expected, "{reference}");
        }
    }
}
