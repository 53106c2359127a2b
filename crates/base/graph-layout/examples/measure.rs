//! Prints the time, work and crossings of some large graphs; with `svg`, the drawing of one as SVG.
#![allow(clippy::print_stdout)]

use airside_graph_layout::{GraphEdge, GraphNode, draw_pipeline, layout};

#[path = "../tests/support/mod.rs"]
mod support;

use support::{Names, hostile, large, web};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("svg") => print_svg(&web()),
        Some("svg-large") => print_svg(&large(&Names::new(60), 3)),
        _ => measure_all(),
    }
}

fn measure_all() {
    for (jobs, inputs) in [(14, 2), (500, 3), (500, 5), (1000, 5), (3000, 4)] {
        let names = Names::new(jobs);
        let drawn = draw_pipeline(&large(&names, inputs));
        measure(&format!("{jobs} jobs"), &drawn.nodes, &drawn.edges);
    }
    for (nodes, edges) in [
        (10_000, 5_000),
        (10_000, 30_000),
        (2_000, 60_000),
        (10_000, 100_000),
    ] {
        let (nodes, edges) = hostile(nodes, edges);
        measure("hostile", &nodes, &edges);
    }
}

/// Nanoseconds that this process was on a processor.
fn on_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|first| first.parse().ok())
        .unwrap_or(0.0)
}

fn measure(name: &str, nodes: &[GraphNode], edges: &[GraphEdge]) {
    // The best of ten, on the processor: other programs disturb the rest.
    let run = || {
        let start = on_processor();
        (layout(nodes, edges), on_processor() - start)
    };
    let (layout, mut time) = run();
    for _ in 0..9 {
        time = time.min(run().1);
    }
    println!(
        "{name}: {} nodes, {} edges, {} columns: {} x {}, {} crossings, {} work, {:.1} ms",
        nodes.len(),
        edges.len(),
        layout.columns.len(),
        layout.width,
        layout.height,
        layout.crossings,
        layout.work,
        time / 1e6
    );
}

fn print_svg(jobs: &[airside_graph_layout::DrawnJob<'_>]) {
    let drawn = draw_pipeline(jobs);
    let layout = layout(&drawn.nodes, &drawn.edges);
    println!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -12 {} {}" width="{}"><rect x="-12" y="-12" width="100%" height="100%" fill="white"/>"#,
        layout.width + 24,
        layout.height + 24,
        layout.width + 24
    );
    for (edge, path) in drawn.edges.iter().zip(&layout.edges) {
        let into_job = drawn.nodes[edge.to].kind.is_job();
        let dash = if edge.trigger {
            ""
        } else {
            r#" stroke-dasharray="3 3""#
        };
        let cut = if into_job { 5 } else { 0 };
        println!(
            r#"<path d="{}" fill="none" stroke="gray"{dash}/>"#,
            path.d(0, cut)
        );
        if into_job {
            println!(r#"<path d="{}"/>"#, path.arrow(0));
        }
    }
    for (node, place) in drawn.nodes.iter().zip(&layout.nodes) {
        let name = match node.kind {
            airside_graph_layout::NodeKind::Job { job } => jobs[job].name,
            airside_graph_layout::NodeKind::Resource { resource } => drawn.resources[resource],
        };
        println!(
            r#"<rect x="{}" y="{}" width="{}" height="{}" rx="4" fill="lightblue" stroke="black"/><text x="{}" y="{}" font-family="monospace" font-size="12">{name}</text>"#,
            place.x,
            place.y,
            place.width,
            place.height,
            place.x + 24,
            place.y + place.height / 2 + 4
        );
    }
    println!("</svg>");
}
