//! git's own configuration for an action: ours first, then what the source says.

use super::access::Setting;
use crate::Failure;

/// The purpose of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A check in a process that looks at many repositories: git must not run programs that a
    /// source names.
    Check,
    /// An action in a container of its own.
    Step,
}

/// Settings of every action. There is no person to answer questions, and no process stays behind.
const ALWAYS: &[(&str, &str)] = &[
    ("user.name", "git"),
    ("user.email", "git@localhost"),
    ("advice.detachedHead", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("init.defaultBranch", "master"),
    ("pull.rebase", "false"),
    // A server that says nothing for this long has gone away.
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),
    // The trees of a build belong to the user of the task that made them.
    ("safe.directory", "*"),
];

/// Settings for clones of checks, which need not survive a crash: another clone is as good.
const CHECK: &[(&str, &str)] = &[("core.fsync", "none")];

/// Settings that hand large files to git-lfs, where that is installed.
const LFS: &[(&str, &str)] = &[
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.required", "true"),
];

/// Sections whose settings change how data travels, and run nothing.
const HARMLESS: &[&str] = &["http", "https", "url", "fetch", "pack", "transfer"];

/// Sections that may hold credentials, or say where to send them: never left in an artifact.
const PRIVATE: &[&str] = &["http", "https", "url", "include", "includeif"];

/// The text of a configuration file, and the names that were left out of it.
pub(super) fn text(
    settings: &[Setting],
    credentials: Option<&str>,
    purpose: Purpose,
) -> Result<(String, Vec<String>), Failure> {
    let mut text = String::new();
    let mut left_out = Vec::new();
    let ours = ALWAYS.iter().chain(match purpose {
        Purpose::Step if has_program("git-lfs") => LFS,
        Purpose::Step => &[],
        Purpose::Check => CHECK,
    });
    for (name, value) in ours {
        text += &line(name, value)?;
    }
    if let Some(file) = credentials {
        // An empty one first: no other helper gets these.
        text += &line("credential.helper", "")?;
        text += &line("credential.helper", &format!("store --file='{file}'"))?;
    }
    for setting in settings {
        let value = setting.value.as_deref().unwrap_or_default();
        let line = line(&setting.name, value)?;
        if purpose == Purpose::Check && !is_in(HARMLESS, &setting.name) {
            left_out.push(setting.name.clone());
        } else {
            text += &line;
        }
    }
    Ok((text, left_out))
}

/// Returns the settings of the source that also belong into the repository that a get leaves: all
/// but those that may hold a credential.
pub(super) fn for_artifact(settings: &[Setting]) -> Result<String, Failure> {
    let mut text = String::new();
    for setting in settings {
        let value = setting.value.as_deref().unwrap_or_default();
        // A helper that is a whole program in one line may have a password in it.
        let is_program = is_in(&["credential"], &setting.name) && value.starts_with('!');
        if !is_in(PRIVATE, &setting.name) && !is_program {
            text += &line(&setting.name, value)?;
        }
    }
    Ok(text)
}

fn is_in(sections: &[&str], name: &str) -> bool {
    let section = name.split('.').next().unwrap_or_default();
    sections
        .iter()
        .any(|known| known.eq_ignore_ascii_case(section))
}

/// `a.b.c: value` as git writes it down.
fn line(name: &str, value: &str) -> Result<String, Failure> {
    let bad = || {
        let words = format!("has the name {name:?}, which is not like section.key");
        Failure::source("git_config", words)
    };
    let (section, rest) = name.split_once('.').ok_or_else(bad)?;
    let (subsection, key) = match rest.rsplit_once('.') {
        Some((subsection, key)) => (Some(subsection), key),
        None => (None, rest),
    };
    let word = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let control = |text: &str| text.contains(['\n', '\r', '\0']);
    if !word(section) || !word(key) || !key.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Err(bad());
    }
    if subsection.is_some_and(control) || value.contains('\0') {
        return Err(bad());
    }
    let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let head = match subsection {
        Some(subsection) => format!("[{section} \"{}\"]", escape(subsection)),
        None => format!("[{section}]"),
    };
    let value = escape(value).replace('\n', "\\n").replace('\t', "\\t");
    Ok(format!("{head}\n\t{key} = \"{value}\"\n"))
}

/// True if a program is in one of the folders of programs.
pub(super) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, value: &str) -> Setting {
        Setting {
            name: name.to_owned(),
            value: Some(value.to_owned()),
        }
    }

    #[test]
    fn settings_are_written_as_git_reads_them() {
        for (name, value, expected) in [
            ("user.name", "A \"B\"", "[user]\n\tname = \"A \\\"B\\\"\"\n"),
            ("a.b.c.d", "x\ny", "[a \"b.c\"]\n\td = \"x\\ny\"\n"),
            (
                "url.https://h/.insteadOf",
                "g:",
                "[url \"https://h/\"]\n\tinsteadOf = \"g:\"\n",
            ),
        ] {
            assert_eq!(line(name, value).unwrap(), expected);
        }
        for name in ["", "name", "a.", ".b", "a b.c", "a.1", "a.b\n[x].c"] {
            let words = line(name, "v").unwrap_err().to_string();
            assert!(words.starts_with("source.git_config "), "{words}");
        }
    }

    #[test]
    fn a_check_runs_no_programs_of_the_source() {
        let given = [
            setting("core.sshCommand", "evil"),
            setting("http.extraHeader", "Authorization: x"),
            setting("credential.helper", "!evil"),
        ];
        let (text, left_out) = super::text(&given, None, Purpose::Check).unwrap();
        assert!(
            !text.contains("evil") && text.contains("extraHeader"),
            "{text}"
        );
        assert_eq!(left_out, ["core.sshCommand", "credential.helper"]);
        let (text, left_out) = super::text(&given, None, Purpose::Step).unwrap();
        assert!(text.contains("evil") && left_out.is_empty(), "{text}");
    }

    #[test]
    fn artifacts_keep_no_credentials() {
        let given = [
            setting("http.extraHeader", "Authorization: x"),
            setting("url.https://t@h/.insteadOf", "https://h/"),
            setting("credential.helper", "!echo password=x"),
            setting("credential.helper", "cache"),
            setting("core.pager", "cat"),
            setting("user.name", "me"),
        ];
        let text = for_artifact(&given).unwrap();
        let kept = [
            ("credential", "helper", "cache"),
            ("core", "pager", "cat"),
            ("user", "name", "me"),
        ];
        let lines =
            kept.map(|(section, key, value)| format!("[{section}]\n\t{key} = \"{value}\"\n"));
        assert_eq!(text, lines.concat());
    }
}
