//! Asks a registry about one topic, on a thread that may wait.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use airside_blocking_http::RequestTimeouts;
use airside_image_rules::{PlatformImage, PullLogin, TagState};
use airside_oci::{Reference, Repository, Tag, TagOrDigest};
use airside_resource_types::{AskedRegistry, Asking, Failure, Standing, TagList};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{
    book::{Due, KnownTag, Trouble},
    budget::Budgets,
    topic::Question,
};

/// A connection with its token serves this long.
const KEPT: Duration = Duration::from_secs(300);
/// Number of kept connections to each repository: more questions at once are rare.
const KEPT_FOR_EACH: usize = 4;
/// Time after which a list of tags that no set uses is forgotten.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Pause for a registry that refuses too many requests and names no time.
const LEFT_ALONE: Duration = Duration::from_secs(60);

/// Rules for connections to registries.
#[derive(Clone, Debug, Default)]
pub struct RegistryRules {
    /// Hosts with ports that have no TLS.
    pub plain: Vec<String>,
    /// Authorities to trust beside the public ones, as PEM.
    pub certificates: Vec<String>,
}

/// Asks, and keeps connections for the next time.
pub(crate) struct Asker {
    rules: RegistryRules,
    budgets: Arc<Budgets>,
    idle: Mutex<HashMap<Way, Vec<(AskedRegistry, Instant)>>>,
    /// Last lists of tags, by repository and login: a registry may show different tags to different
    /// logins.
    lists: Mutex<HashMap<Way, (TagList, Instant)>>,
}

/// One repository, asked with one login.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Way {
    repository: Repository,
    login: Option<(String, String)>,
}

impl Asker {
    pub(crate) fn new(rules: RegistryRules, budgets: Arc<Budgets>) -> Self {
        Self {
            rules,
            budgets,
            idle: Mutex::default(),
            lists: Mutex::default(),
        }
    }

    /// Asks with each login until one is accepted; with none if there is none.
    pub(crate) fn ask(
        &self,
        due: &Due,
        logins: &[PullLogin],
        now: Timestamp,
    ) -> Result<Vec<KnownTag>, Trouble> {
        let pair = |login: &PullLogin| Some((login.username.clone(), login.password.clone()));
        let mut ways: Vec<_> = logins.iter().map(pair).collect();
        if ways.is_empty() {
            ways.push(None);
        }
        let mut last = None;
        for login in ways {
            let way = Way {
                repository: due.topic.question.repository().clone(),
                login,
            };
            match self.ask_as(due, way, now) {
                Ok(known) => return Ok(known),
                // Some registries say that there is nothing to those who may not see it.
                Err(trouble) if trouble.may_be_login => last = Some(trouble.trouble),
                Err(trouble) => return Err(trouble.trouble),
            }
        }
        Err(last.unwrap_or_else(|| Trouble {
            state: TagState::Error,
            words: "there is no login to ask the registry with".to_owned(),
            retry_after: None,
        }))
    }

    fn ask_as(&self, due: &Due, way: Way, now: Timestamp) -> Result<Vec<KnownTag>, Refused> {
        let registry = self.connect(&way)?;
        let known = match &due.topic.question {
            Question::Image(image) => {
                let found = look(&registry, image, due, now)?;
                vec![found.ok_or_else(|| missing(&image.to_string()))?]
            }
            Question::Tags {
                repository,
                rule,
                keep,
            } => {
                let mut known = Vec::new();
                for tag in rule.choose(self.tags(&registry, &way)?, *keep) {
                    // A registry's own list may name what no client could ask for.
                    let Ok(tag) = Tag::parse(&tag) else { continue };
                    let image = repository.with(TagOrDigest::Tag(tag));
                    known.extend(look(&registry, &image, due, now)?);
                }
                if known.is_empty() {
                    return Err(missing(&format!("tag that fits {}", due.topic.question)));
                }
                known
            }
        };
        let mut idle = self.idle.lock();
        idle.retain(|_, kept| {
            kept.retain(|(_, since)| since.elapsed() < KEPT);
            !kept.is_empty()
        });
        let kept = idle.entry(way).or_default();
        if kept.len() < KEPT_FOR_EACH {
            kept.push((registry, Instant::now()));
        }
        Ok(known)
    }

    /// All tags; pages that have not changed since the last time are not sent.
    fn tags(&self, registry: &AskedRegistry, way: &Way) -> Result<Vec<String>, Failure> {
        let before = self.lists.lock().get(way).map(|(list, _)| list.clone());
        let list = registry.tags(&before.unwrap_or_default())?;
        let mut lists = self.lists.lock();
        lists.retain(|_, (_, since)| since.elapsed() < REMEMBERED);
        lists.insert(way.clone(), (list.clone(), Instant::now()));
        Ok(list.into_tags())
    }

    fn connect(&self, way: &Way) -> Result<AskedRegistry, Failure> {
        if let Some((registry, since)) = self.idle.lock().get_mut(way).and_then(Vec::pop)
            && since.elapsed() < KEPT
        {
            return Ok(registry);
        }
        let host = way.repository.host();
        let asking = Asking {
            login: way.login.clone(),
            certificates: self.rules.certificates.clone(),
            plain: self.rules.plain.iter().any(|plain| plain == host),
            // Who asks again decides when.
            patience: RequestTimeouts {
                connect: Duration::from_secs(10),
                silence: Duration::from_secs(20),
                grace: Duration::from_secs(20),
                tries: 1,
                ..RequestTimeouts::default()
            },
            pace: self.budgets.pace(host),
        };
        AskedRegistry::connect(&way.repository.to_string(), asking)
    }
}

struct Refused {
    trouble: Trouble,
    may_be_login: bool,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        let (status, retry_after) = match &failure {
            Failure::Refused {
                status: 429,
                retry_after,
                ..
            } => (Some(429), Some(retry_after.unwrap_or(LEFT_ALONE))),
            Failure::Refused {
                status,
                retry_after,
                ..
            } => (Some(*status), *retry_after),
            _ => (None, None),
        };
        Self {
            trouble: Trouble {
                state: TagState::Error,
                words: airside_model::chain(&failure),
                retry_after,
            },
            may_be_login: matches!(status, Some(401 | 403 | 404)),
        }
    }
}

fn missing(what: &str) -> Refused {
    Refused {
        trouble: Trouble {
            state: TagState::Missing,
            words: format!("the registry has no {what}"),
            retry_after: None,
        },
        may_be_login: true,
    }
}

/// Resolves an image. Manifests are fetched only if its digest changed, or more platforms of it are
/// wanted.
fn look(
    registry: &AskedRegistry,
    image: &Reference,
    due: &Due,
    now: Timestamp,
) -> Result<Option<KnownTag>, Failure> {
    let before = due.before.iter().find(|known| known.image == *image);
    let reference = image.which().to_string();
    let mark = before.and_then(|known| known.mark.as_deref());
    let (digest, mark) = match (registry.standing(&reference, mark)?, before) {
        (Standing::Missing, _) | (Standing::Same, None) => return Ok(None),
        (Standing::Same, Some(known)) => (known.digest.clone(), known.mark.clone()),
        (Standing::For { digest, mark }, _) => (digest, mark),
    };
    if let Some(known) = before
        && known.digest == digest
        && due.platforms.is_subset(&known.asked_for)
    {
        return Ok(Some(KnownTag {
            mark,
            ..known.clone()
        }));
    }
    let wanted: Vec<String> = due.platforms.iter().cloned().collect();
    let found = registry.images(&digest, &wanted)?;
    let platforms = found.into_iter().map(|(platform, image)| {
        let image = PlatformImage {
            digest: image.manifest.to_string(),
            id: image.config.to_string(),
            size_bytes: image.size,
        };
        (platform, image)
    });
    let platforms = platforms.collect();
    let moved = match before {
        None => None,
        // An index that changed for others only is not a move.
        Some(known) if same_content(&known.platforms, &platforms) => known.moved,
        Some(_) => Some(now),
    };
    Ok(Some(KnownTag {
        image: image.clone(),
        digest,
        platforms,
        asked_for: due.platforms.clone(),
        mark,
        moved,
    }))
}

type Platforms = std::collections::BTreeMap<String, PlatformImage>;

/// Returns true if the platforms that both have are equal.
fn same_content(before: &Platforms, after: &Platforms) -> bool {
    let mut common = before
        .iter()
        .filter_map(|(name, image)| Some((image, after.get(name)?)));
    common.all(|(one, other)| one.digest == other.digest)
}

#[cfg(test)]
mod tests;
