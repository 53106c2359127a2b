//! The graph of a pipeline as shapes: boxes with their texts, edges with their arrows.

use std::collections::{BTreeMap, HashMap};

use airside_graph_layout::{
    DrawnInput, DrawnJob, DrawnPipeline, GraphLayout, NodeKind, draw_pipeline, layout,
};

use super::{PipelineJob, PipelinePage, PipelineResource};
use crate::PageStatus;

/// Space between a job and the outer edge of its halo.
const HALO: i32 = 6;
/// The longest name that is written whole, as the layout has it.
const MAX_NAME_CHARS: usize = 40;

pub(super) struct PipelineGraph<'a> {
    pub(super) view: [i32; 4],
    pub(super) edges: Vec<EdgeShape>,
    pub(super) jobs: Vec<JobShape<'a>>,
    pub(super) resources: Vec<ResourceShape<'a>>,
    pub(super) failures: Vec<FailureMark>,
}

pub(super) struct EdgeShape {
    pub(super) d: String,
    pub(super) arrow: String,
    pub(super) triggers: bool,
    /// Index of the resource that travels along it, and of the nodes at its ends.
    pub(super) resource: usize,
    pub(super) ends: (usize, usize),
}

pub(super) struct JobShape<'a> {
    pub(super) job: &'a PipelineJob,
    pub(super) node: usize,
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) name: NodeText,
}

pub(super) struct ResourceShape<'a> {
    pub(super) resource: Option<&'a PipelineResource>,
    pub(super) node: usize,
    pub(super) index: usize,
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) name: NodeText,
}

/// A text with the width that it is given, so that no font of the browser's breaks the layout.
pub(super) struct NodeText {
    pub(super) text: String,
    pub(super) width: String,
}

/// A mark over a column in which jobs failed.
pub(super) struct FailureMark {
    pub(super) x: i32,
    pub(super) count: usize,
}

impl NodeText {
    fn new(name: &str, width_of_char: f64) -> Self {
        let length = name.chars().count();
        let text = if length > MAX_NAME_CHARS {
            let kept = name.chars().take(MAX_NAME_CHARS - 1);
            kept.chain(['…']).collect()
        } else {
            name.to_owned()
        };
        let shown = length.min(MAX_NAME_CHARS) as f64;
        Self {
            text,
            width: format!("{:.1}", shown * width_of_char),
        }
    }
}

impl<'a> PipelineGraph<'a> {
    pub(super) fn of(page: &'a PipelinePage) -> Self {
        let jobs: Vec<DrawnJob<'a>> = page.jobs.iter().map(drawn).collect();
        let drawn = draw_pipeline(&jobs);
        let placed = layout(&drawn.nodes, &drawn.edges);
        let failures = failures(page, &drawn, &placed);
        let top = if failures.is_empty() { 12 } else { 24 };
        Self {
            view: [-12, -top, placed.width + 24, placed.height + top + 12],
            edges: edges(page, &drawn, &placed),
            jobs: job_shapes(page, &drawn, &placed),
            resources: resource_shapes(page, &drawn, &placed),
            failures,
        }
    }

    /// Returns the view as SVG writes it.
    pub(super) fn view_box(&self) -> String {
        self.view.map(|side| side.to_string()).join(" ")
    }
}

fn drawn(job: &PipelineJob) -> DrawnJob<'_> {
    DrawnJob {
        name: &job.name,
        inputs: job
            .inputs
            .iter()
            .map(|input| DrawnInput {
                resource: &input.resource,
                passed: input.passed.iter().map(String::as_str).collect(),
                trigger: input.trigger,
            })
            .collect(),
        outputs: job.outputs.iter().map(String::as_str).collect(),
    }
}

fn edges(page: &PipelinePage, drawn: &DrawnPipeline<'_>, placed: &GraphLayout) -> Vec<EdgeShape> {
    let halo = |node: usize| match drawn.nodes[node].kind {
        NodeKind::Job { job } if page.jobs[job].running.is_some() => HALO,
        _ => 0,
    };
    let paths = drawn.edges.iter().zip(&placed.edges);
    paths
        .filter(|(_, path)| path.points.len() > 1)
        .map(|(edge, path)| {
            let into_job = drawn.nodes[edge.to].kind.is_job();
            let end = halo(edge.to);
            EdgeShape {
                d: path.d(halo(edge.from), if into_job { end + 5 } else { 0 }),
                arrow: if into_job {
                    path.arrow(end)
                } else {
                    String::new()
                },
                triggers: edge.trigger || !into_job,
                resource: edge.resource,
                ends: (edge.from, edge.to),
            }
        })
        .collect()
}

fn job_shapes<'a>(
    page: &'a PipelinePage,
    drawn: &DrawnPipeline<'_>,
    placed: &GraphLayout,
) -> Vec<JobShape<'a>> {
    let nodes = drawn.nodes.iter().zip(&placed.nodes).enumerate();
    let jobs = nodes.filter_map(|(node, (graph, place))| match graph.kind {
        NodeKind::Job { job } => Some((node, page.jobs.get(job)?, place)),
        NodeKind::Resource { .. } => None,
    });
    jobs.map(|(node, job, place)| JobShape {
        job,
        node,
        x: place.x,
        y: place.y,
        width: place.width,
        name: NodeText::new(&job.name, 7.83),
    })
    .collect()
}

fn resource_shapes<'a>(
    page: &'a PipelinePage,
    drawn: &DrawnPipeline<'_>,
    placed: &GraphLayout,
) -> Vec<ResourceShape<'a>> {
    let named: HashMap<&str, &PipelineResource> = (page.resources.iter())
        .map(|resource| (resource.name.as_str(), resource))
        .collect();
    let nodes = drawn.nodes.iter().zip(&placed.nodes).enumerate();
    let resources = nodes.filter_map(|(node, (graph, place))| match graph.kind {
        NodeKind::Resource { resource } => Some((node, resource, place)),
        NodeKind::Job { .. } => None,
    });
    resources
        .map(|(node, index, place)| ResourceShape {
            resource: named.get(drawn.resources[index]).copied(),
            node,
            index,
            x: place.x,
            y: place.y,
            width: place.width,
            name: NodeText::new(drawn.resources[index], 7.22),
        })
        .collect()
}

/// Counts the failed jobs of each column.
fn failures(
    page: &PipelinePage,
    drawn: &DrawnPipeline<'_>,
    placed: &GraphLayout,
) -> Vec<FailureMark> {
    let mut columns: BTreeMap<usize, usize> = BTreeMap::new();
    for (graph, place) in drawn.nodes.iter().zip(&placed.nodes) {
        if let NodeKind::Job { job } = graph.kind
            && matches!(
                page.jobs[job].status,
                PageStatus::Failed | PageStatus::Errored
            )
        {
            *columns.entry(place.column).or_default() += 1;
        }
    }
    let marks = columns.into_iter().map(|(column, count)| {
        let column = &placed.columns[column];
        FailureMark {
            x: column.x + column.width / 2 - 26,
            count,
        }
    });
    marks.collect()
}
