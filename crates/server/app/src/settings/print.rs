//! `--print-config`: the settings in effect, as a configuration file that says where each comes
//! from.

use std::io;

use super::{Setting, SettingOrigin};
use crate::printing;

/// Shown instead of what is secret.
const HIDDEN: &str = "(hidden)";

pub(crate) fn print(settings: &[Setting]) -> io::Result<()> {
    let lines = settings.iter().map(|setting| line(setting) + "\n");
    printing::print(&lines.collect::<String>())
}

fn line(setting: &Setting) -> String {
    let name = &setting.name;
    let shown = |value: &String| {
        if setting.secret {
            HIDDEN.to_owned()
        } else {
            quoted(value)
        }
    };
    let values: Vec<String> = setting.values.iter().map(shown).collect();
    let shown = match &values[..] {
        [] => return format!("# {name}:"),
        [one] => format!("{name}: {one}"),
        several => format!("{name}: [{}]", several.join(", ")),
    };
    let origin = match &setting.origin {
        SettingOrigin::Option => format!("--{name}"),
        SettingOrigin::Variable(variable) => variable.clone(),
        SettingOrigin::File { path, line } => format!("{}:{line}", path.display()),
        SettingOrigin::Default | SettingOrigin::Unset => "default".to_owned(),
    };
    format!("{shown:<50} # {origin}")
}

/// Returns a value as YAML, in quotes where it could be read as something else.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=".contains(c);
    let is_plain = value.chars().all(|c| plain(c) || c == ':');
    if is_plain && !value.ends_with(':') && !value.is_empty() {
        value.to_owned()
    } else {
        serde_json::Value::from(value).to_string()
    }
}
