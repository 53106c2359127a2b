//! `check`: finds the newest version of a resource, as the plans that fetch images do.

use airside_model::{StepKind, Version, event::Event, plan::CheckPlan};
use airside_store::now;

use super::resource::{Call, filled, no_image, read, timeout};
use crate::{
    Result,
    leaf::{End, Leaf, Ran},
    outcome::Outcome,
    status::Status,
};

pub(crate) async fn run(leaf: Leaf<'_>, check: &CheckPlan) -> Result<Status> {
    let (origin, time) = (leaf.origin(), now().seconds());
    let event = Event::InitializeCheck {
        origin: origin.clone(),
        time,
        name: check.name.clone(),
    };
    leaf.say("initialize", event).await?;
    let source = match filled(leaf, &check.source).await {
        Ok(source) => source,
        Err(words) => {
            let words = format!("resource config creds evaluation: {words}");
            return leaf.error(words).await;
        }
    };
    let call = Call {
        kind: StepKind::Check,
        name: &check.name,
        type_: &check.type_,
        image: &check.image,
        tags: &check.tags,
        source,
        params: Default::default(),
        version: check.from_version.clone(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        start_event: Event::Start { origin, time },
        created_by: None,
    };
    let request = match call.request(leaf).await? {
        Ok(request) => request,
        Err(none) => return no_image(leaf, none).await,
    };
    let timeout = match timeout(&check.timeout) {
        Ok(timeout) => timeout,
        Err(words) => return leaf.error(words).await,
    };
    let ran = leaf.run(&request, timeout).await?;
    let status = conclude(leaf, &ran).await?;
    leaf.let_go(ran).await;
    Ok(status)
}

async fn conclude(leaf: Leaf<'_>, ran: &Ran) -> Result<Status> {
    match &ran.end {
        End::Errored(words) => leaf.error(format!("run check: {words}")).await,
        End::Stopped(cause) => leaf.stopped(*cause, Outcome::of(Status::Aborted)).await,
        End::Exited(0) => match newest(&ran.answer) {
            Ok(version) => {
                let outcome = Outcome {
                    version,
                    ..Outcome::of(Status::Succeeded)
                };
                leaf.finish(outcome).await
            }
            Err(words) => leaf.error(format!("run check: {words}")).await,
        },
        End::Exited(_) => leaf.finish(Outcome::of(Status::Failed)).await,
    }
}

/// Versions come oldest first; to print nothing is to have found none.
fn newest(answer: &[u8]) -> Result<Option<Version>, String> {
    if answer.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let versions: Option<Vec<Version>> = read(answer)?;
    Ok(versions.unwrap_or_default().pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_version_is_the_newest() {
        assert_eq!(newest(b" \n"), Ok(None));
        assert_eq!(newest(b"[]"), Ok(None));
        assert_eq!(newest(b"null"), Ok(None));
        let found = newest(br#"[{"v":"1"},{"v":"2"}]"#);
        assert_eq!(found, Ok(Some(Version::from([("v", "2")]))));
        assert!(newest(b"{").is_err());
    }
}
