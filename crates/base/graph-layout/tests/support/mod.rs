//! Graphs that several tests lay out.
#![allow(dead_code)]

pub(crate) mod check;

use airside_graph_layout::{DrawnInput, DrawnJob, GraphEdge, GraphNode, NodeKind};

/// A small generator of numbers: tests of stored numbers need the same graph for ever.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Numbers(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

pub(crate) fn input<'a>(resource: &'a str, passed: &[&'a str], trigger: bool) -> DrawnInput<'a> {
    DrawnInput {
        resource,
        passed: passed.to_vec(),
        trigger,
    }
}

fn job<'a>(name: &'a str, inputs: Vec<DrawnInput<'a>>, outputs: &[&'a str]) -> DrawnJob<'a> {
    DrawnJob {
        name,
        inputs,
        outputs: outputs.to_vec(),
    }
}

/// The pipeline of the picture that the UI was designed by: 14 jobs, 12 resources.
pub(crate) fn web() -> Vec<DrawnJob<'static>> {
    let checks = ["lint", "unit", "types"];
    let tests = ["integration", "e2e-desktop", "e2e-phone"];
    let built = ["build-image"];
    vec![
        job(
            "lint",
            vec![input("repo", &[], true), input("node-image", &[], false)],
            &[],
        ),
        job(
            "unit",
            vec![input("repo", &[], true), input("node-image", &[], false)],
            &[],
        ),
        job(
            "types",
            vec![input("repo", &[], true), input("node-image", &[], false)],
            &[],
        ),
        job(
            "audit",
            vec![input("repo", &[], false), input("nightly", &[], true)],
            &["report"],
        ),
        job(
            "build-image",
            vec![input("repo", &checks, true), input("version", &[], false)],
            &["web-image"],
        ),
        job(
            "build-docs",
            vec![input("repo", &checks, true), input("version", &[], false)],
            &["docs-site"],
        ),
        job(
            "integration",
            vec![
                input("repo", &built, true),
                input("web-image", &built, true),
            ],
            &[],
        ),
        job(
            "e2e-desktop",
            vec![
                input("web-image", &built, true),
                input("e2e-image", &[], false),
            ],
            &[],
        ),
        job(
            "e2e-phone",
            vec![
                input("web-image", &built, true),
                input("e2e-image", &[], false),
            ],
            &[],
        ),
        job(
            "load-test",
            vec![
                input("web-image", &built, false),
                input("load-env", &[], false),
            ],
            &[],
        ),
        job(
            "deploy-staging",
            vec![
                input("web-image", &tests, true),
                input("stage-lock", &[], false),
            ],
            &[],
        ),
        job(
            "publish-chart",
            vec![input("web-image", &tests, false)],
            &["chart"],
        ),
        job(
            "smoke-staging",
            vec![input("web-image", &["deploy-staging"], true)],
            &[],
        ),
        job(
            "deploy-prod",
            vec![
                input("web-image", &["deploy-staging"], false),
                input("prod-env", &[], false),
                input("chart", &["publish-chart"], false),
            ],
            &[],
        ),
    ]
}

/// Names for [`large`], which borrows them.
pub(crate) struct Names {
    pub(crate) jobs: Vec<String>,
    pub(crate) resources: Vec<String>,
}

impl Names {
    pub(crate) fn new(jobs: usize) -> Self {
        Names {
            jobs: (0..jobs).map(|job| format!("job-{job}")).collect(),
            resources: (0..jobs / 3 + 4)
                .map(|resource| format!("resource-{resource}"))
                .collect(),
        }
    }
}

/// A pipeline of services: each job takes what jobs of its service and some others passed, and some
/// shared inputs.
pub(crate) fn large(names: &Names, inputs: usize) -> Vec<DrawnJob<'_>> {
    let mut numbers = Numbers::new(7);
    let service = 8;
    let resource = |number: usize| names.resources[number % names.resources.len()].as_str();
    let mut jobs = Vec::new();
    for (number, name) in names.jobs.iter().enumerate() {
        let (group, stage) = (number / service, number % service);
        let mut job = DrawnJob {
            name,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        job.inputs.push(match stage {
            0 => input(resource(group + 4), &[], true),
            _ => input(
                resource(group + 4),
                &[&names.jobs[number - 1 - numbers.below(stage.min(2))]],
                true,
            ),
        });
        for _ in 1..inputs {
            job.inputs.push(match numbers.below(8) {
                0 if number > service => {
                    let from = numbers.below(number.min(120)) + 1;
                    input(
                        resource(numbers.below(40)),
                        &[&names.jobs[number - from]],
                        false,
                    )
                }
                _ => input(resource(numbers.below(4)), &[], false),
            });
        }
        if stage % 3 == 2 {
            job.outputs.push(resource(group + 60));
        }
        jobs.push(job);
    }
    jobs
}

/// A graph without sense: any edge between any nodes.
pub(crate) fn hostile(nodes: usize, edges: usize) -> (Vec<GraphNode>, Vec<GraphEdge>) {
    let mut numbers = Numbers::new(11);
    let node = |index: usize| GraphNode {
        kind: if index.is_multiple_of(2) {
            NodeKind::Job { job: index }
        } else {
            NodeKind::Resource { resource: index }
        },
        width: 100,
        height: 28,
    };
    let nodes: Vec<GraphNode> = (0..nodes).map(node).collect();
    let edge = |_| {
        let (from, to) = (numbers.below(nodes.len()), numbers.below(nodes.len()));
        GraphEdge {
            from,
            to,
            trigger: true,
            resource: 0,
        }
    };
    let edges = (0..edges).map(edge).collect();
    (nodes, edges)
}
