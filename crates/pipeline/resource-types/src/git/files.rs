//! The files that a get leaves in `.git` for later steps.

use std::{fs, io::Write, path::Path};

use airside_model::MetadataField;

use super::{Git, settings::InParams};
use crate::Failure;

pub(super) fn write(
    git: &Git,
    dest: &Path,
    params: &InParams,
    returned: &str,
    metadata: &[MetadataField],
    log: &mut dyn Write,
) -> Result<(), Failure> {
    let mut ask = |args: &[&str], may_fail: bool| {
        if may_fail {
            git.ask(dest, args)
        } else {
            git.read(dest, args, log).map(Some)
        }
    };
    for (name, text) in texts(&mut ask, params, returned, metadata)? {
        let path = dest.join(".git").join(name);
        fs::write(&path, text).map_err(Failure::io(&path))?;
    }
    Ok(())
}

/// A question to git: its arguments, and true if git may have no answer.
pub(super) type AskGit<'a> = dyn FnMut(&[&str], bool) -> Result<Option<String>, Failure> + 'a;

/// Returns the names and texts of the files.
pub(super) fn texts(
    ask: &mut AskGit<'_>,
    params: &InParams,
    returned: &str,
    metadata: &[MetadataField],
) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut texts = Vec::new();
    for (name, format) in [
        ("committer", "%ae"),
        ("committer_name", "%an"),
        ("commit_message", "%B"),
    ] {
        let format = format!("--format=format:{format}");
        let shown = ask(&["--no-pager", "log", "-1", &format], false)?;
        texts.push((name, shown.unwrap_or_default()));
    }
    texts.push(("ref", format!("{returned}\n")));
    let format = params.short_ref_format.as_deref().unwrap_or("%s");
    texts.push(("short_ref", short(format, returned)));
    for name in [
        "commit",
        "author",
        "author_date",
        "branch",
        "tags",
        "url",
        "committer_date",
    ] {
        let found = metadata.iter().find(|field| field.name == name);
        let text = found.map(|field| format!("{}\n", field.value));
        texts.push((name, text.unwrap_or_default()));
    }
    let format = params.timestamp_format.as_deref().unwrap_or("iso8601");
    let date = format!("--date={format}");
    let args = ["--no-pager", "log", "-1", "--format=format:%cd", &date];
    let date = ask(&args, false)?.unwrap_or_default();
    texts.push(("commit_timestamp", format!("{date}\n")));
    let options = params.describe_ref_options.as_deref();
    let options = options.unwrap_or("--always --dirty --broken");
    let mut args = vec!["describe"];
    args.extend(options.split_whitespace());
    // A repository may have nothing that fits the options; that fails nothing else.
    let described = ask(&args, true)?.unwrap_or_default();
    texts.push(("describe_ref", format!("{described}\n")));
    let json = serde_json::to_string_pretty(metadata).map_err(Failure::Request)?;
    texts.push(("metadata.json", format!("{json}\n")));
    Ok(texts)
}

/// The first seven characters, as `format` has it.
fn short(format: &str, returned: &str) -> String {
    let short: String = returned.chars().take(7).collect();
    let parts: Vec<String> = format
        .split("%%")
        .map(|part| part.replacen("%s", &short, 1))
        .collect();
    parts.join("%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_refs_have_a_form() {
        for (format, text) in [
            ("%s", "0123456"),
            ("dev-%s", "dev-0123456"),
            ("%s%%", "0123456%"),
            ("fixed", "fixed"),
        ] {
            assert_eq!(short(format, "0123456789"), text);
        }
        assert_eq!(short("%s", "v1"), "v1");
    }
}
