//! An index of a pipeline, so that no rule has to search all of it again and again.

use std::collections::{HashMap, HashSet};

use crate::{Config, Glob, PassedPattern};

pub(crate) struct Index<'a> {
    resources: HashSet<&'a str>,
    jobs: HashMap<&'a str, Vec<usize>>,
    /// Resources that each job gets or puts.
    touched: Vec<HashSet<&'a str>>,
}

impl<'a> Index<'a> {
    pub(super) fn new(config: &'a Config) -> Self {
        let mut jobs: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut touched = Vec::new();
        for (index, job) in config.jobs.iter().enumerate() {
            jobs.entry(&job.name).or_default().push(index);
            let mut resources = HashSet::new();
            job.visit_leaves(&mut |leaf| match leaf {
                crate::Leaf::Get(step) => _ = resources.insert(step.resource()),
                crate::Leaf::Put(step) => _ = resources.insert(step.resource()),
                _ => {}
            });
            touched.push(resources);
        }
        Self {
            resources: config.resources.iter().map(|r| r.name.as_str()).collect(),
            jobs,
            touched,
        }
    }

    pub(crate) fn has_resource(&self, name: &str) -> bool {
        self.resources.contains(name)
    }

    pub(crate) fn touches(&self, job: usize, resource: &str) -> bool {
        self.touched[job].contains(resource)
    }

    pub(super) fn used(&self) -> HashSet<&'a str> {
        self.touched.iter().flatten().copied().collect()
    }

    /// The jobs with this name; there should be one.
    pub(super) fn jobs_named(&self, name: &str) -> &[usize] {
        self.jobs.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Maximum number of comparisons of names with patterns in one pipeline, to bound the time that
/// takes.
const MAX_MATCHES: usize = 2_000_000;

/// Matches patterns with jobs, each pattern once.
#[derive(Default)]
pub(super) struct Matcher {
    groups: HashMap<String, Vec<usize>>,
    passed: HashMap<String, Vec<usize>>,
    matches: usize,
}

impl Matcher {
    /// The jobs that a group's name or pattern stands for, or the reason why they are not known.
    pub(super) fn group_jobs(
        &mut self,
        pattern: &str,
        index: &Index<'_>,
        config: &Config,
    ) -> Result<Vec<usize>, String> {
        if !Glob::is_pattern(pattern) {
            return Ok(index.jobs_named(pattern).to_vec());
        }
        if let Some(known) = self.groups.get(pattern) {
            return Ok(known.clone());
        }
        let Some(glob) = Glob::new(pattern) else {
            return Err(format!("invalid glob expression '{pattern}'"));
        };
        let jobs = self.matching(config, |name| glob.matches(name))?;
        self.groups.insert(pattern.to_owned(), jobs.clone());
        Ok(jobs)
    }

    /// The jobs that a name or pattern of `passed` stands for, or the reason why they are not
    /// known. A broken one stands for none.
    pub(super) fn passed_jobs(
        &mut self,
        pattern: &str,
        index: &Index<'_>,
        config: &Config,
    ) -> Result<Vec<usize>, String> {
        if !PassedPattern::is_pattern(pattern) {
            return Ok(index.jobs_named(pattern).to_vec());
        }
        if let Some(known) = self.passed.get(pattern) {
            return Ok(known.clone());
        }
        let jobs = match PassedPattern::new(pattern) {
            Some(pattern) => self.matching(config, |name| pattern.matches(name))?,
            None => Vec::new(),
        };
        self.passed.insert(pattern.to_owned(), jobs.clone());
        Ok(jobs)
    }

    fn matching(
        &mut self,
        config: &Config,
        is_match: impl Fn(&str) -> bool,
    ) -> Result<Vec<usize>, String> {
        self.matches += config.jobs.len();
        if self.matches > MAX_MATCHES {
            return Err("the pipeline has too many jobs for its number of patterns".to_owned());
        }
        let jobs = config.jobs.iter().enumerate();
        let matching = jobs.filter(|(_, job)| is_match(&job.name));
        Ok(matching.map(|(index, _)| index).collect())
    }
}
