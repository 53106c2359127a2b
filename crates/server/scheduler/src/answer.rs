//! Answers the view's questions from the store: one lookup each.

use airside_model::ResourceVersionId;
use airside_schedule::{
    BuildKey, Carried, Names, Order, Question, StoreAnswer, Used,
    history::{VersionState, WalkSubject},
};
use airside_store::{CarryingBuild, Store, VersionPlace};

use crate::{Result, news::to_carried};

pub(crate) async fn answer(
    store: &Store,
    names: &Names,
    question: &Question,
    page: usize,
) -> Result<StoreAnswer> {
    let limit = i64::try_from(page).unwrap_or(i64::MAX);
    Ok(match question {
        Question::Version(Carried { resource, version }) => {
            let place = store.version_place(*resource, *version).await?;
            StoreAnswer::Version(place.map(state))
        }
        Question::VersionsDown { resource, from } => {
            let places = store.versions_down(*resource, from.0, limit).await?;
            StoreAnswer::Versions(places.into_iter().map(row).collect())
        }
        Question::VersionsUp { resource, from } => {
            let places = store.versions_up(*resource, from.0, limit).await?;
            StoreAnswer::Versions(places.into_iter().map(row).collect())
        }
        Question::Containing { resource, pin } => {
            StoreAnswer::Pinned(store.version_containing(*resource, pin).await?)
        }
        Question::Used {
            job,
            input,
            carried,
        } => {
            let name = names.name(*input);
            StoreAnswer::Used(store.was_used(*job, name, carried.version).await?)
        }
        Question::LastUse { job, resource } => {
            let last = store.last_use(*job, *resource).await?;
            StoreAnswer::LastUse(last.map(|last| Used {
                order: Order(last.order),
                pipes: last.pipes.into_iter().map(pipe).collect(),
            }))
        }
        Question::BuildsDown {
            job,
            carrying,
            from,
        } => {
            let (carrying, from) = (carrying_of(*carrying), (from.original, from.build));
            let builds = store.builds_down(*job, carrying, from, limit).await?;
            StoreAnswer::Builds(builds.iter().map(build).collect())
        }
        Question::BuildsUp {
            job,
            carrying,
            from,
        } => {
            let (carrying, from) = (carrying_of(*carrying), (from.original, from.build));
            let builds = store.builds_up(*job, carrying, from, limit).await?;
            StoreAnswer::Builds(builds.iter().map(build).collect())
        }
    })
}

fn state(place: VersionPlace) -> VersionState {
    VersionState {
        order: Order(place.order),
        enabled: place.enabled,
    }
}

fn row(place: VersionPlace) -> (ResourceVersionId, VersionState) {
    (place.version, state(place))
}

type BuildPlace = (
    airside_model::JobId,
    airside_model::BuildId,
    airside_model::BuildId,
);

/// Returns a build of another job by its place.
pub(crate) fn pipe((job, original, build): BuildPlace) -> (airside_model::JobId, BuildKey) {
    (job, BuildKey { original, build })
}

fn carrying_of(carrying: WalkSubject) -> airside_store::Carrying {
    match carrying {
        WalkSubject::Resource(resource) => airside_store::Carrying::Resource(resource),
        WalkSubject::Version(carried) => airside_store::Carrying::Version(carried.version),
    }
}

fn build(carrying: &CarryingBuild) -> (BuildKey, Vec<Carried>) {
    let key = BuildKey {
        original: carrying.original,
        build: carrying.build,
    };
    (key, carried(carrying))
}

pub(crate) fn carried(carrying: &CarryingBuild) -> Vec<Carried> {
    let outputs: Vec<Carried> = carrying.outputs.iter().copied().map(to_carried).collect();
    let inputs: Vec<Carried> = carrying.inputs.iter().copied().map(to_carried).collect();
    Carried::of_build(&outputs, &inputs)
}
