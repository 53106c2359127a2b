//! Whole steps, run by the orchestrator as the engine runs them.

use airside_logs::LogWriter;
use airside_model::{
    BuildId, PlanId, VolumeId,
    event::{Event, Origin},
};
use airside_orchestrator::{Artifact, StepEnd, StepOutput, StepRequest, StepResult};
use airside_protocol::Executable;
use airside_store::Lease;
use airside_vars::Secrets;
use futures::StreamExt;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{Bench, within};

/// A step that was set going.
pub(crate) struct Running {
    pub(crate) build: BuildId,
    pub(crate) cancel: CancellationToken,
    pub(crate) task: JoinHandle<StepResult>,
    pub(crate) lease: Lease,
    log: LogWriter,
}

/// The result of a step, with all that it printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) end: StepEnd,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) outputs: Vec<(String, VolumeId)>,
}

impl Bench {
    /// A step that runs a shell script in the site's image.
    pub(crate) async fn request(&self, script: &str) -> (Lease, StepRequest) {
        let (lease, labels) = self.build().await;
        let plan = PlanId::new("1");
        let request = StepRequest {
            start_event: Event::StartGet {
                origin: Origin::step(&plan),
                time: 0,
            },
            plan,
            labels,
            tags: Vec::new(),
            native_type: None,
            image: self.site.image(),
            run: Executable::Path("/bin/sh".to_owned()),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: Vec::new(),
            dir: "/step".to_owned(),
            user: None,
            tty: None,
            stdin: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            folders: Vec::new(),
            limits: Default::default(),
            privileged: false,
            hermetic: false,
            answers: false,
            image_get: None,
        };
        (lease, request)
    }

    /// Runs a script as a step, changed as the rule wants.
    pub(crate) async fn run(&self, script: &str, change: impl FnOnce(&mut StepRequest)) -> Ran {
        let (lease, mut request) = self.request(script).await;
        change(&mut request);
        self.start(lease, request).await.end(self).await
    }

    /// Sets a step going, or follows it further under a newer lease.
    pub(crate) async fn start(&self, lease: Lease, request: StepRequest) -> Running {
        let log = self
            .ground
            .logs
            .writer(lease.build, lease.epoch)
            .await
            .unwrap();
        let cancel = CancellationToken::new();
        let (orchestrator, build) = (self.orchestrator(), lease.build);
        let driven = {
            let (log, lease, cancel) = (log.clone(), lease.clone(), cancel.clone());
            async move {
                let run = orchestrator
                    .run(&lease, &log, &request, &cancel, &Secrets::default())
                    .await;
                let (result, held) = run.unwrap();
                orchestrator.discard(held).await;
                result
            }
        };
        Running {
            build,
            cancel,
            task: tokio::spawn(driven),
            lease,
            log,
        }
    }
}

impl Running {
    /// Waits until the step's output has this in it.
    pub(crate) async fn says(&self, bench: &Bench, text: &str) {
        let mut entries = bench.ground.logs.follow(self.build, 0);
        let what = format!("the step says {text:?}");
        within(&what, async {
            let mut seen = String::new();
            while !seen.contains(text) {
                let entry = entries.next().await.expect("the log is open").unwrap();
                seen.push_str(&payload(entry.envelope.as_str(), None));
            }
        })
        .await;
    }

    /// The result, and all that the log has of it.
    pub(crate) async fn end(self, bench: &Bench) -> Ran {
        let result = within("the step ends", self.task).await.unwrap();
        self.log.close().await.unwrap();
        let entries = bench
            .ground
            .logs
            .follow(self.build, 0)
            .collect::<Vec<_>>()
            .await;
        let text = |source| {
            entries
                .iter()
                .map(move |entry| payload(entry.as_ref().unwrap().envelope.as_str(), Some(source)))
        };
        Ran {
            end: result.end,
            stdout: text("stdout").collect(),
            stderr: text("stderr").collect(),
            outputs: result.outputs,
        }
    }
}

impl Ran {
    pub(crate) fn assert_exited(&self, code: i32) {
        assert_eq!(self.end, StepEnd::Exited(code), "{self:#?}");
    }

    /// The words of a step that errored.
    pub(crate) fn error(&self) -> &str {
        match &self.end {
            StepEnd::Errored(words) => words,
            other => panic!("an error, not {other:?}: {self:#?}"),
        }
    }
}

/// The text of an entry, if it is output (of this stream).
fn payload(envelope: &str, source: Option<&str>) -> String {
    let entry: Value = serde_json::from_str(envelope).unwrap();
    let from = entry["data"]["origin"]["source"].as_str();
    let wanted = entry["event"] == "log" && source.is_none_or(|source| from == Some(source));
    match entry["data"]["payload"].as_str() {
        Some(text) if wanted => text.to_owned(),
        _ => String::new(),
    }
}

pub(crate) fn input(volume: &VolumeId, path: &str) -> Artifact {
    Artifact {
        volume: volume.clone(),
        path: path.to_owned(),
    }
}

pub(crate) fn output(name: &str, path: &str) -> StepOutput {
    StepOutput {
        name: name.to_owned(),
        path: path.to_owned(),
    }
}
