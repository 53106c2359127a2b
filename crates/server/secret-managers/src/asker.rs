//! The build or check for which a variable is looked up.

use airside_vars::InstanceVars;

use crate::Error;

/// The build or check that needs a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asker {
    pub team: String,
    /// A one-off build has none.
    pub pipeline: Option<String>,
    pub instance_vars: InstanceVars,
    /// A check has none.
    pub job: Option<String>,
}

/// Refuses names that could lead out of the folder they are looked up in.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let leads_away = |part: &str| matches!(part, "" | "." | "..");
    if name.split('/').any(leads_away) || name.contains(char::is_control) {
        Err(Error::Refused(format!(
            "{name:?} is not a name that a secret can have"
        )))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_where_they_belong() {
        for (name, fine) in [
            ("a", true),
            ("a/b", true),
            ("a..b", true),
            ("", false),
            ("..", false),
            ("../a", false),
            ("a/../../b", false),
            ("a/./b", false),
            ("/a", false),
            ("a/", false),
            ("a\nb", false),
        ] {
            assert_eq!(check_name(name).is_ok(), fine, "{name:?}");
        }
    }
}
