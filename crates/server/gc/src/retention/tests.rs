use super::*;

/// A job's builds, the newest first: `s`ucceeded or `f`ailed, each a day older than the one before.
fn builds(text: &str) -> Vec<Logged> {
    let status = |letter| match letter {
        's' => BuildStatus::Succeeded,
        _ => BuildStatus::Failed,
    };
    let newest = text.len() as i64;
    (0..)
        .zip(text.chars())
        .map(|(age, letter)| Logged {
            build: BuildId(newest - age),
            status: status(letter),
            ended_at: Micros((1000 - age) * DAY),
        })
        .collect()
}

/// Returns the builds with what is left of them: `-` is reaped.
fn left(text: &str, builds: u32, days: u32, succeeded: u32) -> String {
    let retention = Retention {
        builds,
        days,
        succeeded,
    };
    let there = self::builds(text);
    let mut sieve = Sieve::new(retention, Micros(1000 * DAY + 1));
    there.iter().for_each(|build| sieve.take(build));
    let garbage = sieve.garbage();
    let letters = there.iter().zip(text.chars());
    letters
        .map(|(build, letter)| {
            if garbage.contains(&build.build) {
                '-'
            } else {
                letter
            }
        })
        .collect()
}

#[test]
fn what_is_left_of_a_job() {
    for (there, (builds, days, succeeded), rest) in [
        // No limit.
        ("fsfs", (0, 0, 0), "fsfs"),
        ("fsfs", (0, 0, 2), "fsfs"),
        // The newest.
        ("fsfs", (2, 0, 0), "fs--"),
        ("fsfs", (9, 0, 0), "fsfs"),
        ("", (2, 0, 0), ""),
        // By age: the first is new, each other a day older.
        ("fsfs", (0, 1, 0), "f---"),
        ("fsfs", (0, 3, 0), "fsf-"),
        // Without a number of builds the succeeded ones do not count.
        ("ffsf", (0, 1, 1), "f---"),
        // Both: a build stays if either says so, but never more than the number.
        ("ffffff", (2, 4, 0), "ff----"),
        ("ffffff", (4, 2, 0), "ffff--"),
        // The last one that succeeded stays, in the place of a newer one that did not.
        ("ffffs", (2, 0, 1), "f---s"),
        ("fffss", (3, 0, 2), "f--ss"),
        ("sfffs", (2, 0, 1), "sf---"),
        ("fffff", (2, 0, 1), "ff---"),
        ("ffs", (2, 0, 1), "f-s"),
    ] {
        let found = left(there, builds, days, succeeded);
        assert_eq!(found, rest, "{there} with {builds}, {days}, {succeeded}");
    }
}

#[test]
fn what_holds_for_a_job() {
    let job = |builds, days, succeeded| BuildLogRetention {
        builds,
        days,
        minimum_succeeded_builds: succeeded,
    };
    let server = |default_builds, max_builds, default_days, max_days| LogRetention {
        default_builds,
        max_builds,
        default_days,
        max_days,
    };
    for (server, job, (builds, days, succeeded)) in [
        (server(0, 0, 0, 0), None, (0, 0, 0)),
        (server(0, 0, 0, 0), Some(job(5, 3, 2)), (5, 3, 2)),
        (server(7, 0, 8, 0), None, (7, 8, 0)),
        (server(7, 0, 8, 0), Some(job(5, 0, 2)), (5, 8, 2)),
        (server(7, 0, 8, 0), Some(job(0, 3, 0)), (7, 3, 0)),
        (server(0, 4, 0, 6), None, (4, 6, 0)),
        (server(9, 4, 9, 6), None, (4, 6, 0)),
        (server(0, 4, 0, 6), Some(job(50, 60, 9)), (4, 6, 4)),
        (server(0, 4, 0, 6), Some(job(2, 3, 1)), (2, 3, 1)),
        (server(0, 4, 0, 0), Some(job(0, 60, 0)), (4, 60, 0)),
    ] {
        let expected = Retention {
            builds,
            days,
            succeeded,
        };
        assert_eq!(server.for_job(job.as_ref()), expected, "{server:?} {job:?}");
    }
}
