//! The monitor: resolves the tags of sets at their registries, and notices when they move.
//!
//! ```text
//! sets ──▶ book: topics, answers, due times ──▶ ask: on threads, in budgets ──▶ answers ──▶ book
//! ```

mod ask;
mod book;
mod budget;
mod topic;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airside_image_rules::TagState;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{sync::Notify, task::JoinSet};

pub(crate) use self::{
    ask::Asker,
    book::{Book, Due, KnownTag, Seed, TopicEntry, Trouble, WantedTopic},
    budget::Budgets,
    topic::{Question, Secrets, Topic},
};
pub use self::{ask::RegistryRules, budget::Rate};
use crate::pull_secrets::PullSecrets;

/// Asks what is due, and writes the answers into the book.
pub(crate) struct Monitor {
    book: Mutex<Book>,
    asker: Arc<Asker>,
    budgets: Arc<Budgets>,
    secrets: PullSecrets,
    /// Notified whenever something was answered.
    news: Arc<Notify>,
}

impl Monitor {
    pub(crate) fn new(
        rules: RegistryRules,
        rate: Rate,
        secrets: PullSecrets,
        news: Arc<Notify>,
    ) -> Self {
        let budgets = Arc::new(Budgets::new(rate));
        Self {
            book: Mutex::default(),
            asker: Arc::new(Asker::new(rules, budgets.clone())),
            budgets,
            secrets,
            news,
        }
    }

    /// Exactly these topics are watched from now on.
    pub(crate) fn want(&self, wants: Vec<WantedTopic>) {
        self.book
            .lock()
            .want(wants, Timestamp::now(), &mut rand::random);
    }

    pub(crate) fn entry(&self, topic: &Topic) -> Option<TopicEntry> {
        self.book.lock().get(topic).cloned()
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.book.lock().next()
    }

    /// Begins to ask what is due.
    pub(crate) fn start_due(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        for due in self.book.lock().due(Timestamp::now()) {
            let monitor = self.clone();
            tasks.spawn(airside_tasks::named("question to a registry", async move {
                monitor.attend(due).await;
            }));
        }
    }

    async fn attend(&self, due: Due) {
        let host = due.topic.question.repository().host().to_owned();
        let doors = self.budgets.doors(&host);
        let Ok(_door) = doors.acquire().await else {
            return;
        };
        // It may not be wanted any more, as the wait can be long.
        if !self.book.lock().is_awaited(&due.topic, due.turn) {
            return;
        }
        let answer = match self.budgets.closed_for(&host, Instant::now()) {
            Some(wait) => Err(closed(&host, wait)),
            None => self.ask(&due).await,
        };
        if let Err(Trouble {
            retry_after: Some(wait),
            ..
        }) = &answer
        {
            self.budgets.close(&host, Instant::now(), *wait);
        }
        if let Err(trouble) = &answer {
            tracing::warn!(
                image = %due.topic.question,
                reason = trouble.words,
                "image not resolved by its registry"
            );
        }
        let mut book = self.book.lock();
        book.answered(&due, answer, Timestamp::now(), &mut rand::random);
        drop(book);
        self.news.notify_one();
    }

    async fn ask(&self, due: &Due) -> Result<Vec<KnownTag>, Trouble> {
        let repository = due.topic.question.repository();
        let logins = match &due.topic.secrets {
            None => Vec::new(),
            Some(secrets) => self
                .secrets
                .logins(secrets, repository)
                .await
                .map_err(|error| Trouble {
                    state: TagState::Error,
                    words: airside_model::chain(&error),
                    retry_after: None,
                })?,
        };
        let (asker, due) = (self.asker.clone(), due.clone());
        let ask = move || asker.ask(&due, &logins, Timestamp::now());
        let asked = airside_tasks::blocking("question to a registry", ask);
        asked.await.unwrap_or_else(|error| {
            Err(Trouble {
                state: TagState::Error,
                words: format!("asking was not finished: {}", airside_model::chain(&error)),
                retry_after: None,
            })
        })
    }
}

fn closed(host: &str, wait: Duration) -> Trouble {
    Trouble {
        state: TagState::Error,
        words: format!("{host} has asked to be left alone for a while"),
        retry_after: Some(wait),
    }
}
