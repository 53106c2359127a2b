//! The place of each job in the order of work: one more than that of the last job whose versions it
//! takes. Dashboards show a column for each.

use std::collections::HashMap;

use airside_model::SaveJob;
use serde::Deserialize;

/// The highest rank that is told apart: one character, in base 36.
const MAX_RANK: u32 = 35;

/// The part of a job's outline that ranks follow from.
#[derive(Default, Deserialize)]
struct Outline {
    #[serde(default)]
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    passed: Vec<String>,
}

/// Returns the rank of each job, in their order: a digit in base 36 for each.
pub(super) fn ranks(jobs: &[SaveJob]) -> String {
    let places = jobs
        .iter()
        .zip(0..)
        .map(|(job, at)| (job.name.as_str(), at));
    let places: HashMap<&str, usize> = places.collect();
    let before: Vec<Vec<usize>> = jobs.iter().map(|job| passed(job, &places)).collect();
    let digits = settled(&before).into_iter();
    digits
        .filter_map(|rank| char::from_digit(rank, MAX_RANK + 1))
        .collect()
}

/// Returns the places of the jobs that a job's inputs have passed.
fn passed(job: &SaveJob, places: &HashMap<&str, usize>) -> Vec<usize> {
    // What cannot be read puts no job behind another.
    let outline: Outline = serde_json::from_str(&job.outline).unwrap_or_default();
    let names = outline.inputs.into_iter().flat_map(|input| input.passed);
    names
        .filter_map(|name| places.get(name.as_str()).copied())
        .collect()
}

/// Returns the length of the longest way to each, by as many rounds as ranks are told apart: jobs
/// that wait for each other stop there.
fn settled(before: &[Vec<usize>]) -> Vec<u32> {
    let mut ranks = vec![0; before.len()];
    for _ in 0..MAX_RANK {
        let mut has_moved = false;
        for (job, before) in before.iter().enumerate() {
            let behind = before.iter().map(|at| ranks[*at] + 1).max().unwrap_or(0);
            let rank = behind.min(MAX_RANK);
            has_moved |= rank > ranks[job];
            ranks[job] = rank.max(ranks[job]);
        }
        if !has_moved {
            break;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(name: &str, passed: &[&str]) -> SaveJob {
        SaveJob::new(
            name,
            &json!({"inputs": [{"name": "r"}, {"name": "q", "passed": passed}]}),
        )
    }

    #[test]
    fn a_job_comes_behind_all_that_it_waits_for() {
        let long: Vec<SaveJob> = (0..50)
            .map(|at| job(&format!("j{at}"), &[&format!("j{}", at - 1)]))
            .collect();
        let expected = "0123456789abcdefghijklmnopqrstuvwxyz".to_owned() + &"z".repeat(14);
        assert_eq!(ranks(&long), expected);
        for (jobs, expected) in [
            (vec![], ""),
            (vec![job("a", &[]), job("b", &[])], "00"),
            (vec![job("b", &["a"]), job("a", &[])], "10"),
            (
                vec![job("d", &["c", "a"]), job("a", &[]), job("c", &["a"])],
                "201",
            ),
            (vec![job("a", &["gone"])], "0"),
            (vec![job("a", &["a"])], "z"),
            (vec![job("a", &["b"]), job("b", &["a"])], "zz"),
            (vec![SaveJob::named("a")], "0"),
        ] {
            assert_eq!(ranks(&jobs), expected);
        }
    }
}
