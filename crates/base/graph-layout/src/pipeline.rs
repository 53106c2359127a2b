//! A pipeline's jobs as the nodes and edges that Concourse draws.
//!
//! - An input without `passed` is a node before its job; jobs of one column share it.
//! - An input with `passed` stands between the passed jobs and the job: the put of the passed job
//!   if it has one, else a node for what it got. Nodes of one resource with the same consumers are
//!   drawn as one.
//! - A put is a node behind its job.

use std::collections::{BTreeMap, HashMap};

use crate::graph::{GraphEdge, GraphNode, NodeKind};
use crate::ranks::{Adjacency, backward_edges};

/// An input of a job: a resource, the jobs whose versions it takes, and if new versions start a
/// build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnInput<'a> {
    pub resource: &'a str,
    pub passed: Vec<&'a str>,
    pub trigger: bool,
}

/// A job with its inputs and the resources that it puts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnJob<'a> {
    pub name: &'a str,
    pub inputs: Vec<DrawnInput<'a>>,
    pub outputs: Vec<&'a str>,
}

/// Nodes and edges of a pipeline, ready for [`layout`](crate::layout).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnPipeline<'a> {
    /// All jobs in the order of the configuration, then resources.
    pub nodes: Vec<GraphNode>,
    pub edges: Vec<GraphEdge>,
    /// Names of resources, by the index that nodes and edges carry.
    pub resources: Vec<&'a str>,
}

const JOB_WIDTH: i32 = 156;
const JOB_HEIGHT: i32 = 48;
const RESOURCE_HEIGHT: i32 = 28;
/// The longest names that widen their node; renderers cut longer ones.
const MAX_NAME_CHARS: usize = 40;

/// Returns the width of a job with a name: 156 px, more from 15 characters on, at most 40
/// characters.
pub fn job_width(name: &str) -> i32 {
    JOB_WIDTH.max(46 + text_width(name, 783))
}

/// Returns the width of a resource: 28 px, 7.22 px a character (at most 40), 8 px.
pub fn resource_width(name: &str) -> i32 {
    36 + text_width(name, 722)
}

fn text_width(name: &str, hundredths: i32) -> i32 {
    let chars = i32::try_from(name.chars().take(MAX_NAME_CHARS).count()).unwrap_or(0);
    chars * hundredths / 100
}

/// Turns jobs into nodes and edges. Passed jobs that are not in the list (other groups) have no
/// node.
pub fn draw_pipeline<'a>(jobs: &[DrawnJob<'a>]) -> DrawnPipeline<'a> {
    let names: HashMap<&str, usize> = jobs
        .iter()
        .enumerate()
        .rev()
        .map(|(index, job)| (job.name, index))
        .collect();
    let ranks = job_ranks(jobs, &names);
    let mut drawing = Drawing::new(jobs);
    drawing.outputs(jobs);
    drawing.inputs(jobs, &names, &ranks);
    let links = drawing.merged();
    drawing.finish(links)
}

/// Longest paths over `passed`, so that inputs without it can be shared by jobs of one column.
fn job_ranks(jobs: &[DrawnJob<'_>], names: &HashMap<&str, usize>) -> Vec<usize> {
    let ends: Vec<(usize, usize)> = (jobs.iter().enumerate())
        .flat_map(|(to, job)| {
            job.inputs
                .iter()
                .flat_map(move |input| input.passed.iter().map(move |passed| (passed, to)))
        })
        .filter_map(|(passed, to)| Some((*names.get(passed)?, to)))
        .collect();
    let backward = backward_edges(jobs.len(), &ends);
    let forward = |index: usize| (!backward[index]).then_some(ends[index].0);
    let out = Adjacency::group(jobs.len(), (0..ends.len()).map(forward));
    let mut waiting = vec![0usize; jobs.len()];
    for (index, (_, to)) in ends.iter().enumerate() {
        waiting[*to] += usize::from(!backward[index]);
    }
    let mut order: Vec<usize> = (0..jobs.len()).filter(|&job| waiting[job] == 0).collect();
    let mut ranks = vec![0; jobs.len()];
    let mut done = 0;
    while let Some(&job) = order.get(done) {
        done += 1;
        for &edge in out.of(job) {
            let next = ends[edge].1;
            ranks[next] = ranks[next].max(ranks[job] + 1);
            waiting[next] -= 1;
            if waiting[next] == 0 {
                order.push(next);
            }
        }
    }
    ranks
}

/// The reason why a resource stands where it does; equal keys are one node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ResourceKey {
    Put {
        job: usize,
    },
    Got {
        job: usize,
    },
    /// Passed by a job that is not drawn.
    Elsewhere {
        rank: usize,
    },
    Free {
        rank: usize,
    },
}

/// A resource before nodes are merged: its producers and, by consumer, if it triggers.
struct ResourceSpot {
    key: ResourceKey,
    resource: usize,
    producers: Vec<usize>,
    consumers: BTreeMap<usize, bool>,
}

struct Drawing<'a> {
    nodes: Vec<GraphNode>,
    resources: Vec<&'a str>,
    numbers: HashMap<&'a str, usize>,
    spots: Vec<ResourceSpot>,
    spot_numbers: HashMap<(ResourceKey, usize), usize>,
}

impl<'a> Drawing<'a> {
    fn new(jobs: &[DrawnJob<'a>]) -> Self {
        let node = |(job, drawn): (usize, &DrawnJob<'a>)| GraphNode {
            kind: NodeKind::Job { job },
            width: job_width(drawn.name),
            height: JOB_HEIGHT,
        };
        Drawing {
            nodes: jobs.iter().enumerate().map(node).collect(),
            resources: Vec::new(),
            numbers: HashMap::new(),
            spots: Vec::new(),
            spot_numbers: HashMap::new(),
        }
    }

    fn resource(&mut self, name: &'a str) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            self.resources.push(name);
            self.resources.len() - 1
        })
    }

    fn spot(&mut self, key: ResourceKey, resource: usize) -> &mut ResourceSpot {
        let number = *self.spot_numbers.entry((key, resource)).or_insert_with(|| {
            let producers = match key {
                ResourceKey::Put { job } | ResourceKey::Got { job } => vec![job],
                ResourceKey::Elsewhere { .. } | ResourceKey::Free { .. } => Vec::new(),
            };
            self.spots.push(ResourceSpot {
                key,
                resource,
                producers,
                consumers: BTreeMap::new(),
            });
            self.spots.len() - 1
        });
        &mut self.spots[number]
    }

    fn outputs(&mut self, jobs: &[DrawnJob<'a>]) {
        for (job, drawn) in jobs.iter().enumerate() {
            for &output in &drawn.outputs {
                let resource = self.resource(output);
                self.spot(ResourceKey::Put { job }, resource);
            }
        }
    }

    fn inputs(&mut self, jobs: &[DrawnJob<'a>], names: &HashMap<&str, usize>, ranks: &[usize]) {
        for (job, drawn) in jobs.iter().enumerate() {
            let rank = ranks[job];
            for input in &drawn.inputs {
                let resource = self.resource(input.resource);
                if input.passed.is_empty() {
                    self.consume(ResourceKey::Free { rank }, resource, job, input.trigger);
                }
                for passed in &input.passed {
                    let key = match names.get(passed) {
                        Some(&from)
                            if self
                                .spot_numbers
                                .contains_key(&(ResourceKey::Put { job: from }, resource)) =>
                        {
                            ResourceKey::Put { job: from }
                        }
                        Some(&from) => ResourceKey::Got { job: from },
                        None => ResourceKey::Elsewhere { rank },
                    };
                    self.consume(key, resource, job, input.trigger);
                }
            }
        }
    }

    fn consume(&mut self, key: ResourceKey, resource: usize, job: usize, trigger: bool) {
        *self
            .spot(key, resource)
            .consumers
            .entry(job)
            .or_insert(false) |= trigger;
    }

    /// Joins what several jobs got and the same jobs consume: three jobs before two are one node,
    /// not three.
    fn merged(&mut self) -> Vec<ResourceSpot> {
        let mut merged: Vec<ResourceSpot> = Vec::new();
        let mut alike: HashMap<(usize, BTreeMap<usize, bool>), usize> = HashMap::new();
        for spot in std::mem::take(&mut self.spots) {
            if !matches!(spot.key, ResourceKey::Got { .. }) {
                merged.push(spot);
                continue;
            }
            let number = *alike
                .entry((spot.resource, spot.consumers.clone()))
                .or_insert(merged.len());
            match merged.get_mut(number) {
                Some(first) => first.producers.extend(spot.producers),
                None => merged.push(spot),
            }
        }
        merged
    }

    fn finish(mut self, spots: Vec<ResourceSpot>) -> DrawnPipeline<'a> {
        let mut edges = Vec::new();
        for spot in spots {
            let (node, resource) = (self.nodes.len(), spot.resource);
            self.nodes.push(GraphNode {
                kind: NodeKind::Resource { resource },
                width: resource_width(self.resources[resource]),
                height: RESOURCE_HEIGHT,
            });
            let made = spot.producers.iter().map(|&from| GraphEdge {
                from,
                to: node,
                trigger: true,
                resource,
            });
            edges.extend(made);
            let used = spot.consumers.iter().map(|(&to, &trigger)| GraphEdge {
                from: node,
                to,
                trigger,
                resource,
            });
            edges.extend(used);
        }
        DrawnPipeline {
            nodes: self.nodes,
            edges,
            resources: self.resources,
        }
    }
}
