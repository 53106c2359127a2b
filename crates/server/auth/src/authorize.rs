//! The one function that decides.

use airside_store::Team;

use crate::{Action, Principal, RequiredAccess, Role};

/// The part of an action's object that every caller may see. Ordered: each shows more than the one
/// before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exposure {
    #[default]
    Hidden,
    /// The pipeline is exposed.
    Pipeline,
    /// The pipeline is exposed and the job is public.
    Job,
}

/// The object of an action. An object that does not exist is hidden and of no team.
#[derive(Clone, Copy, Debug, Default)]
pub struct Target<'a> {
    pub team: Option<&'a Team>,
    pub exposure: Exposure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// The caller has not logged in, and would have to.
    Unauthenticated,
    /// The user who has logged in may not do this.
    Forbidden,
}

/// Decides if a caller (logged in or not) may do this. An action that is not allowed here is
/// denied.
pub fn authorize(action: Action, principal: Option<&Principal>, target: Target<'_>) -> Decision {
    let (exposed, role) = match action.access() {
        RequiredAccess::Public | RequiredAccess::Filtered => return Decision::Allow,
        RequiredAccess::Token if principal.is_some() => return Decision::Allow,
        RequiredAccess::Token => return Decision::Unauthenticated,
        RequiredAccess::SomeTeam => return of_some_team(principal),
        RequiredAccess::Role(role) | RequiredAccess::WorkerTeam(role) => (false, role),
        RequiredAccess::ExposedPipeline => (target.exposure >= Exposure::Pipeline, Role::Viewer),
        RequiredAccess::ExposedJob => (target.exposure >= Exposure::Job, Role::Viewer),
    };
    if exposed {
        return Decision::Allow;
    }
    let Some(principal) = principal else {
        return Decision::Unauthenticated;
    };
    let held = match target.team {
        Some(team) => principal.role_on(team),
        None => principal.is_admin().then_some(Role::Admin),
    };
    if held >= Some(role) {
        Decision::Allow
    } else {
        Decision::Forbidden
    }
}

fn of_some_team(principal: Option<&Principal>) -> Decision {
    match principal {
        None => Decision::Unauthenticated,
        Some(principal) if principal.is_in_a_team() || principal.is_admin() => Decision::Allow,
        Some(_) => Decision::Forbidden,
    }
}

#[cfg(test)]
mod tests;
