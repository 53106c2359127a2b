use std::{path::Path, time::Duration};

use super::{table::JobEnd, *};

fn report(end: JobEnd) -> JobReport {
    JobReport {
        job: "job".to_owned(),
        end,
        steps: Vec::new(),
        took: Duration::ZERO,
        build: None,
    }
}

#[test]
fn the_worst_job_says_how_the_run_ended() {
    let built = JobEnd::Built;
    let skipped = || JobEnd::Skipped("because".to_owned());
    for (ends, expected) in [
        (vec![], End::Succeeded),
        (vec![built(BuildStatus::Succeeded)], End::Succeeded),
        (vec![built(BuildStatus::Failed), skipped()], End::Failed),
        (
            vec![built(BuildStatus::Failed), built(BuildStatus::Errored)],
            End::Errored,
        ),
        (vec![JobEnd::Impossible("no".to_owned())], End::Errored),
        (
            vec![built(BuildStatus::Succeeded), built(BuildStatus::Aborted)],
            End::Aborted,
        ),
    ] {
        let reports: Vec<JobReport> = ends.into_iter().map(report).collect();
        assert_eq!(end(&reports), expected, "{reports:?}");
    }
}

#[test]
fn a_pipeline_is_called_after_its_file() {
    for (file, expected) in [
        ("ci.yml", "ci"),
        ("some/My Pipeline.yaml", "my-pipeline"),
        ("-", "pipeline"),
        (".yml", "yml"),
    ] {
        assert_eq!(name(Path::new(file)), expected);
    }
}
