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
    let write = |name: &str, text: &str| {
        let path = dest.join(".git").join(name);
        fs::write(&path, text).map_err(Failure::io(&path))
    };
    let mut shown = |format: &str| {
        let format = format!("--format=format:{format}");
        git.read(dest, &["--no-pager", "log", "-1", &format], log)
    };
    write("committer", &shown("%ae")?)?;
    write("committer_name", &shown("%an")?)?;
    write("commit_message", &shown("%B")?)?;
    write("ref", &format!("{returned}\n"))?;
    let format = params.short_ref_format.as_deref().unwrap_or("%s");
    write("short_ref", &short(format, returned))?;
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
        write(name, &text.unwrap_or_default())?;
    }
    let format = params.timestamp_format.as_deref().unwrap_or("iso8601");
    let date = format!("--date={format}");
    let args = ["--no-pager", "log", "-1", "--format=format:%cd", &date];
    write(
        "commit_timestamp",
        &format!("{}\n", git.read(dest, &args, log)?),
    )?;
    let options = params.describe_ref_options.as_deref();
    let options = options.unwrap_or("--always --dirty --broken");
    let mut args = vec!["describe"];
    args.extend(options.split_whitespace());
    // A repository may have nothing that fits the options; that fails nothing else.
    let described = git.ask(dest, &args)?.unwrap_or_default();
    write("describe_ref", &format!("{described}\n"))?;
    let json = serde_json::to_string_pretty(metadata).map_err(Failure::Request)?;
    write("metadata.json", &format!("{json}\n"))
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
