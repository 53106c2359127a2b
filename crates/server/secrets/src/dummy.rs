//! Values that stand in the settings themselves, for trials.

use airside_secret_managers::{Asker, Error, Owner, Secret};
use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::keeper::Keeper;

pub(crate) struct Dummy {
    /// The values by name; a team and a pipeline before it make it theirs.
    pub(crate) values: Map<String, Value>,
    /// The owner of the values: those of the installation are kept apart by team.
    pub(crate) owner: Owner,
}

#[async_trait]
impl Keeper for Dummy {
    fn paths(&self, asker: &Asker, name: &str) -> Result<Vec<String>, Error> {
        let team = &asker.team;
        // `((victim/password))` of another team would be the password of the team `victim`.
        let is_fenced = self.owner == Owner::Installation;
        if is_fenced && team.contains('/') {
            return Ok(Vec::new());
        }
        let shared = (!is_fenced || !name.contains('/')).then(|| name.to_owned());
        let own = asker.pipeline.iter();
        let own = own.map(|pipeline| format!("{team}/{pipeline}/{name}"));
        Ok(own
            .chain([format!("{team}/{name}")])
            .chain(shared)
            .collect())
    }

    async fn read(&self, _: &Asker, path: &str) -> Result<Option<Secret>, Error> {
        Ok(self.values.get(path).cloned().map(Secret::new))
    }

    fn may_be_kept(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_lead_to_no_other_team() {
        let paths = |owner, team: &str, name: &str| {
            let asker = Asker {
                team: team.to_owned(),
                ..Asker::default()
            };
            let values = Map::new();
            Dummy { values, owner }.paths(&asker, name).unwrap()
        };
        assert_eq!(paths(Owner::Installation, "t", "x"), ["t/x", "x"]);
        assert_eq!(paths(Owner::Installation, "t", "victim/x"), ["t/victim/x"]);
        assert_eq!(paths(Owner::Installation, "victim/p", "x"), [""; 0]);
        assert_eq!(paths(Owner::Pipeline, "t", "a/x"), ["t/a/x", "a/x"]);
    }
}
