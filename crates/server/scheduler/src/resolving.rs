//! Resolves a job's inputs, and asks the store what the view does not know.

use airside_schedule::{Resolution, Resolver, graph::Job};
use tracing::warn;

use crate::{Result, answer::answer, driver::Driver};

impl Driver {
    pub(crate) async fn resolve(&mut self, job: &Job) -> Result<Resolution> {
        let mut resolver = Resolver::new(job);
        let mut ticket = self.view.ticket();
        loop {
            if self.view.ticket() != ticket {
                ticket = self.view.ticket();
                resolver = Resolver::new(job);
            }
            match resolver.resume(&self.view) {
                Ok(resolution) => {
                    if resolution.gave_up {
                        warn!(job = %job.id, "no set of inputs was found among very many builds");
                    }
                    return Ok(resolution);
                }
                Err(question) => {
                    let page = self.view.page();
                    let answer = answer(&self.store, &self.names, &question, page).await?;
                    // The view is not changed meanwhile, so no answer is overtaken; if one were,
                    // the next round would begin anew.
                    let _ = self.view.learn(ticket, &question, answer)?;
                }
            }
        }
    }
}
