//! Variables that look like settings and are none: a misspelt one would be ignored in silence.

use std::{collections::BTreeSet, fmt};

use airside_config::nearest;
use clap::Command;
use tracing::warn;

use super::{NO_SETTINGS, Setting, SettingOrigin, earlier_names, name, variable};
use crate::printing::tell;

const PREFIX: &str = "AIRSIDE_";

/// Variables of Airside that are not settings: those of its tests and of its development, of the
/// shim, and of checks. A name that ends with `_` stands for all that begin with it.
const OTHERS: [&str; 31] = [
    "AIRSIDE_BIN",
    "AIRSIDE_BUILDAH",
    "AIRSIDE_CACHE",
    "AIRSIDE_CLUSTERS",
    "AIRSIDE_COMMIT",
    "AIRSIDE_CRASH_",
    "AIRSIDE_DAY",
    "AIRSIDE_FLY",
    "AIRSIDE_GARBAGE_",
    "AIRSIDE_GIT_",
    "AIRSIDE_HANDLE",
    "AIRSIDE_HUB",
    "AIRSIDE_HUB_PIN",
    "AIRSIDE_IMAGE",
    "AIRSIDE_IMAGE_USER",
    "AIRSIDE_LOG",
    "AIRSIDE_MOTO",
    "AIRSIDE_NETWORK",
    "AIRSIDE_NODE",
    "AIRSIDE_NODE_IMAGE",
    "AIRSIDE_OLD_SHIMS",
    "AIRSIDE_OUTPUT_",
    "AIRSIDE_PROOF_FILE",
    "AIRSIDE_REQUIRE_",
    "AIRSIDE_ROOT",
    "AIRSIDE_ROOTFS",
    "AIRSIDE_SHIM_PROTOCOL",
    "AIRSIDE_STATE",
    "AIRSIDE_TASK_",
    "AIRSIDE_TEST_",
    "AIRSIDE_TOKEN",
];

/// The variables that set something.
pub struct SettingVariables(BTreeSet<String>);

impl SettingVariables {
    /// Returns the variables of these settings.
    pub(crate) fn of_settings(settings: &[Setting]) -> Self {
        let mut known = Self::of_names(settings.iter().map(|setting| setting.name.as_str()));
        // A variable of an earlier name is only known as the origin of its setting.
        let in_use = settings.iter().filter_map(|setting| match &setting.origin {
            SettingOrigin::Variable(variable) => Some(variable.clone()),
            _ => None,
        });
        known.0.extend(in_use);
        known
    }

    /// Returns the variables of all these commands: what sets something for one of them is no
    /// mistake in the environment of another.
    pub(super) fn of_commands<'a>(commands: impl Iterator<Item = &'a Command>) -> Self {
        let arguments = commands.flat_map(Command::get_arguments);
        Self::of_names(arguments.flat_map(|arg| name(arg).into_iter().chain(earlier_names(arg))))
    }

    fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.chain(NO_SETTINGS).map(variable).collect())
    }

    /// Logs a warning for each variable that was probably meant as a setting.
    pub(crate) fn warn_of_unknown(&self) {
        for UnknownVariable { name, near } in unknown(environment(), &self.0) {
            match near {
                Some(near) => warn!(
                    variable = name,
                    did_you_mean = near,
                    "variable ignored: no setting has this name"
                ),
                None => warn!(
                    variable = name,
                    "variable ignored: no setting has this name; `airside web --help` lists them"
                ),
            }
        }
    }

    /// Names the variables that were probably meant as settings on standard error, for commands
    /// without a log.
    pub fn tell_unknown(&self) {
        for variable in unknown(environment(), &self.0) {
            tell(&format!("airside: {variable}"));
        }
    }
}

/// Returns the variables of this process whose names are text.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        let value = value.to_string_lossy().into_owned();
        Some((name.into_string().ok()?, value))
    })
}

/// A variable with our prefix that sets nothing.
#[derive(Debug, PartialEq, Eq)]
struct UnknownVariable {
    name: String,
    /// The variable of a setting with a similar name.
    near: Option<String>,
}

impl fmt::Display for UnknownVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A stranger's name may hold what moves a terminal's cursor.
        let name = self.name.escape_debug();
        write!(f, "variable {name} is ignored: no setting has this name; ")?;
        match &self.near {
            Some(near) => write!(f, "did you mean {near}?"),
            None => write!(f, "`airside run --help` and `airside web --help` list them"),
        }
    }
}

/// Returns the variables that set nothing, in the order of their names.
fn unknown(
    set: impl Iterator<Item = (String, String)>,
    known: &BTreeSet<String>,
) -> Vec<UnknownVariable> {
    let mut found: Vec<UnknownVariable> = set
        .filter(|(name, value)| {
            name.starts_with(PREFIX)
                && !known.contains(name)
                && !is_other(name)
                && !is_of_service(name, value)
        })
        .map(|(name, _)| UnknownVariable {
            near: similar(&name, known),
            name,
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// The prefix, which all of them have, would make any two names similar.
fn similar(name: &str, known: &BTreeSet<String>) -> Option<String> {
    let known = known.iter().filter_map(|known| known.strip_prefix(PREFIX));
    let near = nearest(name.strip_prefix(PREFIX)?, known)?;
    Some(format!("{PREFIX}{near}"))
}

fn is_other(name: &str) -> bool {
    let matches =
        |other: &&str| name == *other || (other.ends_with('_') && name.starts_with(other));
    OTHERS.iter().any(matches)
}

/// Returns true for a variable by which Kubernetes tells pods of a Service: one named `airside-web`
/// gives `AIRSIDE_WEB_SERVICE_HOST`, `AIRSIDE_WEB_PORT` and more.
fn is_of_service(name: &str, value: &str) -> bool {
    let is_address = ["tcp://", "udp://", "sctp://"]
        .iter()
        .any(|scheme| value.starts_with(scheme));
    let parts: Vec<&str> = name.split('_').collect();
    let of_port = parts.windows(3).any(|three| {
        let [port, number, protocol] = three else {
            return false;
        };
        *port == "PORT"
            && number.parse::<u16>().is_ok()
            && ["TCP", "UDP", "SCTP"].contains(protocol)
    });
    is_address || of_port || name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown_of(names: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
        let settings = ["listen", "database-url"].map(|name| Setting {
            name: name.to_owned(),
            values: Vec::new(),
            origin: SettingOrigin::Unset,
            secret: false,
        });
        let set = names
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let found = unknown(set, &SettingVariables::of_settings(&settings).0);
        found.into_iter().map(|it| (it.name, it.near)).collect()
    }

    #[test]
    fn misspelt_variables_are_found() {
        let found = unknown_of(&[
            ("AIRSIDE_LISTN", "x"),
            ("AIRSIDE_BANANA", "x"),
            ("AIRSIDE_LISTEN", "x"),
            ("AIRSIDE_CONFIG", "x"),
            ("PATH", "x"),
        ]);
        let expected = [
            ("AIRSIDE_BANANA".to_owned(), None),
            (
                "AIRSIDE_LISTN".to_owned(),
                Some("AIRSIDE_LISTEN".to_owned()),
            ),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn variables_of_other_commands_are_no_mistakes() {
        let option = |name: &'static str| clap::Arg::new(name).long(name);
        let commands = [
            Command::new("run").arg(option("cache-dir")),
            Command::new("web").arg(option("listen")),
        ];
        let known = SettingVariables::of_commands(commands.iter());
        let set = [
            "AIRSIDE_CACHE_DIR",
            "AIRSIDE_LISTEN",
            "AIRSIDE_CACHE_DRI",
            "AIRSIDE_X\u{1b}",
        ];
        let set = set.map(|name| (name.to_owned(), "x".to_owned()));
        let told = unknown(set.into_iter(), &known.0);
        let told: Vec<String> = told.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "variable AIRSIDE_CACHE_DRI is ignored: no setting has this name; did you mean AIRSIDE_CACHE_DIR?",
                "variable AIRSIDE_X\\u{1b} is ignored: no setting has this name; `airside run --help` and `airside web --help` list them",
            ]
        );
    }

    #[test]
    fn variables_of_tests_and_of_kubernetes_services_are_no_mistakes() {
        for (name, value) in [
            ("AIRSIDE_FLY", "/fly"),
            ("AIRSIDE_TEST_CLUSTER", "1"),
            ("AIRSIDE_CRASH_BUILDS", "5"),
            ("AIRSIDE_SERVICE_HOST", "10.0.0.1"),
            ("AIRSIDE_WEB_SERVICE_PORT_API", "8080"),
            ("AIRSIDE_PORT", "tcp://10.0.0.1:8080"),
            ("AIRSIDE_PORT_8080_TCP_PROTO", "tcp"),
        ] {
            assert_eq!(unknown_of(&[(name, value)]), [], "{name}");
        }
        assert_eq!(unknown_of(&[("AIRSIDE_PORT", "8080")]).len(), 1);
    }
}
