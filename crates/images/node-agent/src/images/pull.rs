//! One pull, from the question whether it may be to the marks on what came.

use std::{sync::Arc, time::Duration};

use airside_image_rules::{PullGrant, PullLogin, PullRequest};
use airside_model::chain;
use airside_oci::TagOrDigest;
use jiff::Timestamp;
use tracing::{info, warn};

use super::{
    marks,
    operator::{OperatorClient, PullAnswer},
    wanted::DesiredPull,
};
use airside_containerd::{Containerd, ContainerdError};

/// Nodes that pull without asking do not all begin in the same second.
const SPREAD: Duration = Duration::from_secs(5);

/// Result of a pull.
#[derive(Debug)]
pub(crate) struct PullEnd {
    pub(crate) want: DesiredPull,
    pub(crate) how: How,
    /// Result of the request to the operator; none if it was not asked.
    pub(crate) operator: Option<Result<(), String>>,
}

#[derive(Debug)]
pub(crate) enum How {
    /// The next look shows it.
    Done,
    /// The pull was not begun, or was broken off by others, which is not a failure. It is tried
    /// again after this long.
    Later(Duration, String),
    Failed(String),
}

#[derive(Clone)]
pub(crate) struct Puller {
    pub(crate) runtime: Containerd,
    pub(crate) operator: Option<Arc<OperatorClient>>,
}

impl Puller {
    pub(crate) async fn pull(self, want: DesiredPull) -> PullEnd {
        let (grant, operator) = match &self.operator {
            None if want.needs_login => {
                let words = "it needs a login, and no operator is there who has it".to_owned();
                let how = How::Later(Duration::from_secs(30), words);
                return ended(want, how, None);
            }
            None => (None, None),
            Some(operator) => match operator.ask(&request(&want)).await {
                Ok(PullAnswer::Granted(grant)) => (Some(grant), Some(Ok(()))),
                Ok(PullAnswer::Later(wait)) => {
                    let words = "others of the cluster go first".to_owned();
                    return ended(want, How::Later(wait, words), Some(Ok(())));
                }
                Ok(PullAnswer::Denied(words)) => {
                    let words = format!("the operator denies it: {words}");
                    return ended(want, How::Failed(words), Some(Ok(())));
                }
                Err(error) if want.needs_login => {
                    let words = format!("it waits for a login: {}", chain(&error));
                    let how = How::Later(Duration::from_secs(5), words);
                    return ended(want, how, Some(Err(chain(&error))));
                }
                Err(error) => {
                    let image = &want.wanted.name;
                    warn!(%image, error = %chain(&error), "operator unreachable; image pulled without a permit");
                    let spread = airside_model::scale_duration(SPREAD, rand::random());
                    tokio::time::sleep(spread).await;
                    (None, Some(Err(chain(&error))))
                }
            },
        };
        let how = match grant {
            Some(grant) => self.pull_with(&want, &grant).await,
            None => self.how(&want, &[]).await,
        };
        ended(want, how, operator)
    }

    /// Holds the place until the pull is over.
    async fn pull_with(&self, want: &DesiredPull, grant: &PullGrant) -> How {
        let Some(operator) = &self.operator else {
            return self.how(want, &grant.logins).await;
        };
        let renew = async {
            let between = Duration::from_secs(u64::from(grant.seconds.max(2) / 2));
            loop {
                tokio::time::sleep(between).await;
                if let Err(error) = operator.ask(&request(want)).await {
                    warn!(
                        error = %chain(&error),
                        "permit to pull not renewed"
                    );
                }
            }
        };
        let how = tokio::select! {
            how = self.how(want, &grant.logins) => how,
            never = renew => never,
        };
        if let Err(error) = operator.give_back(&grant.permit).await {
            warn!(
                error = %chain(&error),
                "permit to pull not given back; it ends by itself"
            );
        }
        how
    }

    async fn how(&self, want: &DesiredPull, logins: &[PullLogin]) -> How {
        match self.bring(want, logins).await {
            Ok(()) => How::Done,
            Err(ContainerdError::Away(words)) => How::Later(Duration::from_secs(1), words),
            Err(error) => How::Failed(chain(&error)),
        }
    }

    /// Pulls by digest, as the operator resolved the tag for the whole cluster, and tags the pulled
    /// image.
    async fn bring(&self, want: &DesiredPull, logins: &[PullLogin]) -> Result<(), ContainerdError> {
        let wanted = &want.wanted;
        let was_there = self.runtime.name(&wanted.id).await?.is_some();
        let has_content = was_there && self.has(wanted).await?;
        let id = if has_content {
            wanted.id.clone()
        } else {
            self.pull_by(&wanted.content.to_string(), logins).await?
        };
        // A name that was there before us is not ours.
        let given: &[_] = if has_content {
            &[&wanted.name]
        } else {
            &[&wanted.content, &wanted.name]
        };
        // Marked whatever it is: what is not wanted must be known as ours to go again.
        let Some(image) = self.runtime.name(&id).await? else {
            return Err(ContainerdError::Refused(format!(
                "the runtime pulled {id}, and does not have it"
            )));
        };
        let names = marks::with_names(&image, given);
        let mut changes = vec![(marks::NAMES, Some(names))];
        if !was_there {
            changes.push((marks::PULLED, Some(Timestamp::now().to_string())));
        }
        self.runtime.label(&id, &changes).await?;
        if id != wanted.id {
            return Err(ContainerdError::Refused(format!(
                "its registry gave {id}, but {} belongs here",
                wanted.id
            )));
        }
        if matches!(wanted.name.which(), TagOrDigest::Tag(_)) {
            let (from, name) = (wanted.content.to_string(), wanted.name.to_string());
            self.runtime.tag(&from, &name).await?;
        }
        info!(image = %wanted.name, digest = %wanted.content, "image pulled");
        Ok(())
    }

    /// Returns true if the runtime has the content under its digest already, and only the tag is
    /// missing.
    async fn has(
        &self,
        wanted: &airside_image_rules::plan::DesiredImage,
    ) -> Result<bool, ContainerdError> {
        let content = wanted.content.to_string();
        let images = self.runtime.images().await?;
        let image = images.iter().find(|image| image.id == wanted.id);
        Ok(image.is_some_and(|image| image.digests.contains(&content)))
    }

    /// Pulls with each login in turn, or without one.
    async fn pull_by(&self, image: &str, logins: &[PullLogin]) -> Result<String, ContainerdError> {
        let Some((last, others)) = logins.split_last() else {
            return self.runtime.pull(image, None).await;
        };
        for login in others {
            match self.runtime.pull(image, Some(login)).await {
                Err(ContainerdError::Refused(words) | ContainerdError::NotFound(words)) => {
                    info!(
                        image,
                        user = login.username,
                        reason = words,
                        "image not pulled with this login"
                    );
                }
                other => return other,
            }
        }
        self.runtime.pull(image, Some(last)).await
    }
}

fn request(want: &DesiredPull) -> PullRequest {
    let digest = want.wanted.content.digest();
    PullRequest {
        image: want.wanted.name.to_string(),
        digest: digest.map(ToString::to_string).unwrap_or_default(),
    }
}

fn ended(want: DesiredPull, how: How, operator: Option<Result<(), String>>) -> PullEnd {
    PullEnd {
        want,
        how,
        operator,
    }
}
