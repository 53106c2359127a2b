//! `task`: runs a program in an image, with artifacts in and out.

use std::collections::BTreeMap;

use airside_model::{
    StepKind, TaskConfig, VolumeId,
    event::{Event, Source},
    plan::TaskPlan,
};
use airside_orchestrator::{Artifact, StepEnd, StepOutput, StepRequest};
use airside_protocol::{Executable, Tty};
use airside_store::now;
use sha2::{Digest, Sha256};

use super::{resource::timeout, task_caches, task_config};
use crate::{
    Result, StepError, image,
    image::{ImageNeed, StepImage},
    leaf::{Leaf, Ran},
    outcome::Outcome,
    reference,
    status::Status,
};

/// Concourse gives tasks a terminal of this size.
const TERMINAL: Tty = Tty {
    columns: 500,
    rows: 500,
};

const NO_PROGRAM: &str = "No executable defined for task. Specify an executable to run in either the \
    task config (run.path) or as an ENTRYPOINT/CMD in the container image.";

pub(crate) async fn run(leaf: Leaf<'_>, task: &TaskPlan) -> Result<Status, StepError> {
    let resolved = task_config::resolve(leaf, task).await?;
    for (number, warning) in resolved.warnings.iter().enumerate() {
        let (what, line) = (
            format!("warning {number}"),
            format!("[WARNING] {warning}\n"),
        );
        leaf.print(&what, Source::Stderr, &line).await?;
    }
    let mut config = resolved.config?;
    let event = Event::InitializeTask {
        time: now().seconds(),
        origin: leaf.origin(),
        config: Box::new(shown(leaf, &config)),
    };
    leaf.say("initialize", event).await?;
    // It would not help to wait: there are no workers of other platforms.
    if let Some(words) = config.platform_complaint() {
        return Err(words.into());
    }
    let image = image(leaf, task, &config).await?;
    if config.run.path.is_empty() {
        let Some((path, args)) = image.metadata.program() else {
            return Err(NO_PROGRAM.to_owned().into());
        };
        config.run.path = path;
        config.run.args.splice(0..0, args);
    }
    let request = request(leaf, task, &config, image).await?;
    let timeout = timeout(&task.timeout)?;
    let ran = leaf.run_process(&request, timeout).await?;
    // Before the outcome is committed: after that, no server would do it again if this one ended in
    // between.
    task_caches::keep(leaf, task, &config, &ran.outputs).await?;
    let status = conclude(leaf, task, &ran).await?;
    leaf.let_go(ran).await;
    Ok(status)
}

/// Outputs count however the task ends: hooks may want them.
async fn conclude(leaf: Leaf<'_>, task: &TaskPlan, ran: &Ran) -> Result<Status> {
    let outputs = ran.outputs.iter();
    let outputs = outputs.filter(|(name, _)| !task_caches::is_cache(name));
    let artifacts: BTreeMap<String, VolumeId> = outputs
        .map(|(name, volume)| {
            let mapped = task.output_mapping.get(name).unwrap_or(name);
            (mapped.clone(), volume.clone())
        })
        .collect();
    let left = |status| Outcome {
        artifacts,
        ..Outcome::of(status)
    };
    let exit_status = match &ran.end {
        StepEnd::Errored(words) => return leaf.error(words).await,
        StepEnd::Stopped(cause) => return leaf.stopped(*cause, left(Status::Aborted)).await,
        StepEnd::Exited(code) => *code,
    };
    let event = Event::FinishTask {
        time: now().seconds(),
        exit_status,
        origin: leaf.origin(),
    };
    leaf.say("finish", event).await?;
    leaf.commit(left(match exit_status {
        0 => Status::Succeeded,
        _ => Status::Failed,
    }))
    .await
}

/// The configuration as events show it.
fn shown(leaf: Leaf<'_>, config: &TaskConfig) -> TaskConfig {
    let mut config = config.clone();
    let run = &mut config.run;
    let texts = [&mut run.path, &mut run.dir, &mut run.user].into_iter();
    for text in texts.chain(&mut run.args) {
        *text = leaf.interpreter.secrets.redact(text);
    }
    config
}

/// Returns the root file system of the task: an artifact, before the image of its config.
async fn image(
    leaf: Leaf<'_>,
    task: &TaskPlan,
    config: &TaskConfig,
) -> Result<StepImage, StepError> {
    if !task.image.is_empty() {
        let name = &task.image;
        let found = leaf.scope().artifact(name).ok_or_else(|| {
            format!(
                "missing image artifact source: {name}\n\nmake sure there's a corresponding 'get' \
                 step, or a task that produces it as an output"
            )
        })?;
        return image::artifact(leaf, found, &task.tags).await;
    }
    if let Some(resource) = &config.image_resource {
        let mut resource = resource.clone();
        resource.name = "image".to_owned();
        let types = &task.resource_types;
        let skip_interval = task.check_skip_interval;
        let plans =
            airside_config::image_plans(leaf.plan, &resource, types, &task.tags, skip_interval);
        let (check, get) = plans.map_err(|error| airside_model::chain(&error))?;
        let wanted = if config.run.path.is_empty() {
            ImageNeed::Description
        } else {
            ImageNeed::Files
        };
        return image::fetch(leaf, (check.as_ref(), &get), wanted, &task.tags).await;
    }
    if let Some(reference) = config.rootfs_uri.strip_prefix("docker:///") {
        return image::by_reference(leaf, reference, &task.tags).await;
    }
    Err(StepError::Users(
        "the task has no image: give it an `image_resource` (type `host` runs on the machine's own \
         file system), an `image` or a `rootfs_uri`"
            .to_owned(),
    ))
}

async fn request(
    leaf: Leaf<'_>,
    task: &TaskPlan,
    config: &TaskConfig,
    image: StepImage,
) -> Result<StepRequest, StepError> {
    let folder = format!(
        "/tmp/build/{}",
        &hex::encode(Sha256::digest(task.name.as_bytes()))[..8]
    );
    let mut inputs = inputs(leaf, task, config, &folder).await?;
    let mut outputs: Vec<StepOutput> = config
        .outputs
        .iter()
        .map(|output| StepOutput {
            name: output.name.clone(),
            path: join(&folder, output.mount_path()),
        })
        .collect();
    let place = |path: &str| join(&folder, path);
    let (found, kept) = task_caches::mounts(leaf, task, config, place).await?;
    inputs.extend(found);
    outputs.extend(kept);
    let (origin, time) = (leaf.origin(), now().seconds());
    Ok(StepRequest {
        plan: leaf.plan.clone(),
        labels: leaf.labels(&task.name, StepKind::Task),
        tags: task.tags.clone(),
        native_type: None,
        run: Executable::Path(config.run.path.clone()),
        args: config.run.args.clone(),
        env: env(leaf, config, &image),
        inputs,
        outputs,
        folders: config
            .caches
            .iter()
            .map(|cache| place(&cache.path))
            .collect(),
        dir: join(&folder, &config.run.dir),
        user: user(config, &image),
        image: image.image,
        image_get: image.get,
        tty: Some(TERMINAL),
        stdin: None,
        limits: config.container_limits.clone().unwrap_or_default(),
        privileged: task.privileged,
        hermetic: task.hermetic,
        answers: false,
        start_event: Event::StartTask {
            time,
            origin,
            config: Box::new(shown(leaf, config)),
        },
    })
}

/// Returns the environment: that of the image, then the params.
fn env(leaf: Leaf<'_>, config: &TaskConfig, image: &StepImage) -> Vec<(String, String)> {
    let url = leaf.interpreter.engine.parts.external_url.clone();
    let mut env = image.metadata.env();
    env.push(("ATC_EXTERNAL_URL".to_owned(), url));
    let params = config.params.iter();
    env.extend(params.map(|(key, value)| (key.clone(), value.clone())));
    env
}

fn user(config: &TaskConfig, image: &StepImage) -> Option<String> {
    let own = Some(config.run.user.clone()).filter(|user| !user.is_empty());
    own.or_else(|| image.metadata.user.clone().filter(|user| !user.is_empty()))
}

async fn inputs(
    leaf: Leaf<'_>,
    task: &TaskPlan,
    config: &TaskConfig,
    folder: &str,
) -> Result<Vec<Artifact>, StepError> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for input in &config.inputs {
        let name = task.input_mapping.get(&input.name).unwrap_or(&input.name);
        match leaf.scope().artifact(name) {
            Some(artifact) => found.push((name, artifact, input.mount_path())),
            None if input.optional => {}
            None => missing.push(name.as_str()),
        }
    }
    if !missing.is_empty() {
        return Err(format!("missing inputs: {}", missing.join(", ")).into());
    }
    let mut inputs = Vec::new();
    for (name, artifact, path) in found {
        let path = join(folder, path);
        let volume = reference::whole(leaf, name, artifact).await?;
        inputs.push(Artifact { volume, path });
    }
    Ok(inputs)
}

/// Joins a path that a task names onto its folder; absolute ones stand by themselves.
fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = if path.starts_with('/') {
        Vec::new()
    } else {
        vec![folder]
    };
    parts.extend(
        path.split('/')
            .filter(|part| !matches!(*part, "" | "." | "..")),
    );
    let joined = parts.join("/");
    if joined.starts_with('/') {
        joined
    } else {
        format!("/{joined}")
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_stay_below_their_folder() {
        for (path, expected) in [
            ("", "/f"),
            ("a", "/f/a"),
            (".", "/f"),
            ("./a/../b/", "/f/a/b"),
            ("../../etc", "/f/etc"),
            ("/opt/x", "/opt/x"),
            ("/", "/"),
        ] {
            assert_eq!(join("/f", path), expected, "{path}");
        }
    }
}
