//! The status of `NodeImages`: a pure function of what a turn observed and planned.

use airside_image_rules::{
    Disk, NodeImage, NodeImageState, NodeImagesStatus,
    plan::{
        DesiredImage, DiskRules, GarbageMode, ObservedImage, Pin, Plan, PlannedState, Step, Waiting,
    },
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use super::{disk::Usage, memory::PullMemory, memory::key, wanted::DesiredPull};

/// Duration from which a pull is reported: most pulls are over before a person could read of them.
pub(crate) const WORTH_TELLING: std::time::Duration = std::time::Duration::from_secs(2);

pub(crate) struct ReportInput<'a> {
    pub(crate) now: Timestamp,
    pub(crate) wants: &'a [DesiredPull],
    pub(crate) found: &'a [ObservedImage],
    pub(crate) plan: &'a Plan,
    pub(crate) usage: Usage,
    pub(crate) pressure: bool,
    pub(crate) rules: &'a DiskRules,
}

/// Everything but the heartbeat and the conditions.
pub(crate) fn status(seen: &ReportInput<'_>, memory: &mut PullMemory) -> NodeImagesStatus {
    let states = seen.wants.iter().zip(&seen.plan.states);
    let images: Vec<NodeImage> = states
        .map(|(want, state)| image(seen, &want.wanted, state, memory))
        .collect();
    let count = |state| {
        let counted = images.iter().filter(|image| image.state == state).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    };
    let ours = seen.found.iter().filter(|found| found.pulled.is_some());
    NodeImagesStatus {
        wanted: u32::try_from(images.len()).unwrap_or(u32::MAX),
        present: count(NodeImageState::Present),
        errors: count(NodeImageState::Error),
        disk: Some(Disk {
            used: format!("{}%", seen.usage.percent()),
            capacity_bytes: seen.usage.capacity,
            ours_bytes: ours.map(|found| found.size).sum(),
            full: full(seen),
        }),
        images,
        ..NodeImagesStatus::default()
    }
}

fn image(
    seen: &ReportInput<'_>,
    wanted: &DesiredImage,
    state: &PlannedState,
    memory: &mut PullMemory,
) -> NodeImage {
    let content = wanted.content.to_string();
    let found = seen.found.iter().find(|found| found.id == wanted.id);
    let attempts = memory.attempts.get(&content).copied().unwrap_or_default();
    let pulling = memory.pulling.get(&content).map(|pulling| pulling.since);
    let held = memory.held.get(&content);
    let is_told = |since| is_worth_telling(seen.now, since);
    let shown = match state.state {
        NodeImageState::Pulling if held.is_some() || !pulling.is_some_and(is_told) => {
            NodeImageState::Pending
        }
        other => other,
    };
    let failed = attempts.last.filter(|_| attempts.failures > 0);
    let entry = memory.since.entry(key(wanted)).or_insert((shown, seen.now));
    if entry.0 != shown {
        *entry = (shown, seen.now);
    }
    let since = match shown {
        NodeImageState::Pulling => pulling.unwrap_or(entry.1),
        NodeImageState::Present => entry.1,
        NodeImageState::Pending | NodeImageState::Error => failed.unwrap_or(entry.1),
    };
    let next_try = match state.waiting {
        Some(Waiting::Until(time)) => Some(time),
        _ => None,
    };
    let is_there = shown == NodeImageState::Present;
    let said = memory
        .words
        .get(&content)
        .filter(|_| !is_there && failed.is_some());
    let message = match (said, held, &state.waiting) {
        _ if is_there => String::new(),
        (Some(words), _, _) => words.clone(),
        (None, Some(held), _) => held.why.clone(),
        (None, None, Some(Waiting::Room)) => no_room(seen, wanted, attempts.collected),
        _ => String::new(),
    };
    NodeImage {
        image: wanted.name.to_string(),
        digest: wanted
            .content
            .digest()
            .map(ToString::to_string)
            .unwrap_or_default(),
        state: shown,
        since: Some(Time(since)),
        size_bytes: found.map_or(wanted.size, |found| found.size),
        pinned: found.is_some_and(|found| found.pin != Pin::None),
        // What is there may be seen before its pull is known to have ended.
        attempts: if is_there { 0 } else { attempts.failures },
        next_try: next_try.map(Time),
        // Reported before it is removed, so that the next agent knows of it whenever this one ends.
        collected: !is_there && (attempts.collected || goes(seen, wanted)),
        message,
    }
}

fn goes(seen: &ReportInput<'_>, wanted: &DesiredImage) -> bool {
    let mut steps = seen.plan.steps.iter();
    steps.any(|step| matches!(step, Step::Remove { id } if *id == wanted.id))
}

fn no_room(seen: &ReportInput<'_>, wanted: &DesiredImage, was_collected: bool) -> String {
    let megabytes = wanted.size.div_ceil(1_000_000);
    let (low, high) = (seen.rules.low, seen.rules.high);
    if was_collected {
        format!(
            "the image was removed to make room, and comes back once {megabytes} MB fit below the \
             low mark of {low}%"
        )
    } else {
        format!("there is no room: {megabytes} MB do not fit below the high mark of {high}%")
    }
}

fn full(seen: &ReportInput<'_>) -> String {
    let high = u64::from(seen.rules.high);
    let goes = match seen.rules.mode {
        GarbageMode::Refuse => String::new(),
        GarbageMode::Collect => format!(
            "; what was pulled for sets and is not in use goes until {}%",
            seen.rules.low
        ),
    };
    if seen.pressure {
        format!("the node is under disk pressure: nothing is added and nothing stays pinned{goes}")
    } else if seen.usage.capacity > 0 && seen.usage.percent() >= high {
        format!("the file system of images is at its high mark of {high}%: nothing is added{goes}")
    } else {
        String::new()
    }
}

/// Returns the part of a status whose change is written at once. The numbers of the disk change all
/// the time and go with the heartbeat; counts follow from the images; and an image whose pull has
/// just begun changes again in a moment.
pub(crate) fn essence(status: &NodeImagesStatus, begun: &[String]) -> NodeImagesStatus {
    let images = status.images.iter();
    NodeImagesStatus {
        disk: status.disk.as_ref().map(|disk| Disk {
            full: disk.full.clone(),
            ..Disk::default()
        }),
        images: images
            .filter(|image| !begun.contains(&image.image))
            .cloned()
            .collect(),
        conditions: status.conditions.clone(),
        boot_id: status.boot_id.clone(),
        ..NodeImagesStatus::default()
    }
}

/// The names of images whose pulls began too short a time ago to be reported.
pub(crate) fn just_begun(seen: &ReportInput<'_>, memory: &PullMemory) -> Vec<String> {
    let wanted = seen.wants.iter().map(|want| &want.wanted);
    let begun = wanted.filter(|wanted| {
        let pulling = memory.pulling.get(&wanted.content.to_string());
        pulling.is_some_and(|pulling| !is_worth_telling(seen.now, pulling.since))
    });
    begun.map(|wanted| wanted.name.to_string()).collect()
}

fn is_worth_telling(now: Timestamp, since: Timestamp) -> bool {
    let worth = i64::try_from(WORTH_TELLING.as_secs()).unwrap_or_default();
    now.duration_since(since).as_secs() >= worth
}

/// A condition, with the time at which it last changed.
pub(crate) fn condition(
    before: &[Condition],
    kind: &str,
    state: Result<&str, &str>,
    message: &str,
    now: Timestamp,
) -> Condition {
    let (status, reason) = match state {
        Ok(reason) => ("True", reason),
        Err(reason) => ("False", reason),
    };
    let same = before
        .iter()
        .find(|condition| condition.type_ == kind && condition.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: same.map_or(Time(now), |same| same.last_transition_time.clone()),
        observed_generation: None,
    }
}

#[cfg(test)]
mod tests;
