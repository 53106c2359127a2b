//! A checkout that a person made, described as a get would describe it.

use super::{files, metadata, remote::Remote, settings::InParams};
use crate::Failure;

/// A question to git about a checkout: its arguments, answered by text or refused.
pub type AskCheckout<'a> = dyn FnMut(&[&str]) -> Result<Option<String>, Failure> + 'a;

/// Returns the names and texts of the files that a get of a checkout's commit leaves in `.git`.
///
/// The caller runs git: `ask` returns git's answer to these arguments without the last line break,
/// or nothing if git refuses. No question makes git run a program that the checkout names. `uri` is
/// the address in the resource's source; one that is not an address makes no link to a page.
pub fn checkout_files(
    uri: &str,
    ask: &mut AskCheckout<'_>,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut ask = |args: &[&str], may_fail: bool| {
        let answer = ask(args)?;
        if answer.is_none() && !may_fail {
            let verb = args.iter().find(|arg| !arg.starts_with('-'));
            let verb = verb.copied().unwrap_or_default();
            return Err(Failure::said(format!("git {verb} failed")));
        }
        Ok(answer)
    };
    let commit = ask(&["rev-parse", "--verify", "HEAD^{commit}"], false)?.unwrap_or_default();
    let uri = Remote::parse(Some(uri)).map_or_else(|_| String::new(), |remote| remote.uri);
    let metadata = metadata::describe(&mut ask, &uri)?;
    // To look for changes git would run the filters of the checkout.
    let params = InParams {
        describe_ref_options: Some("--always".to_owned()),
        ..InParams::default()
    };
    files::texts(&mut ask, &params, &commit, &metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(args: &[&str]) -> Option<String> {
        let text = match args {
            ["rev-parse", ..] => "0123456789abcdef",
            ["for-each-ref", ..] => "main",
            ["describe", "--always"] => "v1-2-g0123456",
            ["tag", ..] => "",
            ["--no-pager", "log", "-1", "--format=format:%B"] => "fix it\n\nreally",
            ["--no-pager", "log", "-1", format, ..] if format.contains("%x00") => {
                "0123456789abcdef\x00A\x002020\x00C\x002021\x00fix it"
            }
            ["--no-pager", "log", ..] => "x",
            _ => return None,
        };
        Some(text.to_owned())
    }

    #[test]
    fn a_checkout_has_the_files_of_a_get() {
        let uri = "https://me:secret@github.com/a/b.git";
        let files = checkout_files(uri, &mut |args| Ok(answered(args))).unwrap();
        let text = |name: &str| {
            let found = files.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| text.as_str())
        };
        assert_eq!(text("ref"), Some("0123456789abcdef\n"));
        assert_eq!(text("short_ref"), Some("0123456"));
        assert_eq!(text("branch"), Some("main\n"));
        assert_eq!(text("describe_ref"), Some("v1-2-g0123456\n"));
        assert_eq!(text("commit_message"), Some("fix it\n\nreally"));
        let page = "https://github.com/a/b/commit/0123456789abcdef\n";
        assert_eq!(text("url"), Some(page));
        let json = text("metadata.json").unwrap();
        assert!(json.contains("committer_date") && !json.contains("secret"));
    }

    #[test]
    fn a_checkout_without_a_commit_has_none() {
        let refused = checkout_files("", &mut |_| Ok(None)).unwrap_err();
        assert_eq!(refused.to_string(), "git rev-parse failed");
    }
}
