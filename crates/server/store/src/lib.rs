//! The database: what must survive a crash, and the transactions that keep it consistent.
//!
//! SQL lives here and nowhere else, written so that SQLite and Postgres both take it (numbered
//! placeholders, `ON CONFLICT`, `RETURNING`); what differs is in [`db`]. A transaction that must
//! not interleave with another begins with a write to the row that both would write. Callers see
//! plain structs and enums, never rows. No secret is stored in clear: configurations, members,
//! claims, plans and requests pass through [`Sealer`] first, tokens are kept as hashes.

#![cfg_attr(
    test,
    allow(
        unsafe_code,
        reason = "`linkme` puts every statement into a section of the test program"
    )
)]

mod agent_tokens;
mod artifacts;
mod builds;
mod causality;
mod checks;
mod components;
mod containers;
mod db;
mod garbage;
mod history;
mod inputs;
mod instance_vars;
mod kept;
mod news;
mod nodes;
mod patience;
mod pipelines;
mod pull_secrets;
mod reseal;
mod resource_caches;
mod sealer;
mod settings;
mod signing_keys;
mod task_caches;
mod teams;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod tokens;
mod usage;
mod users;
mod versions;
mod volumes;
mod wall;
mod workers;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{broadcast, watch};

use db::{Listener, Pool};

pub use agent_tokens::AgentPass;
pub use airside_model::{SaveJob, SaveResource};
pub use artifacts::{Artifact, ArtifactId};
pub use builds::{
    Build, BuildChoice, BuildFilter, BuildHome, BuildPage, BuildRange, CheckReason, EndedCheck,
    Lease, NewBuild, NewCheck, OneOff, RequestedBuild, RerunOf, Unfinished,
};
pub use causality::{Causality, Direction, RelatedBuild, RelatedVersion};
pub use checks::{CheckBuild, CheckSummary, Checkable, ChecksOf, ImageCheck, LastCheck};
pub use components::Component;
pub use containers::{Claimant, Container, ContainerFilter, NewPlacement};
pub use db::{Alone, DatabaseTimeout, DatabaseUrl, DatabaseUrlError, Purpose};
pub use garbage::{Cold, ColdCache, Destroyed, Logged, LoggedOf, RetainedJob};
pub use history::{Carrying, CarryingBuild, StoredLastUse};
pub use inputs::{
    BuildInput, BuildOutput, BuildVersions, FirstInput, GivenInput, NextInput, NextInputs,
    VersionUse,
};
pub use instance_vars::InstanceVars;
pub use kept::{HIJACK_GRACE, KeptContainer};
pub use news::{Missed, News, Newsstand, ShownChange, ShownChanges};
pub use nodes::NodeEnd;
pub use pipelines::{
    BuildBrief, DashboardJob, DashboardOf, DashboardPipeline, DeletionPolicy, FoundName, Job,
    JobActivity, JobOverview, JobState, JobsOf, NameMatch, NamedKind, Parent, Pausing, Pipeline,
    PipelineClaim, PipelineHead, PipelineObject, PipelineSummary, Resource, SavePipeline, Saved,
};
pub use resource_caches::{CacheOwner, ResourceCache};
pub use sealer::{SealError, Sealer};
pub use signing_keys::SigningKey;
pub use task_caches::{NamedTaskCache, TaskCache};
pub use teams::{MAIN_TEAM, Team};
pub use time::{Micros, now};
pub use usage::QuotaUse;
pub use users::User;
pub use versions::{
    CheckFrom, Pin, PinOutcome, ResourceVersion, SavedVersions, VersionFilter, VersionPage,
    VersionPlace, VersionScope,
};
pub use volumes::{TeamVolume, Volume};
pub use wall::Wall;
pub use workers::{Worker, WorkerArrival, WorkerChange, WorkerChanged, WorkerKind};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot open the database {path}")]
    Open { path: String, source: sqlx::Error },
    #[error("cannot bring the database up to date")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    #[error("{purpose}")]
    Sql {
        purpose: Purpose,
        source: sqlx::Error,
    },
    /// A commit failed: the change may have been made, if the connection broke meanwhile.
    #[error("{purpose}")]
    Uncertain {
        purpose: Purpose,
        source: sqlx::Error,
    },
    #[error("the database holds a value that cannot be read: {what}")]
    Corrupt { what: String },
    #[error("the configuration was changed meanwhile: it is at version {current:?} now")]
    ConfigVersion { current: Option<i64> },
    #[error("another server drives build {build} now")]
    Fenced { build: airside_model::BuildId },
    #[error("another airside uses this database; stop it, or give this one a database of its own")]
    InUse,
    #[error(
        "the database is sealed with another encryption key; give that one as the old key, and it is \
         sealed anew"
    )]
    OtherKey,
    #[error("a name may not hold a NUL character")]
    Nul,
    #[error("the name `{name}` is taken")]
    NameTaken { name: String },
    #[error("the pipeline was set by a newer build")]
    SetByNewerBuild,
    #[error(
        "the pipeline is set by pipeline.ci.airside.dev/{} in {}; change it there",
        .0.name, .0.namespace
    )]
    SetByObject(Box<PipelineObject>),
    #[error("the object {uid} asked for a build of another job before")]
    RequestedOtherwise { uid: String },
    #[error("pipeline '{name}' not found")]
    NoSuchPipeline { name: String },
    #[error(transparent)]
    Quota(Box<airside_model::QuotaExceeded>),
    #[error(transparent)]
    Seal(#[from] SealError),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    fn corrupt(what: &str) -> Self {
        corrupt(what)
    }

    /// Returns true if the database was locked, away or too busy: the same call may work a little
    /// later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Sql { source, .. }
            | Self::Uncertain { source, .. }
            | Self::Open { source, .. } => db::is_transient(source),
            _ => false,
        }
    }

    /// Returns true if the database has no room left. Nothing was changed.
    pub fn is_out_of_space(&self) -> bool {
        match self {
            Self::Sql { source, .. }
            | Self::Uncertain { source, .. }
            | Self::Open { source, .. } => db::is_out_of_space(source),
            _ => false,
        }
    }
}

/// A handle on the database; clones share it.
#[derive(Clone)]
pub struct Store {
    write: Pool,
    read: Pool,
    sealer: Sealer,
    patience: DatabaseTimeout,
    /// Counts changes by any server.
    changes: watch::Sender<u64>,
    /// Counts the changes that this process made.
    own_changes: watch::Sender<u64>,
    listener: Arc<Mutex<Option<Listener>>>,
    news: broadcast::Sender<News>,
    /// Changes that pages show.
    shown: broadcast::Sender<ShownChange>,
    /// Lock of the writer that changes a history, held until listeners were notified.
    turn: Arc<tokio::sync::Mutex<()>>,
    quotas: Arc<airside_model::Quotas>,
    /// The last look found no room for a write.
    full: Arc<AtomicBool>,
}

impl Store {
    /// Opens (or makes) the database, brings its schema up to date, and seals what another key
    /// sealed with the current one.
    pub async fn open(url: impl Into<DatabaseUrl>, sealer: Sealer) -> Result<Self> {
        Self::open_patiently(url, sealer, DatabaseTimeout::default()).await
    }

    /// Opens the database with another limit for waiting while it is locked or away.
    pub async fn open_patiently(
        url: impl Into<DatabaseUrl>,
        sealer: Sealer,
        patience: DatabaseTimeout,
    ) -> Result<Self> {
        let pools = db::connect(url.into(), patience).await?;
        let (changes, own_changes) = (watch::Sender::new(0), watch::Sender::new(0));
        let heard = {
            let changes = changes.clone();
            move || changes.send_modify(|count| *count += 1)
        };
        let listener = db::listen(pools.write.clone(), own_changes.subscribe(), heard).await?;
        let store = Self {
            write: pools.write,
            read: pools.read,
            sealer,
            patience,
            changes,
            own_changes,
            listener: Arc::new(Mutex::new(listener)),
            news: news::channel(),
            shown: news::channel(),
            turn: Arc::default(),
            quotas: Arc::default(),
            full: Arc::default(),
        };
        store.reseal().await?;
        Ok(store)
    }

    /// Makes sure that no other server has claimed this database, for as long as the
    /// result lives. A file is guarded by the lock of its folder instead.
    pub async fn take_alone(&self) -> Result<Alone> {
        Alone::take(&self.write).await
    }

    /// Ends all connections; whatever is asked afterwards fails.
    pub async fn close(&self) {
        let listener = self
            .listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(listener);
        self.write.close().await;
        self.read.close().await;
    }

    /// Returns a receiver that changes whenever builds change, so that no caller polls the
    /// database.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Looks whether the database takes a write. Of one that is away nothing new is known.
    pub async fn probe(&self) -> Result<()> {
        let now = now().0.to_string();
        let probed = db::query(db::sql!(
            "INSERT INTO settings (key, value) VALUES ('write_probe', $1)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        ))
        .bind(now)
        .execute(&self.write)
        .await;
        match &probed {
            Ok(_) => self.full.store(false, Ordering::Relaxed),
            Err(error) if error.is_out_of_space() => self.full.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
        probed.map(|_| ())
    }

    /// Returns true if the last look found that the database has no room for a write.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
        self.own_changes.send_modify(|count| *count += 1);
    }

    pub fn sealer(&self) -> &Sealer {
        &self.sealer
    }
}

#[cfg(test)]
mod tests;

fn corrupt(what: impl std::fmt::Display) -> Error {
    Error::Corrupt {
        what: what.to_string(),
    }
}

fn from_json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| corrupt(format!("{what}: {error}")))
}

fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("what we store is always JSON")
}
