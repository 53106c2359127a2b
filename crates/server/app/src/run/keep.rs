//! `--keep`: a shell in the container of a step that failed, before all of it is removed.

use std::io::Write as _;

use airside_hub::{Hijack, HijackEvent, HijackInput, HijackRequest};
use airside_model::{BuildId, ContainerState, StepKind, chain};
use airside_protocol::Exit;
use airside_store::{Container, ContainerFilter};
use anyhow::Result;
use clap::Args;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{
    table::JobReport,
    terminal::{self, Terminal},
    world::World,
};

/// Shells in the order in which they are tried.
const SHELLS: [&str; 2] = ["bash", "sh"];

#[derive(Args, Default)]
pub(crate) struct KeepOptions {
    /// Open a shell in a failed step before everything is removed; needs a terminal
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    keep: bool,
}

impl KeepOptions {
    /// Returns the reason why the option cannot be used here.
    pub(crate) fn problem(&self) -> Option<String> {
        (self.keep && !terminal::is_there()).then(|| {
            "--keep opens a shell, which needs a terminal as standard input and standard output"
                .to_owned()
        })
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.keep
    }

    /// Returns the server's option about containers of builds that failed.
    pub(crate) fn keep_failed(&self) -> &'static str {
        if self.keep {
            // Until the person leaves the shell.
            "--keep-failed=87600h"
        } else {
            "--keep-failed=0s"
        }
    }
}

/// A step that failed, and its container.
struct KeptStep {
    label: String,
    end: String,
    container: Container,
}

/// Offers shells in the steps that failed, until the person wants no more or `stop` is cancelled.
pub(crate) async fn offer_shells(
    world: &World,
    reports: &[JobReport],
    stop: &CancellationToken,
) -> Result<()> {
    let steps = kept_steps(world, reports).await?;
    if steps.is_empty() {
        if reports
            .iter()
            .any(|report| report.steps.iter().any(|step| step.status.is_bad()))
        {
            print("\nno step that failed has a container left\n");
        }
        return Ok(());
    }
    let terminal = Terminal::open()?;
    let mut window = signal(SignalKind::window_change())?;
    loop {
        let step = match steps.as_slice() {
            [step] => step,
            steps => match choose(steps, &terminal, stop).await? {
                Some(step) => step,
                None => return Ok(()),
            },
        };
        let label = &step.label;
        print(&format!(
            "\n{label} {}: this is a shell in its container; leave it to go on with cleaning up\n",
            step.end
        ));
        open_shell(world, step, &terminal, &mut window, stop).await?;
        if steps.len() == 1 || stop.is_cancelled() {
            return Ok(());
        }
    }
}

async fn kept_steps(world: &World, reports: &[JobReport]) -> Result<Vec<KeptStep>> {
    let mut kept = Vec::new();
    for report in reports {
        let Some(build) = report.build else { continue };
        let mut containers = containers(world, build).await?;
        for step in report.steps.iter().filter(|step| step.status.is_bad()) {
            // The last one, if it was placed more than once.
            let place = containers
                .iter()
                .rposition(|container| container.plan.as_str() == step.id);
            if let Some(place) = place {
                kept.push(KeptStep {
                    label: format!("{}/{}", report.job, step.name),
                    end: step.status.name().to_owned(),
                    container: containers.remove(place),
                });
            }
        }
    }
    Ok(kept)
}

async fn containers(world: &World, build: BuildId) -> Result<Vec<Container>> {
    let filter = ContainerFilter {
        build: Some(build),
        ..ContainerFilter::default()
    };
    let mut containers = world.store().containers(&filter).await?;
    containers.retain(|container| {
        container.state == ContainerState::Created && container.labels.kind != StepKind::Check
    });
    Ok(containers)
}

async fn choose<'a>(
    steps: &'a [KeptStep],
    terminal: &Terminal,
    stop: &CancellationToken,
) -> Result<Option<&'a KeptStep>> {
    let mut text = "\nsteps that failed:\n".to_owned();
    for (number, step) in (1..).zip(steps) {
        text.push_str(&format!("  {number}  {} {}\n", step.label, step.end));
    }
    print(&text);
    loop {
        print(&format!(
            "number of the step to look into [1-{}], or nothing to clean up: ",
            steps.len()
        ));
        let line = tokio::select! {
            line = terminal.line() => line?,
            () = stop.cancelled() => None,
        };
        let Some(line) = line.filter(|line| !line.is_empty()) else {
            return Ok(None);
        };
        let number = line.parse::<usize>().ok();
        if let Some(step) = number.and_then(|number| steps.get(number.checked_sub(1)?)) {
            return Ok(Some(step));
        }
    }
}

async fn open_shell(
    world: &World,
    step: &KeptStep,
    terminal: &Terminal,
    window: &mut Signal,
    stop: &CancellationToken,
) -> Result<()> {
    let handle = &step.container.handle;
    // What a step fetched is not for others once a person may have changed it.
    world.store().container_hijacked(handle).await?;
    for shell in SHELLS {
        let request = request(shell, &step.container, terminal);
        let hijack = match world.server.hub.hijack(handle, request).await {
            Ok(hijack) => hijack,
            Err(error) => {
                print(&format!("no shell can be opened: {}\n", chain(&error)));
                return Ok(());
            }
        };
        let raw = terminal.raw()?;
        let end = tokio::select! {
            end = converse(hijack, terminal, window) => end,
            () = stop.cancelled() => ShellEnd::Left,
        };
        drop(raw);
        match end {
            ShellEnd::Left => return Ok(()),
            ShellEnd::Failed(reason) => {
                print(&format!("\nthe shell ended: {reason}\n"));
                return Ok(());
            }
            ShellEnd::NotFound => {}
        }
    }
    print("the container has no shell\n");
    Ok(())
}

fn request(shell: &str, container: &Container, terminal: &Terminal) -> HijackRequest {
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let term = std::env::var("TERM").unwrap_or_else(|_| "xterm".to_owned());
    HijackRequest {
        path: shell.to_owned(),
        env: vec![("TERM".to_owned(), term)],
        dir: given(&container.dir),
        user: given(&container.user),
        tty: Some(terminal.size()),
        ..HijackRequest::default()
    }
}

enum ShellEnd {
    Left,
    NotFound,
    Failed(String),
}

async fn converse(hijack: Hijack, terminal: &Terminal, window: &mut Signal) -> ShellEnd {
    let Hijack { events, inputs } = hijack;
    tokio::select! {
        end = show(events) => end,
        () = pass_keys(terminal, &inputs) => ShellEnd::Left,
        () = pass_sizes(terminal, window, &inputs) => ShellEnd::Left,
    }
}

async fn show(mut events: mpsc::Receiver<HijackEvent>) -> ShellEnd {
    while let Some(event) = events.recv().await {
        match event {
            HijackEvent::Started => {}
            HijackEvent::Output(_, bytes) => write(&bytes),
            HijackEvent::Exited(Exit::NotFound(_)) => return ShellEnd::NotFound,
            HijackEvent::Exited(Exit::Broken(reason)) | HijackEvent::Lost(reason) => {
                return ShellEnd::Failed(reason);
            }
            HijackEvent::Exited(_) => return ShellEnd::Left,
        }
    }
    ShellEnd::Left
}

/// Passes on what is typed, until the terminal is gone.
async fn pass_keys(terminal: &Terminal, inputs: &mpsc::Sender<HijackInput>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut buffer).await {
        let bytes = HijackInput::Bytes(buffer[..count].to_vec().into());
        if inputs.send(bytes).await.is_err() {
            // The process has ended; its last words are on their way.
            std::future::pending().await
        }
    }
}

async fn pass_sizes(terminal: &Terminal, window: &mut Signal, inputs: &mpsc::Sender<HijackInput>) {
    while window.recv().await.is_some() {
        let _ = inputs.send(HijackInput::Resize(terminal.size())).await;
    }
    std::future::pending().await
}

fn print(text: &str) {
    write(text.as_bytes());
}

/// Writes to the terminal. An error is ignored: reading from it ends the shell.
fn write(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}
