//! `task`: runs a program in an image, with artifacts in and out.

use std::collections::BTreeMap;

use airside_model::{
    StepKind, TaskConfig, VolumeId, event::Event, plan::TaskPlan, task::ImageResource,
};
use airside_orchestrator::{Artifact, StepEnd, StepOutput, StepRequest, StepResult};
use airside_protocol::{Executable, Tty};
use airside_runtime::Image;
use airside_store::now;
use sha2::{Digest, Sha256};

use super::resource::labels;
use crate::{
    Result,
    interpret::{Leaf, Outcome, Status},
};

/// Concourse gives tasks a terminal of this size.
const TERMINAL: Tty = Tty {
    columns: 500,
    rows: 500,
};

pub(crate) async fn run(leaf: Leaf<'_>, task: &TaskPlan) -> Result<Status> {
    let Some(mut config) = task.config.clone() else {
        return leaf.error("the task has no config").await;
    };
    config.params.extend(task.params.clone());
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::InitializeTask {
        time,
        origin,
        config: Box::new(config.clone()),
    };
    leaf.say("initialize", event).await?;
    let request = match request(leaf, task, config) {
        Ok(request) => request,
        Err(words) => return leaf.error(words).await,
    };
    leaf.run(&request, |result| conclude(leaf, task, result))
        .await
}

async fn conclude(leaf: Leaf<'_>, task: &TaskPlan, result: StepResult) -> Result<Status> {
    let exit_status = match result.end {
        StepEnd::Errored(words) => return leaf.error(words).await,
        StepEnd::Stopped => return leaf.interrupted().await,
        StepEnd::Exited(code) => code,
    };
    let (origin, time) = (leaf.origin(), now().seconds());
    leaf.say(
        "finish",
        Event::FinishTask {
            time,
            exit_status,
            origin,
        },
    )
    .await?;
    let status = if exit_status == 0 {
        Status::Succeeded
    } else {
        Status::Failed
    };
    // Outputs count even when the task fails: hooks may want them.
    let artifacts: BTreeMap<String, VolumeId> = result
        .outputs
        .into_iter()
        .map(|(name, volume)| {
            (
                task.output_mapping.get(&name).cloned().unwrap_or(name),
                volume,
            )
        })
        .collect();
    leaf.commit(Outcome {
        artifacts,
        ..Outcome::of(status)
    })
    .await
}

fn request(leaf: Leaf<'_>, task: &TaskPlan, config: TaskConfig) -> Result<StepRequest, String> {
    let folder = format!(
        "/tmp/build/{}",
        &hex::encode(Sha256::digest(task.name.as_bytes()))[..8]
    );
    let interpreter = leaf.interpreter;
    let mut env: Vec<(String, String)> = Vec::new();
    let url = &interpreter.engine.parts.external_url;
    env.push(("ATC_EXTERNAL_URL".to_owned(), url.clone()));
    env.extend(
        config
            .params
            .iter()
            .map(|(key, value)| (key.clone(), value.clone())),
    );
    let outputs = config
        .outputs
        .iter()
        .map(|output| StepOutput {
            name: output.name.clone(),
            path: join(&folder, output.mount_path()),
        })
        .collect();
    let (origin, time) = (leaf.origin(), now().seconds());
    let limits = task
        .container_limits
        .clone()
        .or_else(|| config.container_limits.clone());
    let user = Some(config.run.user.clone()).filter(|user| !user.is_empty());
    Ok(StepRequest {
        plan: leaf.plan.clone(),
        labels: labels(interpreter.build, &task.name, StepKind::Task),
        tags: task.tags.clone(),
        image: image(&config)?,
        run: Executable::Path(config.run.path.clone()),
        args: config.run.args.clone(),
        env,
        inputs: inputs(leaf, task, &config, &folder)?,
        outputs,
        folders: config
            .caches
            .iter()
            .map(|cache| join(&folder, &cache.path))
            .collect(),
        dir: join(&folder, &config.run.dir),
        user,
        tty: Some(TERMINAL),
        stdin: None,
        limits: limits.unwrap_or_default(),
        privileged: task.privileged,
        hermetic: task.hermetic,
        answers: false,
        start_event: Event::StartTask {
            time,
            origin,
            config: Box::new(config),
        },
    })
}

fn inputs(
    leaf: Leaf<'_>,
    task: &TaskPlan,
    config: &TaskConfig,
    folder: &str,
) -> Result<Vec<Artifact>, String> {
    let (mut inputs, mut missing) = (Vec::new(), Vec::new());
    for input in &config.inputs {
        let name = task.input_mapping.get(&input.name).unwrap_or(&input.name);
        match leaf.state().artifact(name) {
            Some(volume) => {
                inputs.push(Artifact {
                    volume,
                    path: join(folder, input.mount_path()),
                });
            }
            None if input.optional => {}
            None => missing.push(name.as_str()),
        }
    }
    match missing.is_empty() {
        true => Ok(inputs),
        false => Err(format!("missing inputs: {}", missing.join(", "))),
    }
}

/// Which root file system the task wants.
fn image(config: &TaskConfig) -> Result<Image, String> {
    if let Some(reference) = config.rootfs_uri.strip_prefix("docker:///") {
        return Ok(Image::Registry {
            reference: reference.to_owned(),
        });
    }
    let Some(resource) = &config.image_resource else {
        return Err(
            "the task has no image: give it an `image_resource` (type `host` runs on the \
             machine's own file system) or a `rootfs_uri`"
                .to_owned(),
        );
    };
    match resource.type_.as_str() {
        "host" => Ok(Image::Host),
        "registry-image" => Ok(Image::Registry {
            reference: registry_reference(resource)?,
        }),
        "oci-layout" => Ok(Image::OciLayout {
            path: text(resource, "path")?.to_owned(),
        }),
        other => Err(format!(
            "images of type `{other}` are not supported by this version of Airside; use `host`, \
             `registry-image` or `oci-layout`"
        )),
    }
}

fn registry_reference(resource: &ImageResource) -> Result<String, String> {
    let repository = text(resource, "repository")?;
    if let Some(digest) = resource
        .version
        .as_ref()
        .and_then(|version| version.0.get("digest"))
    {
        return Ok(format!("{repository}@{digest}"));
    }
    match resource
        .source
        .as_ref()
        .and_then(|source| source.get("tag"))
    {
        None => Ok(format!("{repository}:latest")),
        Some(serde_json::Value::String(tag)) => Ok(format!("{repository}:{tag}")),
        Some(tag) => Ok(format!("{repository}:{tag}")),
    }
}

fn text<'a>(resource: &'a ImageResource, key: &str) -> Result<&'a str, String> {
    resource
        .source
        .as_ref()
        .and_then(|source| source.get(key))
        .and_then(|value| value.as_str())
        .ok_or_else(|| {
            format!(
                "the image_resource of type `{}` needs a `{key}` in its source",
                resource.type_
            )
        })
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
