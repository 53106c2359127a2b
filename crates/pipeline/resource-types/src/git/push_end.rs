//! The end of a push, by the flags of `git push --porcelain`.

use super::command::CommandEnd;

/// The end of a push of one or more references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushEnd {
    /// The remote took at least one reference.
    Pushed,
    /// The remote had every reference already.
    UpToDate,
    /// The remote has commits that the push lacks, or gets some at this moment.
    Behind,
    /// The push failed for another reason.
    Refused,
}

/// The line of one reference: `FLAG<TAB>FROM:TO<TAB>SUMMARY`.
struct PushedRef<'a> {
    flag: char,
    summary: &'a str,
}

impl<'a> PushedRef<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (flag, rest) = line.split_once('\t')?;
        let (_, summary) = rest.split_once('\t')?;
        let mut flags = flag.chars();
        match (flags.next(), flags.next()) {
            (Some(flag), None) => Some(Self { flag, summary }),
            _ => None,
        }
    }

    /// git has one flag for every refusal. Its summary says `[rejected]` if git itself held the
    /// reference back, and `[remote rejected]` if the remote did.
    fn is_behind(&self) -> bool {
        self.flag == '!' && self.summary.starts_with("[rejected]")
    }
}

impl PushEnd {
    /// Reads the end of a `git push --porcelain`.
    pub(crate) fn of(ended: &CommandEnd) -> Self {
        let answer = ended.text();
        let mut refs = answer.lines().filter_map(PushedRef::parse);
        if ended.ok {
            let is_new = refs.any(|one| one.flag != '=');
            return if is_new { Self::Pushed } else { Self::UpToDate };
        }
        // A remote that another push has locked says so in words alone.
        let is_locked =
            ended.complaints.contains("cannot lock ref") || answer.contains("cannot lock ref");
        if is_locked || refs.any(|one| one.is_behind()) {
            Self::Behind
        } else {
            Self::Refused
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ok: bool, answer: &str, complaints: &str, expected: PushEnd) {
        let ended = CommandEnd {
            ok,
            answer: answer.as_bytes().to_vec(),
            complaints: complaints.to_owned(),
        };
        assert_eq!(PushEnd::of(&ended), expected, "{answer}{complaints}");
    }

    #[test]
    fn flags_say_how_a_push_ended() {
        let to = "To https://git.example.com/a.git\n";
        let push = |lines: &str| format!("{to}{lines}Done\n");
        let up_to_date = "=\tHEAD:refs/heads/main\t[up to date]\n";
        let new_tag = "*\trefs/tags/v1:refs/tags/v1\t[new tag]\n";
        check(true, &push(up_to_date), "", PushEnd::UpToDate);
        check(
            true,
            &push(" \tHEAD:refs/heads/main\t0a1b2c3..4d5e6f7\n"),
            "",
            PushEnd::Pushed,
        );
        let both = format!("{up_to_date}{new_tag}");
        check(true, &push(&both), "", PushEnd::Pushed);
        let behind = "!\tHEAD:refs/heads/main\t[rejected] (fetch first)\n";
        check(false, &format!("{to}{behind}"), "", PushEnd::Behind);
        let hook = "!\tHEAD:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n";
        check(false, &format!("{to}{hook}"), "", PushEnd::Refused);
        let locked = "!\tHEAD:refs/heads/main\t[remote rejected] (cannot lock ref 'refs/x')\n";
        check(false, &format!("{to}{locked}"), "", PushEnd::Behind);
        let failed = "!\tHEAD:refs/heads/main\t[remote rejected] (failed to update ref)\n";
        let complaint =
            "remote: error: cannot lock ref 'refs/heads/main': is at 1 but expected 2\n";
        check(false, &format!("{to}{failed}"), complaint, PushEnd::Behind);
    }

    #[test]
    fn words_of_a_hook_decide_nothing() {
        let hook = "!\tHEAD:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n";
        let complaint = "remote: this commit was [rejected] by policy\n";
        check(false, hook, complaint, PushEnd::Refused);
        check(
            true,
            "*\tHEAD:refs/heads/a\t[new branch]\nDone\n",
            "remote: Everything up-to-date\n",
            PushEnd::Pushed,
        );
        check(
            false,
            "",
            "fatal: could not read from remote repository\n",
            PushEnd::Refused,
        );
    }
}
