//! The checker of one team: at any time one process that takes checks, and perhaps older ones that
//! end with the checks they still have.

use std::{sync::Arc, time::Duration};

use airside_resource_types::ServedImage;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

use crate::{
    Check, Checked, Failure, ImageQuestion, SecretAnswer, SecretLookup,
    checkers::{Home, Options},
    failure::pause,
    process::{Process, RequestEnd},
    wire::What,
};

/// Maximum number of checks that one process is given; more would only fill memory.
const MAX_WAITING: usize = 50_000;

/// Number of tries of a check whose process died. Whatever killed the first process, the second
/// will hardly die of that cause.
const TRIES: u32 = 2;

pub(crate) struct Team {
    name: String,
    options: Arc<Options>,
    home: Home,
    attended: TaskTracker,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<Process>>,
    /// Number of processes in a row that never answered.
    in_vain: u32,
    not_before: Option<Instant>,
}

impl Team {
    pub(crate) fn new(
        name: &str,
        options: Arc<Options>,
        home: Home,
        attended: TaskTracker,
    ) -> Self {
        Self {
            name: name.to_owned(),
            options,
            home,
            attended,
            state: Mutex::default(),
        }
    }

    pub(crate) async fn check(&self, check: &Check) -> Result<Checked, Failure> {
        let what = What::Check {
            type_: check.type_.clone(),
            source: check.source.clone(),
            version: check.from.clone(),
        };
        match self.ask(&what, check.timeout).await? {
            RequestEnd::Found { versions, output } => {
                match airside_model::bounded_versions(&versions) {
                    Ok(()) => Ok(Checked { versions, output }),
                    Err(why) => Err(Failure::Broken { why, output }),
                }
            }
            RequestEnd::Failed { output } => Err(Failure::Failed { output }),
            other => Err(self.odd(other)),
        }
    }

    pub(crate) async fn secret(&self, look: &SecretLookup) -> Result<SecretAnswer, Failure> {
        let what = What::Secret {
            type_: look.type_.clone(),
            config: look.config.clone(),
            path: look.path.clone(),
        };
        match self.ask(&what, look.timeout).await? {
            RequestEnd::Secret(said) => Ok(said),
            other => Err(self.odd(other)),
        }
    }

    pub(crate) async fn image(&self, question: &ImageQuestion) -> Result<ServedImage, Failure> {
        let what = What::Image {
            source: question.source.clone(),
            reference: question.reference.clone(),
        };
        match self.ask(&what, question.timeout).await? {
            // The checker has checked it, too; but it is not trusted.
            RequestEnd::Image(image) => match image.check() {
                Ok(()) => Ok(image),
                Err(why) => Err(Failure::Broken {
                    why,
                    output: String::new(),
                }),
            },
            other => Err(self.odd(other)),
        }
    }

    /// An answer to something that was not asked.
    fn odd(&self, ended: RequestEnd) -> Failure {
        match ended {
            RequestEnd::Died { how, output } => self.died(how, output),
            RequestEnd::Failed { output } => Failure::Failed { output },
            RequestEnd::Found { .. } | RequestEnd::Secret(_) | RequestEnd::Image(_) => {
                self.died("it answered another question".to_owned(), String::new())
            }
        }
    }

    async fn ask(&self, what: &What, patience: Duration) -> Result<RequestEnd, Failure> {
        let deadline = airside_model::deadline_after(Instant::now(), patience);
        let mut died = None;
        for _ in 0..TRIES {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.try_once(what, left).await {
                Err(failure @ Failure::Died { .. }) => died = Some(failure),
                other => return other,
            }
        }
        Err(died.unwrap_or_else(|| self.not_started("it was not tried")))
    }

    async fn try_once(&self, what: &What, left: Duration) -> Result<RequestEnd, Failure> {
        let process = self.process(left).await?;
        let waiting = process.waiting();
        if waiting >= MAX_WAITING {
            let team = self.name.clone();
            return Err(Failure::Full { team, waiting });
        }
        let asked = process.ask(what.clone());
        let mut asked = asked.map_err(|bytes| Failure::TooLarge { bytes })?;
        match timeout(left, &mut asked.end).await {
            Ok(Ok(RequestEnd::Died { how, output })) => Err(self.died(how, output)),
            Ok(Ok(ended)) => Ok(ended),
            Ok(Err(_)) => Err(self.died("the reason is not known".to_owned(), String::new())),
            Err(_) => Err(Failure::TimedOut {
                output: asked.give_up(),
            }),
        }
    }

    /// The process that takes checks, started if there is none.
    async fn process(&self, patience: Duration) -> Result<Arc<Process>, Failure> {
        let not_before = self.state.lock().not_before;
        if let Some(moment) = not_before.filter(|moment| *moment > Instant::now()) {
            let waited = timeout(patience, tokio::time::sleep_until(moment)).await;
            waited.map_err(|_| Failure::TimedOut {
                output: String::new(),
            })?;
        }
        let mut state = self.state.lock();
        if let Some(current) = state.current.as_ref().filter(|current| current.is_good()) {
            return Ok(current.clone());
        }
        if let Some(last) = state.current.take() {
            state.in_vain = if last.has_answered() {
                0
            } else {
                state.in_vain + 1
            };
            let moment = airside_model::deadline_after(Instant::now(), pause(state.in_vain));
            state.not_before = (state.in_vain > 0).then_some(moment);
        }
        let started = Process::start(&self.name, &self.options, &self.home, &self.attended);
        let process = started.map_err(|error| self.not_started(&airside_model::chain(&error)))?;
        state.current = Some(process.clone());
        Ok(process)
    }

    fn died(&self, how: String, output: String) -> Failure {
        Failure::Died {
            team: self.name.clone(),
            how,
            output,
        }
    }

    fn not_started(&self, why: &str) -> Failure {
        Failure::NotStarted {
            team: self.name.clone(),
            why: why.to_owned(),
        }
    }

    pub(crate) fn end(&self) {
        if let Some(process) = self.state.lock().current.take() {
            process.end();
        }
    }
}
