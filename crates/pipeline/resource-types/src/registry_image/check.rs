//! `check`: what a tag stands for, or the tags that are versions.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
};

use airside_model::{Version, chain};
use airside_oci::Digest;
use regex_lite::Regex;

use super::{
    image,
    settings::{Source, tag_is_fine},
};
use crate::{
    CheckInput, Failure,
    registry::Registry,
    versions::{Constraint, Semver},
};

pub(crate) fn check(request: CheckInput, log: &mut dyn Write) -> Result<Vec<Version>, Failure> {
    let source = Source::read(request.source)?;
    let from = request.version.map(|version| From {
        tag: version.0.get("tag").cloned().unwrap_or_default(),
        digest: version.0.get("digest").cloned().unwrap_or_default(),
    });
    let versions = Wanted::of(&source)?;
    let found = source.ask(log, |registry, _| {
        let found = versions.find(&source, registry, from.as_ref())?;
        Ok(Some(found).filter(|found| !found.is_empty()))
    })?;
    Ok(found.unwrap_or_default())
}

struct From {
    tag: String,
    digest: String,
}

fn version(tag: &str, digest: &Digest) -> Version {
    Version::from([("tag", tag.to_owned()), ("digest", digest.to_string())])
}

/// The tags that the source asks for.
enum Wanted {
    Tag(String),
    Matching(Regex),
    Semver(Option<Constraint>),
}

impl Wanted {
    fn of(source: &Source) -> Result<Self, Failure> {
        if let Some(tag) = &source.tag {
            return if tag_is_fine(tag) {
                Ok(Self::Tag(tag.clone()))
            } else {
                Err(Failure::source(
                    "tag",
                    format!("is {tag:?}, which is not a tag"),
                ))
            };
        }
        if let Some(text) = &source.tag_regex {
            let regex = Regex::new(text).map_err(|error| {
                Failure::source(
                    "tag_regex",
                    format!("must be a regular expression: {}", chain(&error)),
                )
            })?;
            return Ok(Self::Matching(regex));
        }
        let constraint = match &source.semver_constraint {
            Some(text) => Some(Constraint::parse(text).ok_or_else(|| {
                Failure::source(
                    "semver_constraint",
                    format!("is {text:?}, which is not a range"),
                )
            })?),
            None => None,
        };
        Ok(Self::Semver(constraint))
    }

    fn find(
        &self,
        source: &Source,
        registry: &Registry,
        from: Option<&From>,
    ) -> Result<Vec<Version>, Failure> {
        match self {
            Self::Tag(tag) => one_tag(registry, tag, from),
            Self::Matching(regex) => matching(source, registry, regex),
            Self::Semver(constraint) => semver(source, registry, constraint.as_ref(), from),
        }
    }
}

/// The given version if it is still there, and the one that the tag stands for now.
fn one_tag(registry: &Registry, tag: &str, from: Option<&From>) -> Result<Vec<Version>, Failure> {
    let Some(now) = registry.resolve(tag)? else {
        return Ok(Vec::new());
    };
    let mut versions = Vec::new();
    if let Some(from) = from
        && let Ok(before) = Digest::parse(&from.digest)
        && before != now
        && registry.resolve(&before.to_string())?.is_some()
    {
        versions.push(version(tag, &before));
    }
    versions.push(version(tag, &now));
    Ok(versions)
}

fn matching(source: &Source, registry: &Registry, regex: &Regex) -> Result<Vec<Version>, Failure> {
    let mut found = Vec::new();
    for tag in registry.tags()? {
        if !regex.is_match(&tag) || !tag_is_fine(&tag) {
            continue;
        }
        let Some(digest) = registry.resolve(&tag)? else {
            continue;
        };
        let created = if source.created_at_sort {
            let image = image::resolve(registry, &digest, &source.platform(None))?;
            let config = image.config(registry)?;
            config
                .created
                .and_then(|text| text.parse::<jiff::Timestamp>().ok())
        } else {
            None
        };
        found.push((created, version(&tag, &digest)));
    }
    if source.created_at_sort {
        found.sort_by_key(|(created, _)| *created);
    }
    Ok(found.into_iter().map(|(_, version)| version).collect())
}

/// Tags that are versions, oldest first, each digest under its most telling tag; at the end the tag
/// without a number, if it stands for something else.
fn semver(
    source: &Source,
    registry: &Registry,
    constraint: Option<&Constraint>,
    from: Option<&From>,
) -> Result<Vec<Version>, Failure> {
    let bare = source.variant.as_deref().unwrap_or("latest");
    let mut tags = registry.tags()?;
    // The given version first: older ones need no question.
    if let Some(from) = from {
        tags.sort_by_key(|tag| *tag != from.tag);
    }
    let mut cursor: Option<Semver> = None;
    let mut best: BTreeMap<Digest, (Semver, String)> = BTreeMap::new();
    let mut latest = None;
    for tag in tags.iter().filter(|tag| tag_is_fine(tag)) {
        if tag == bare {
            latest = registry.resolve(tag)?;
            continue;
        }
        let Some(number) = numbered(source, tag) else {
            continue;
        };
        let allowed = constraint.is_none_or(|range| range.allows(&number));
        let newer = cursor
            .as_ref()
            .is_none_or(|cursor| number.precedence(cursor).is_gt());
        if !allowed || !newer {
            continue;
        }
        let Some(digest) = registry.resolve(tag)? else {
            continue;
        };
        if from.is_some_and(|from| from.tag == *tag && from.digest == digest.to_string()) {
            cursor = Some(number.clone());
        }
        match best.get(&digest) {
            Some((known, name)) if !is_better((&number, tag), (known, name)) => {}
            _ => drop(best.insert(digest, (number, tag.clone()))),
        }
    }
    let known: HashMap<Digest, ()> = best.keys().map(|digest| (digest.clone(), ())).collect();
    let mut found: Vec<_> = best.into_iter().collect();
    found.sort_by(|(_, (one, _)), (_, (other, _))| one.precedence(other));
    let mut versions: Vec<Version> = found
        .iter()
        .map(|(digest, (_, tag))| version(tag, digest))
        .collect();
    if let Some(latest) =
        latest.filter(|latest| constraint.is_none() && !known.contains_key(latest))
    {
        versions.push(version(bare, &latest));
    }
    Ok(versions)
}

/// The version that a tag names, if it is one that the source wants.
fn numbered(source: &Source, tag: &str) -> Option<Semver> {
    let text = match &source.variant {
        Some(variant) => tag.strip_suffix(variant.as_str())?.strip_suffix('-')?,
        None => tag,
    };
    let number = Semver::parse(text)?;
    let pre = number.pre.join(".");
    if pre.is_empty() {
        return Some(number);
    }
    // What is behind a hyphen may be a pre-release, or the name of another variant.
    let known = ["alpha", "beta", "rc"].into_iter().map(str::to_owned);
    let mut prefixes = known.chain(source.pre_release_prefixes.iter().cloned());
    let named = prefixes.any(|prefix| pre.starts_with(&prefix));
    let alone = !source.pre_release_prefixes.is_empty() || !pre.contains('-');
    (source.pre_releases && named && alone).then_some(number)
}

/// Finished rather than not, and then with more numbers rather than fewer.
fn is_better((new, tag): (&Semver, &String), (known, name): (&Semver, &String)) -> bool {
    match (known.is_pre_release(), new.is_pre_release()) {
        (false, true) => false,
        (true, false) => true,
        _ => tag.matches('.').count() > name.matches('.').count(),
    }
}
