//! Images that nodes pull: before a pod names one, the team's checker reads the image's documents
//! from its registry.
//!
//! The documents name the image's user, which no node reports. They are also a proof: the runtime
//! of a node gives an image that it has to any pod whose registry claims to have such a digest, but
//! a registry cannot serve the manifest of a digest without having been given it.

use std::collections::HashMap;

use airside_check_process::{Failure, Freshness, ImageQuestion, Sharing};
use airside_model::TeamId;
use airside_resource_types::ServedImage;
use airside_runtime::{Image, PullSource};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{StepError, leaf::Leaf};

/// Maximum number of images that are remembered. Beyond it all are asked for again.
const MAX_REMEMBERED: usize = 10_000;

/// A team, and a hash of the digest that it asked for with the source.
type Key = (TeamId, String);

/// The images whose documents a team's checker has read since this server started.
#[derive(Default)]
pub(crate) struct ServedImages {
    known: Mutex<HashMap<Key, ServedImage>>,
    /// Questions under way, whose answers others wait for, too.
    asking: Sharing<Key, Result<ServedImage, Failure>>,
}

impl ServedImages {
    fn known(&self, key: &Key) -> Option<ServedImage> {
        self.known.lock().get(key).cloned()
    }

    fn remember(&self, key: Key, image: ServedImage) {
        let mut known = self.known.lock();
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(key, image);
    }
}

/// Returns the image as a step may be placed in it: with its user, if a node is to pull it. The
/// registry must have served its documents to the step's source.
pub(super) async fn settle(
    leaf: Leaf<'_>,
    image: Image,
    tags: &[String],
) -> Result<Image, StepError> {
    let parts = &leaf.interpreter.engine.parts;
    let Some(named) = Named::of(&image) else {
        return Ok(image);
    };
    let team = &leaf.interpreter.build.team_name;
    let must_ask = parts.orchestrator.may_pull_images(team, tags)
        && !parts.registries.is_on_nodes(&named.repository);
    let Some(checkers) = named.asked_by(must_ask, parts.check_ways.own())? else {
        return Ok(image);
    };
    let stop = leaf.context.stop.token();
    let asked = stop.run_until_cancelled(ask(leaf, checkers, &named)).await;
    match (asked, leaf.context.stop.cause()) {
        (Some(Ok(served)), _) => Ok(named.served(image, served)),
        // A pod that is there was placed with all of it.
        (Some(Err(_)), _) if leaf.interpreter.has_begun(leaf.plan, leaf.context).await? => {
            Ok(image)
        }
        (Some(Err(failure)), _) => Err(named.explain(&failure).into()),
        (None, Some(cause)) => Err(StepError::Stopped(cause)),
        (None, None) => Err("fetching the image was interrupted".to_owned().into()),
    }
}

/// Asks the team's checker, unless it was asked before.
async fn ask(
    leaf: Leaf<'_>,
    checkers: &airside_checks::WorkerCheckers,
    named: &Named,
) -> Result<ServedImage, Failure> {
    let (parts, build) = (&leaf.interpreter.engine.parts, leaf.interpreter.build);
    let mut source = named.source.clone();
    parts.registries.mirrors.apply(&mut source);
    let question = ImageQuestion {
        team: build.team_name.clone(),
        source,
        reference: named.reference.clone(),
        timeout: parts.check_timeout,
    };
    if !named.is_digest() {
        return checkers.checkers.image(&question).await;
    }
    let served = &parts.served_images;
    let key = (build.team, fingerprint(&question));
    if let Some(known) = served.known(&key) {
        return Ok(known);
    }
    let checkers = checkers.checkers.clone();
    let begin = move || async move { checkers.image(&question).await };
    let asked = served.asking.run(key.clone(), Freshness::Shared, begin);
    let image = asked.await?;
    served.remember(key, image.clone());
    Ok(image)
}

/// Two questions with the same fingerprint have the same answer. The source may hold a password.
fn fingerprint(question: &ImageQuestion) -> String {
    let asked = json!([question.source, question.reference]).to_string();
    hex::encode(Sha256::digest(asked.as_bytes()))
}

/// An image of a registry, taken apart.
#[derive(Debug, PartialEq)]
struct Named {
    repository: String,
    /// A tag or a digest.
    reference: String,
    source: Map<String, Value>,
}

impl Named {
    fn of(image: &Image) -> Option<Self> {
        let Image::Registry {
            reference,
            source: PullSource(source),
            ..
        } = image
        else {
            return None;
        };
        let (repository, reference) = split(reference);
        let mut source = source.clone();
        let named = || Value::from(repository);
        source.entry("repository").or_insert_with(named);
        Some(Self {
            repository: repository.to_owned(),
            reference: reference.to_owned(),
            source,
        })
    }

    /// Returns the processes that ask the registry, if it must be asked. Without any, the image is
    /// refused: a server with nodes always has them.
    fn asked_by<T>(&self, must_ask: bool, own: Option<T>) -> Result<Option<T>, String> {
        match (must_ask, own) {
            (false, _) => Ok(None),
            (true, Some(own)) => Ok(Some(own)),
            (true, None) => Err(format!(
                "no pod gets the image {}, because this server has no process that could ask its registry",
                self.repository
            )),
        }
    }

    fn is_digest(&self) -> bool {
        self.reference.contains(':')
    }

    /// Returns the image with the documents' answer. A tag becomes the digest that was served: the
    /// node is to pull that one.
    fn served(&self, image: Image, served: ServedImage) -> Image {
        match image {
            Image::Registry {
                source,
                ask_registry,
                ..
            } => Image::Registry {
                reference: format!("{}@{}", self.repository, served.digest),
                source,
                ask_registry,
                user: served.user,
            },
            other => other,
        }
    }

    fn explain(&self, failure: &Failure) -> String {
        let Self {
            repository,
            reference,
            ..
        } = self;
        let output = failure.output().trim();
        let words = match failure {
            Failure::Failed { .. } => output.to_owned(),
            other if output.is_empty() => other.to_string(),
            other => format!("{other}: {output}"),
        };
        format!(
            "no pod gets the image {repository} ({reference}), because its registry does not serve \
             its manifest and configuration: {words}; if only nodes reach that registry, the \
             administrator names it with --registry-on-nodes"
        )
    }
}

/// The repository of a reference, and the digest or tag behind it.
pub(super) fn split(reference: &str) -> (&str, &str) {
    let (name, digest) = match reference.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (reference, None),
    };
    let (repository, tag) = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (name, "latest"),
    };
    (repository, digest.unwrap_or(tag))
}

#[cfg(test)]
mod tests {
    use airside_resource_types::ServedImage;

    use super::*;

    #[test]
    fn hostile_images_are_refused_where_no_registry_can_be_asked() {
        let image = Image::registry("a.example/x:1");
        let named = Named::of(&image).unwrap();
        assert_eq!(named.asked_by(false, None::<()>), Ok(None));
        assert_eq!(named.asked_by(false, Some(())), Ok(None));
        assert_eq!(named.asked_by(true, Some(())), Ok(Some(())));
        let refused = named.asked_by(true, None::<()>).unwrap_err();
        assert!(refused.contains("a.example/x"), "{refused}");
    }

    #[test]
    fn references_are_taken_apart() {
        for (reference, expected) in [
            ("busybox", ("busybox", "latest")),
            ("busybox:1", ("busybox", "1")),
            ("localhost:5000/a", ("localhost:5000/a", "latest")),
            ("localhost:5000/a:1", ("localhost:5000/a", "1")),
            ("a@sha256:00", ("a", "sha256:00")),
            ("a:5/b:1@sha256:00", ("a:5/b", "sha256:00")),
        ] {
            assert_eq!(split(reference), expected, "{reference}");
        }
    }

    #[test]
    fn a_tag_becomes_the_digest_that_was_served() {
        let image = Image::registry("registry.example/a:1");
        let named = Named::of(&image).unwrap();
        assert_eq!(
            named.source,
            *json!({"repository": "registry.example/a"})
                .as_object()
                .unwrap()
        );
        let digest = airside_oci::Digest::of_sha256([7; 32]);
        let served = ServedImage {
            digest: digest.clone(),
            user: Some("app".to_owned()),
        };
        let image = named.served(image, served);
        assert_eq!(image.user(), Some("app"));
        let expected = format!("registry.example/a@{digest}");
        assert!(matches!(image, Image::Registry { reference, .. } if reference == expected));
    }

    #[test]
    fn remembered_images_are_bounded_and_a_teams_own() {
        let served = ServedImages::default();
        let image = ServedImage {
            digest: airside_oci::Digest::of_sha256([7; 32]),
            user: None,
        };
        let key = |team: i64, number: usize| (TeamId(team), number.to_string());
        served.remember(key(1, 0), image.clone());
        assert_eq!(served.known(&key(1, 0)), Some(image.clone()));
        assert_eq!(served.known(&key(2, 0)), None);
        for number in 0..MAX_REMEMBERED + 1 {
            served.remember(key(1, number), image.clone());
        }
        assert!(served.known.lock().len() <= MAX_REMEMBERED);
    }

    #[test]
    fn hostile_sources_do_not_share_answers() {
        let question = |source: Value, reference: &str| ImageQuestion {
            team: "a".to_owned(),
            source: source.as_object().unwrap().clone(),
            reference: reference.to_owned(),
            timeout: std::time::Duration::from_secs(1),
        };
        let all = [
            fingerprint(&question(json!({"repository": "a"}), "sha256:0")),
            fingerprint(&question(json!({"repository": "b"}), "sha256:0")),
            fingerprint(&question(json!({"repository": "a"}), "sha256:1")),
            fingerprint(&question(
                json!({"repository": "a", "password": "x"}),
                "sha256:0",
            )),
        ];
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
