//! The places where a manager looks for a variable, and the fence between the teams there.
//!
//! Names of secrets are a tenant's, and so is the name of a team to some degree. With templates
//! such as `/concourse/{{.Team}}/{{.Secret}}` and `/concourse/{{.Secret}}`, `((victim/password))`
//! of any team would name the password of the team `victim`: where a team's folder may be below a
//! place that all teams share, a name there has no `/` in it, unless the operator allows what it
//! begins with.

use crate::{Asker, Error, Owner, Template, asker::check_name};

/// Templates in the order in which they are tried.
pub(crate) struct Places {
    templates: Vec<Template>,
    fence: Option<Fence>,
}

/// The rules that keep teams apart. The managers of pipelines have none: their login is the
/// tenant's own.
struct Fence {
    /// The beginnings of the names of each team's secrets, up to the team's name.
    team_folders: Vec<String>,
    /// Names below a shared place may begin with these.
    allowed: Vec<String>,
    /// Names of teams, or beginnings of them, that would make a team's folder something else, too.
    reserved: Vec<Reserved>,
}

enum Reserved {
    Name(String),
    Beginning(String),
}

impl Places {
    pub(crate) fn new(
        templates: Vec<Template>,
        owner: Owner,
        allowed: &[String],
    ) -> Result<Self, Error> {
        let fence = match owner {
            Owner::Installation => Some(Fence::new(&templates, allowed)?),
            Owner::Pipeline => None,
        };
        Ok(Self { templates, fence })
    }

    /// Gives the names under which a variable may be kept, the first template's first.
    pub(crate) fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        check_name(name)?;
        if let Some(fence) = &self.fence {
            fence.check_team(&asker.team)?;
        }
        let filled = self.templates.iter().filter_map(|template| {
            let place = template.fill(asker, name)?;
            let is_open = self
                .fence
                .as_ref()
                .is_none_or(|fence| fence.allows(template, &place));
            is_open.then_some(place)
        });
        Ok(filled.collect())
    }

    /// Returns true if folders of teams may be below this place of all teams.
    pub(crate) fn may_hold_teams(&self, place: &str) -> bool {
        let fence = self.fence.as_ref();
        fence.is_some_and(|fence| {
            let below = format!("{place}/");
            let mut folders = fence.team_folders.iter();
            // One more part of a name may be a team's, so it may be the folder of one.
            folders.any(|folder| folder.starts_with(&below) || is_team_folder(&below, folder))
        })
    }
}

/// Returns true if `path` is `folder`, a team's name and a slash.
fn is_team_folder(path: &str, folder: &str) -> bool {
    let name = path
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_suffix('/'));
    name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

impl Fence {
    fn new(templates: &[Template], allowed: &[String]) -> Result<Self, Error> {
        let mut team_folders = Vec::new();
        for template in templates {
            match template.team_folder() {
                Ok(folder) => team_folders.extend(folder.map(str::to_owned)),
                Err(error) => return Err(Error::Settings(airside_model::chain(&error))),
            }
        }
        let beginnings = templates.iter().map(Template::beginning);
        let reserved = beginnings.flat_map(|beginning| {
            let inside = team_folders.iter();
            inside
                .filter_map(move |folder| Reserved::parse(beginning.strip_prefix(folder.as_str())?))
        });
        Ok(Self {
            reserved: reserved.collect(),
            allowed: allowed.to_vec(),
            team_folders,
        })
    }

    /// Refuses a team whose secrets would be where others look, too.
    fn check_team(&self, team: &str) -> Result<(), Error> {
        let is_part = check_name(team).is_ok() && !team.contains('/');
        let is_reserved = self.reserved.iter().any(|reserved| match reserved {
            Reserved::Name(name) => name == team,
            Reserved::Beginning(beginning) => team.starts_with(beginning),
        });
        if is_part && !is_reserved {
            Ok(())
        } else {
            Err(Error::Refused(format!(
                "the team's name {team:?} is not a name of a folder of its own in the secret manager; rename the team"
            )))
        }
    }

    fn allows(&self, template: &Template, place: &str) -> bool {
        if matches!(template.team_folder(), Ok(Some(_))) {
            return true;
        }
        let shared = template.beginning();
        let mut folders = self.team_folders.iter();
        if !folders.any(|folder| folder.starts_with(shared)) {
            return true;
        }
        let name = place.strip_prefix(shared).unwrap_or(place);
        let is_allowed = |beginning: &String| name.starts_with(beginning.as_str());
        !name.contains('/') || self.allowed.iter().any(is_allowed)
    }
}

impl Reserved {
    /// `rest` is what stands after the place of a team's name in the beginning of another template.
    fn parse(rest: &str) -> Option<Self> {
        match rest.split_once('/') {
            Some((name, _)) => Some(Self::Name(name.to_owned())),
            None if rest.is_empty() => None,
            None => Some(Self::Beginning(rest.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
