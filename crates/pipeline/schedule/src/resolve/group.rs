//! Groups inputs that are searched for together: those that share a job in `passed`, directly or
//! through others.

use std::collections::HashSet;

use airside_model::JobId;

use crate::graph::Input;

/// Sets of inputs (by index) that hang together through the jobs they must have passed.
pub(super) fn groups(inputs: &[Input]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(HashSet<JobId>, Vec<usize>)> = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        if input.passed.is_empty() {
            continue;
        }
        let mut jobs: HashSet<JobId> = input.passed.iter().copied().collect();
        let mut members = vec![index];
        let (touching, apart): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|(others, _)| !others.is_disjoint(&jobs));
        for (others, indexes) in touching {
            jobs.extend(others);
            members.extend(indexes);
        }
        members.sort_unstable();
        groups = apart;
        groups.push((jobs, members));
    }
    groups.into_iter().map(|(_, members)| members).collect()
}
