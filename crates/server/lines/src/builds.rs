//! The lines of builds, as the API asks for them.

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use airside_logs::{LogReader, Logs};
use airside_model::{BuildId, chain};
use airside_tasks::Panicked;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::{
    BuildSteps, FindCursor, FindPart, FindQuery, LineRange, StepWindow,
    cache::{IndexCache, MAX_CACHE_BYTES},
    find::{GroupPlan, Search},
    index::BuildIndex,
    window::WindowPlan,
};

/// Number of windows that are read at once.
const WINDOWS: usize = 4;

/// Number of searches that run at once.
const SEARCHES: usize = 2;

/// Time for which a request waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// Time in which a quick answer is made of what is known.
const QUICK_TIME: Duration = Duration::from_millis(150);

/// Time that one search may take.
const SEARCH_TIME: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    #[error("lines cannot be read")]
    Log(#[from] airside_logs::Error),
    #[error("too many lines are being read at the moment")]
    Busy,
    #[error("reading lines panicked: {0}")]
    Panicked(String),
}

/// The lines of all builds; clones share the indexes.
#[derive(Clone)]
pub struct BuildLines {
    logs: Logs,
    cache: Arc<Mutex<IndexCache>>,
    windows: Arc<Semaphore>,
    searches: Arc<Semaphore>,
    /// The search that each user runs, and a mark that another one has begun.
    searching: Arc<Mutex<HashMap<String, Arc<AtomicBool>>>>,
    quick_time: Duration,
    search_time: Duration,
}

impl BuildLines {
    pub fn new(logs: Logs) -> Self {
        Self {
            logs,
            cache: Arc::new(Mutex::new(IndexCache::new(MAX_CACHE_BYTES))),
            windows: Arc::new(Semaphore::new(WINDOWS)),
            searches: Arc::new(Semaphore::new(SEARCHES)),
            searching: Arc::default(),
            quick_time: QUICK_TIME,
            search_time: SEARCH_TIME,
        }
    }

    /// Ends searches, and the making of quick answers, after other times; for tests.
    pub fn with_times(mut self, search: Duration, quick: Duration) -> Self {
        self.search_time = search;
        self.quick_time = quick;
        self
    }

    /// The steps of a build that have lines so far. A quick answer may be partial.
    pub async fn steps(&self, build: BuildId, quick: bool) -> Result<BuildSteps, LinesError> {
        self.in_turn(move |lines| {
            let (index, whole) = lines.extended(build, lines.until(quick))?;
            let steps = index.lock().shown();
            Ok(BuildSteps {
                partial: !whole,
                ..steps
            })
        })
        .await
    }

    /// Some lines of a step. A step that is not known has none. A quick answer may be partial, if
    /// it has the beginning of what is asked for.
    pub async fn window(
        &self,
        build: BuildId,
        step: String,
        range: LineRange,
        quick: bool,
    ) -> Result<StepWindow, LinesError> {
        self.in_turn(move |lines| {
            let (mut index, mut whole) = lines.extended(build, lines.until(quick))?;
            if !whole && !range.begins_in(&index.lock(), &step) {
                (index, whole) = lines.extended(build, None)?;
            }
            let plan = WindowPlan::new(&index.lock(), &step, range);
            Ok(StepWindow {
                partial: !whole,
                ..plan.read(&lines.logs, build)?
            })
        })
        .await
    }

    fn until(&self, quick: bool) -> Option<Instant> {
        // A time of some milliseconds ahead is always there.
        let until = Instant::now().checked_add(self.quick_time);
        until.filter(|_| quick)
    }

    /// A reader of the log's entries, as they are.
    pub fn reader(&self, build: BuildId) -> LogReader {
        self.logs.reader(build, 0)
    }

    /// Searches lines for some time. A search of the same owner that runs is ended: the channel
    /// closes without an end.
    pub async fn find(
        &self,
        build: BuildId,
        owner: String,
        query: FindQuery,
        step: Option<String>,
        at: FindCursor,
    ) -> Result<mpsc::UnboundedReceiver<FindPart>, LinesError> {
        let turn = SearchTurn::begin(&self.searching, owner);
        let permit = permit(&self.searches).await?;
        // The hits of one search are bounded, so the channel need not be.
        let (parts, receiver) = mpsc::unbounded_channel();
        let lines = self.clone();
        let work = async move {
            let done = airside_tasks::blocking("search of a build's lines", move || {
                let _permit = permit;
                lines.search(build, query, step, at, &turn, &parts)
            });
            if let Ok(Err(error)) = done.await {
                tracing::error!(%build, error = %chain(&error), "lines of a build not searched");
            }
        };
        airside_tasks::spawn("search of a build", work);
        Ok(receiver)
    }

    fn search(
        &self,
        build: BuildId,
        query: FindQuery,
        step: Option<String>,
        at: FindCursor,
        turn: &SearchTurn,
        parts: &mpsc::UnboundedSender<FindPart>,
    ) -> Result<(), LinesError> {
        let (index, _) = self.extended(build, None)?;
        let give = |hit| {
            if let Some(hit) = hit {
                // The receiver's end is seen below.
                let _ = parts.send(FindPart::Hit(hit));
            }
            if parts.is_closed() || turn.is_over() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let plan = |at, step: Option<&str>| GroupPlan::new(&index.lock(), at, step);
        let mut search = Search::new(query, step, self.search_time, give);
        let next = search.run(&self.logs, build, at, plan)?;
        if !turn.is_over() {
            let _ = parts.send(FindPart::End(next));
        }
        Ok(())
    }

    /// Does work that blocks, when it has its turn.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, LinesError> + Send + 'static,
    ) -> Result<T, LinesError> {
        let permit = permit(&self.windows).await?;
        let lines = self.clone();
        let done = airside_tasks::blocking("lines of a build", move || {
            let _permit = permit;
            work(&lines)
        });
        let panicked = |Panicked { message }| LinesError::Panicked(message);
        done.await.map_err(panicked)?
    }

    /// Reads what is new of a log into its index, until some time at most; and returns true if that
    /// was all. Blocks.
    fn extended(
        &self,
        build: BuildId,
        until: Option<Instant>,
    ) -> Result<(Arc<Mutex<BuildIndex>>, bool), LinesError> {
        let index = self.cache.lock().index(build);
        let mut held = index.lock();
        let whole = held.extend(&self.logs, build, until)?;
        let bytes = held.bytes();
        drop(held);
        self.cache.lock().note(build, bytes);
        Ok((index, whole))
    }
}

async fn permit(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, LinesError> {
    let permit = tokio::time::timeout(TURN_TIMEOUT, semaphore.clone().acquire_owned()).await;
    // The semaphore is never closed.
    permit
        .map_err(|_| LinesError::Busy)?
        .map_err(|_| LinesError::Busy)
}

/// The one search of an owner.
struct SearchTurn {
    all: Arc<Mutex<HashMap<String, Arc<AtomicBool>>>>,
    owner: String,
    over: Arc<AtomicBool>,
}

impl SearchTurn {
    fn begin(all: &Arc<Mutex<HashMap<String, Arc<AtomicBool>>>>, owner: String) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        if let Some(earlier) = all.lock().insert(owner.clone(), over.clone()) {
            earlier.store(true, Ordering::Relaxed);
        }
        Self {
            all: all.clone(),
            owner,
            over,
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl Drop for SearchTurn {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        let own = all.get(&self.owner);
        if own.is_some_and(|own| Arc::ptr_eq(own, &self.over)) {
            all.remove(&self.owner);
        }
    }
}
