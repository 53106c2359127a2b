//! Renewal of what is due. It is pure, so that years can pass in a test.

use jiff::{SignedDuration, Timestamp};

use crate::{
    Material,
    issue::{self, IssueError, Issued},
    material::facts,
};

/// Lifetimes of authorities and certificates. Each part of a life leaves room for those that come
/// after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    pub authority: SignedDuration,
    pub leaf: SignedDuration,
    /// Time between the publication of a new authority and its first signature; by then clients
    /// that trust the old one trust it too.
    pub settle: SignedDuration,
}

impl Lifetimes {
    /// Returns lifetimes in proportion to a certificate's, so that tests see renewals without
    /// waiting for years.
    pub fn of_certificates(leaf: SignedDuration) -> Self {
        Self {
            authority: leaf * 3,
            leaf,
            settle: leaf / 3,
        }
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            authority: SignedDuration::from_hours(365 * 24),
            leaf: SignedDuration::from_hours(60 * 24),
            settle: SignedDuration::from_hours(2),
        }
    }
}

/// Result of a renewal.
#[derive(Clone, Debug)]
pub struct Renewal {
    pub material: Material,
    /// True if the material changed and must be written.
    pub is_new: bool,
    /// Time of the next look.
    pub next: Timestamp,
}

/// Renews what is due. `called` names new authorities; `names` are those that the certificate is
/// for.
pub fn renew(
    kept: Option<&Material>,
    called: &str,
    names: &[String],
    lives: Lifetimes,
    now: Timestamp,
) -> Result<Renewal, IssueError> {
    let mut material = match kept.and_then(|kept| without_old(kept, now)) {
        Some(kept) => kept,
        None => first(called, names, lives, now)?,
    };
    if authority_due(&material, lives).is_none_or(|due| due <= now) {
        let Issued { certificate, key } = issue::authority(called, now, end(now, lives.authority))?;
        material.authorities.insert(0, certificate);
        material.authority_key = key;
    }
    if leaf_due(&material, names, lives, now).is_none_or(|due| due <= now) {
        sign(&mut material, names, lives, now)?;
    }
    let next = [
        authority_due(&material, lives),
        leaf_due(&material, names, lives, now),
    ];
    Ok(Renewal {
        is_new: kept != Some(&material),
        next: next.into_iter().flatten().min().unwrap_or(now),
        material,
    })
}

fn first(
    called: &str,
    names: &[String],
    lives: Lifetimes,
    now: Timestamp,
) -> Result<Material, IssueError> {
    let authority = issue::authority(called, now, end(now, lives.authority))?;
    let mut material = Material {
        authorities: vec![authority.certificate],
        authority_key: authority.key,
        leaf: String::new(),
        leaf_key: String::new(),
    };
    sign(&mut material, names, lives, now)?;
    Ok(material)
}

/// Returns the material without authorities that have ended; nothing if the one that signs is among
/// them.
fn without_old(kept: &Material, now: Timestamp) -> Option<Material> {
    let is_live = |pem: &String| facts(pem).is_some_and(|facts| facts.until > now);
    let newest = kept.authorities.first().filter(|pem| is_live(pem))?;
    let others = kept.authorities[1..].iter().filter(|pem| is_live(pem));
    Some(Material {
        authorities: std::iter::once(newest).chain(others).cloned().collect(),
        ..kept.clone()
    })
}

/// So early that no certificate outlives the authority that signed it.
fn authority_due(material: &Material, lives: Lifetimes) -> Option<Timestamp> {
    let newest = facts(material.authorities.first()?)?;
    Some(newest.until - lives.leaf - lives.leaf)
}

/// Returns the time of the certificate's renewal: once a third of its life is left, or at once if
/// it is unusable. A new authority has to settle first.
fn leaf_due(
    material: &Material,
    names: &[String],
    lives: Lifetimes,
    now: Timestamp,
) -> Option<Timestamp> {
    let leaf = facts(&material.leaf)?;
    let mut wanted = names.to_vec();
    wanted.sort();
    wanted.dedup();
    let is_trusted = material
        .authorities
        .iter()
        .any(|pem| facts(pem).is_some_and(|facts| facts.subject == leaf.issuer));
    if leaf.names != wanted || !is_trusted || leaf.until <= now {
        return None;
    }
    let newest = facts(material.authorities.first()?)?;
    let settled = newest.from + lives.settle;
    Some((leaf.until - lives.leaf / 3).max(settled))
}

fn sign(
    material: &mut Material,
    names: &[String],
    lives: Lifetimes,
    now: Timestamp,
) -> Result<(), IssueError> {
    let authority = material.authorities.first().and_then(|pem| facts(pem));
    let name = authority.map(|facts| facts.subject).unwrap_or_default();
    let until = end(now, lives.leaf);
    let issued = issue::leaf(names, &name, &material.authority_key, now, until)?;
    material.leaf = issued.certificate;
    material.leaf_key = issued.key;
    Ok(())
}

fn end(now: Timestamp, life: SignedDuration) -> Timestamp {
    now.saturating_add(life).unwrap_or(Timestamp::MAX)
}
