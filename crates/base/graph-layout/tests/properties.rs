//! Properties of random graphs and random pipelines.

mod support;

use airside_graph_layout::{
    DrawnInput, DrawnJob, DrawnPipeline, GraphEdge, GraphNode, NodeKind, draw_pipeline, layout,
};
use proptest::prelude::*;

use support::check::{check, check_apart};

fn node() -> impl Strategy<Value = GraphNode> {
    (any::<bool>(), 0..50usize, 20..200i32, 1..90i32).prop_map(|(job, index, width, height)| {
        GraphNode {
            kind: if job {
                NodeKind::Job { job: index }
            } else {
                NodeKind::Resource { resource: index }
            },
            width,
            height,
        }
    })
}

/// Any edges: loops, cycles, several between two nodes, and some whose ends do not exist.
fn graph() -> impl Strategy<Value = (Vec<GraphNode>, Vec<GraphEdge>)> {
    prop::collection::vec(node(), 0..40).prop_flat_map(|nodes| {
        let end = 0..nodes.len() + 1;
        let edge = (end.clone(), end, any::<bool>());
        let edge = edge.prop_map(|(from, to, trigger)| GraphEdge {
            from,
            to,
            trigger,
            resource: 0,
        });
        (Just(nodes), prop::collection::vec(edge, 0..90))
    })
}

/// Jobs by numbers: inputs as (resource, passed jobs, trigger), and outputs.
type NumberedJob = (Vec<(usize, Vec<usize>, bool)>, Vec<usize>);

fn jobs() -> impl Strategy<Value = Vec<NumberedJob>> {
    let input = (
        0..6usize,
        prop::collection::vec(0..14usize, 0..3),
        any::<bool>(),
    );
    let job = (
        prop::collection::vec(input, 0..4),
        prop::collection::vec(0..6usize, 0..3),
    );
    prop::collection::vec(job, 0..12)
}

const RESOURCES: [&str; 6] = ["repo", "image", "version", "chart", "docs", "lock"];
const JOBS: [&str; 14] = [
    "a",
    "b",
    "c",
    "d",
    "e",
    "f",
    "g",
    "h",
    "i",
    "j",
    "k",
    "l",
    "elsewhere",
    "nowhere",
];

fn named(jobs: &[NumberedJob]) -> Vec<DrawnJob<'static>> {
    let input = |(resource, passed, trigger): &(usize, Vec<usize>, bool)| DrawnInput {
        resource: RESOURCES[*resource],
        passed: passed.iter().map(|&job| JOBS[job]).collect(),
        trigger: *trigger,
    };
    let job = |(index, (inputs, outputs)): (usize, &NumberedJob)| DrawnJob {
        name: JOBS[index],
        inputs: inputs.iter().map(input).collect(),
        outputs: outputs
            .iter()
            .map(|&resource| RESOURCES[resource])
            .collect(),
    };
    jobs.iter().enumerate().map(job).collect()
}

/// Resources between two jobs, or before a job if there is no first one; with the trigger of the
/// second edge.
fn between(drawn: &DrawnPipeline<'_>, from: Option<usize>, to: usize, resource: &str) -> Vec<bool> {
    let into = drawn
        .edges
        .iter()
        .filter(|edge| edge.to == to && drawn.resources[edge.resource] == resource);
    let starts = |node: usize| match from {
        Some(from) => drawn
            .edges
            .iter()
            .any(|edge| edge.from == from && edge.to == node),
        None => drawn.edges.iter().all(|edge| edge.to != node),
    };
    into.filter(|edge| starts(edge.from))
        .map(|edge| edge.trigger)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_graph_has_a_layout((nodes, edges) in graph()) {
        let first = layout(&nodes, &edges);
        check(&nodes, &edges, &first);
        prop_assert_eq!(first, layout(&nodes, &edges));
    }

    #[test]
    fn an_acyclic_graph_has_no_backward_edges((nodes, mut edges) in graph()) {
        edges.retain(|edge| edge.from < edge.to && edge.to < nodes.len());
        let layout = layout(&nodes, &edges);
        check(&nodes, &edges, &layout);
        prop_assert!(layout.edges.iter().all(|path| !path.backward));
    }

    #[test]
    fn each_input_and_output_of_a_pipeline_is_drawn(numbered in jobs()) {
        let jobs = named(&numbered);
        let drawn = draw_pipeline(&jobs);
        let layout = layout(&drawn.nodes, &drawn.edges);
        check(&drawn.nodes, &drawn.edges, &layout);
        check_apart(&drawn.edges, &layout);
        for (to, job) in jobs.iter().enumerate() {
            prop_assert_eq!(drawn.nodes[to].kind, NodeKind::Job { job: to });
            for input in &job.inputs {
                let position = |name: &&str| jobs.iter().position(|job| job.name == *name);
                let mut sources: Vec<Option<usize>> = input.passed.iter().map(position).collect();
                if sources.is_empty() {
                    sources.push(None);
                }
                for from in sources {
                    let triggers = between(&drawn, from, to, input.resource);
                    prop_assert!(!triggers.is_empty(), "{:?} of {}", input, job.name);
                    prop_assert!(!input.trigger || triggers.contains(&true));
                }
            }
            for output in &job.outputs {
                let put = drawn.edges.iter().any(|edge| edge.from == to && drawn.resources[edge.resource] == *output);
                prop_assert!(put, "{} puts {}", job.name, output);
            }
        }
    }
}
