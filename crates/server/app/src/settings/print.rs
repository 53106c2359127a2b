//! `--print-config`: the settings in effect, as a configuration file that says where each comes from.

use std::io::{self, Write};

use super::{Origin, Setting};

/// Shown instead of what is secret.
const HIDDEN: &str = "(hidden)";

pub(crate) fn print(settings: &[Setting], to: &mut impl Write) -> io::Result<()> {
    for setting in settings {
        writeln!(to, "{}", line(setting))?;
    }
    Ok(())
}

fn line(setting: &Setting) -> String {
    let name = &setting.name;
    let values: Vec<String> = match setting.secret {
        true => setting.values.iter().map(|_| HIDDEN.to_owned()).collect(),
        false => setting.values.iter().map(|value| quoted(value)).collect(),
    };
    let shown = match &values[..] {
        [] => return format!("# {name}:"),
        [one] => format!("{name}: {one}"),
        several => format!("{name}: [{}]", several.join(", ")),
    };
    let origin = match &setting.origin {
        Origin::Option => format!("--{name}"),
        Origin::Variable(variable) => variable.clone(),
        Origin::File { path, line } => format!("{}:{line}", path.display()),
        Origin::Default | Origin::Unset => "default".to_owned(),
    };
    format!("{shown:<50} # {origin}")
}

/// As YAML: in quotes where something might be read into it.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=".contains(c);
    match value.chars().all(|c| plain(c) || c == ':') && !value.ends_with(':') && !value.is_empty()
    {
        true => value.to_owned(),
        false => serde_json::Value::from(value).to_string(),
    }
}
