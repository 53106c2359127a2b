//! Steps side by side.

use airside_model::plan::InParallelPlan;
use futures::{StreamExt, stream};

use crate::{
    Result,
    interpret::{Interpreter, Running},
    scope::Context,
    status::{self, Status, StopCause},
};

/// The way that steps run beside each other.
pub(crate) struct Parallel<'a> {
    pub(crate) context: &'a Context,
    /// Maximum number of steps at once.
    pub(crate) limit: usize,
    /// The first that does not succeed stops its siblings, and nothing else.
    pub(crate) fail_fast: bool,
}

impl Parallel<'_> {
    /// Begins each in its turn, unless all is to stop by then.
    pub(crate) async fn run<'s, F>(&self, begin: Vec<F>) -> Result<Status>
    where
        F: FnOnce(Context) -> Running<'s> + Send + 's,
    {
        let siblings = self.context.stop.part();
        let context = self.context.with_stop(siblings.clone());
        let runs = begin.into_iter().map(|begin| {
            let context = context.clone();
            async move {
                match context.stop.cause() {
                    Some(_) => None,
                    None => Some(begin(context).await),
                }
            }
        });
        let mut ending = stream::iter(runs).buffer_unordered(self.limit.max(1));
        let mut ended = Vec::new();
        while let Some(status) = ending.next().await {
            let Some(status) = status.transpose()? else {
                continue;
            };
            if self.fail_fast && status != Status::Succeeded {
                siblings.stop(StopCause::Aborted);
            }
            ended.push(status);
        }
        Ok(status::together(ended, self.context.stop.cause()))
    }
}

pub(crate) async fn run(
    interpreter: &Interpreter<'_>,
    node: &InParallelPlan,
    context: &Context,
) -> Result<Status> {
    let limit = match node.limit {
        None | Some(0) => node.steps.len(),
        Some(limit) => limit as usize,
    };
    let parallel = Parallel {
        context,
        limit,
        fail_fast: node.fail_fast,
    };
    let begin = |step| move |context| interpreter.run_node(step, context);
    parallel.run(node.steps.iter().map(begin).collect()).await
}
