//! Places the jobs and resources of a pipeline in columns, and routes the edges between them.
//!
//! [`draw_pipeline`] turns jobs with inputs and outputs into the nodes and edges that Concourse
//! draws. [`layout`] gives each node a rectangle and each edge a path with right angles. Equal
//! input gives equal output, byte for byte: nothing depends on a clock, on hashes or on threads,
//! and the work is bounded by counts. The steps, each in its own file:
//!
//! 1. `ranks`: edges that close a cycle are set aside; jobs go as far left as their inputs allow,
//!    resources next to their consumers.
//! 2. `layers`: an edge over several columns gets a bend point in each; edges of one source share
//!    them.
//! 3. `order`, `crossings`: medians and transposition find an order in each column with few
//!    crossings.
//! 4. `place`, `level`: heights that make edges level, without overlaps, on a grid of 14 px.
//! 5. `ports`, `tracks`, `route`: where edges enter jobs, where they turn between columns, their
//!    points.

mod crossings;
mod graph;
mod layers;
mod level;
mod order;
mod path;
mod pipeline;
mod place;
mod ports;
mod ranks;
mod route;
mod tracks;

pub use graph::{
    ColumnBox, EdgePath, GraphEdge, GraphLayout, GraphNode, NodeBox, NodeKind, PathPoint,
};
pub use pipeline::{DrawnInput, DrawnJob, DrawnPipeline, draw_pipeline, job_width, resource_width};

use layers::Layers;

/// Lays out a graph: places for all nodes, paths for all edges.
///
/// Order of configuration is the order of the lists, and it decides between equals. An edge whose
/// end is not in the list of nodes gets an empty path. Edges that close a cycle are drawn
/// backwards, around the nodes between their ends.
pub fn layout(nodes: &[GraphNode], edges: &[GraphEdge]) -> GraphLayout {
    if nodes.is_empty() {
        return GraphLayout::empty(edges.len());
    }
    let ranks = ranks::rank_nodes(nodes, edges);
    let layers = Layers::build(nodes, edges, &ranks);
    let ordered = order::order_columns(&layers);
    let heights = place::place_rows(nodes, &layers, &ordered);
    route::route_edges(nodes, edges, &layers, &heights, &ordered)
}
