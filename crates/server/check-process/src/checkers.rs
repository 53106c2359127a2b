//! The handle on all checkers of this machine.

use std::{collections::HashMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use airside_resource_types::ServedImage;
use airside_sandbox::Users;
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::{
    Check, Checked, Failure, ImageQuestion, SecretAnswer, SecretLookup,
    scratch::Scratch,
    share::{Key, Sharing},
    team::Team,
};

pub struct Options {
    /// Program and leading arguments of a checker: `airside checker`.
    pub program: Vec<OsString>,
    /// Folder in which this server makes a folder for its checkers. Any user must be able to pass
    /// through it.
    pub scratch: PathBuf,
    /// Time after which an unused checker ends.
    pub idle: Duration,
    /// The users that checkers of a server that is root become, each another one.
    pub users: Users,
}

impl Options {
    pub fn new(program: Vec<OsString>) -> Self {
        Self {
            program,
            scratch: std::env::temp_dir(),
            idle: Duration::from_secs(5 * 60),
            users: Users::of_checkers(),
        }
    }
}

/// The folder of all checkers, once there is one.
pub(crate) type Home = Arc<Mutex<Option<Scratch>>>;

/// All checkers of this machine; clones share them.
#[derive(Clone)]
pub struct Checkers {
    options: Arc<Options>,
    teams: Arc<Mutex<HashMap<String, Arc<Team>>>>,
    sharing: Arc<Sharing<Key, Result<Checked, Failure>>>,
    home: Home,
    /// One task for each process, until nothing is left of it.
    attended: TaskTracker,
}

impl Checkers {
    pub fn new(options: Options) -> Self {
        Self {
            options: Arc::new(options),
            teams: Arc::default(),
            sharing: Arc::default(),
            home: Home::default(),
            attended: TaskTracker::new(),
        }
    }

    /// Checks, in the team's checker. Dropping the future gives the check up.
    pub async fn check(&self, check: &Check) -> Result<Checked, Failure> {
        let (team, own) = (self.team(&check.team), check.clone());
        let begin = move || async move { team.check(&own).await };
        let key = Key::of(check);
        self.sharing.run(key, check.freshness, begin).await
    }

    /// Asks a secret manager that a tenant named, in the team's checker.
    pub async fn secret(&self, look: &SecretLookup) -> Result<SecretAnswer, Failure> {
        self.team(&look.team).secret(look).await
    }

    /// Reads the documents of an image, in the team's checker. Dropping the future gives that up.
    pub async fn image(&self, question: &ImageQuestion) -> Result<ServedImage, Failure> {
        self.team(&question.team).image(question).await
    }

    /// Ends the processes of all teams, and waits until nothing is left of them. Checks in flight
    /// fail.
    pub async fn close(&self) {
        for team in self.teams.lock().values() {
            team.end();
        }
        self.attended.close();
        self.attended.wait().await;
        *self.home.lock() = None;
    }

    fn team(&self, name: &str) -> Arc<Team> {
        let mut teams = self.teams.lock();
        if let Some(team) = teams.get(name) {
            return team.clone();
        }
        let team = Arc::new(Team::new(
            name,
            self.options.clone(),
            self.home.clone(),
            self.attended.clone(),
        ));
        teams.insert(name.to_owned(), team.clone());
        team
    }
}
