//! Checks the promises that every layout keeps.

use airside_graph_layout::{EdgePath, GraphEdge, GraphLayout, GraphNode, NodeBox, PathPoint};

/// Fails if a layout breaks a promise of the crate.
pub(crate) fn check(nodes: &[GraphNode], edges: &[GraphEdge], layout: &GraphLayout) {
    assert_eq!(
        (nodes.len(), edges.len()),
        (layout.nodes.len(), layout.edges.len())
    );
    check_boxes(nodes, layout);
    for (edge, path) in edges.iter().zip(&layout.edges) {
        if edge.from >= nodes.len() || edge.to >= nodes.len() {
            assert!(path.points.is_empty(), "an unknown end has no path");
            continue;
        }
        check_ends(&layout.nodes[edge.from], &layout.nodes[edge.to], path);
        check_lines(layout, path);
    }
}

fn check_boxes(nodes: &[GraphNode], layout: &GraphLayout) {
    for (node, place) in nodes.iter().zip(&layout.nodes) {
        let column = layout.columns[place.column];
        assert_eq!(
            (place.x, place.width, place.height),
            (column.x, column.width, node.height)
        );
        assert!(place.x >= 0 && place.x + place.width <= layout.width);
        assert!(
            place.y >= 0 && place.y + place.height <= layout.height,
            "{place:?} {}",
            layout.height
        );
    }
    for pair in layout.columns.windows(2) {
        assert!(
            pair[0].x + pair[0].width + 35 <= pair[1].x,
            "columns are 35 apart"
        );
    }
    for column in in_columns(layout) {
        for pair in column.windows(2) {
            assert!(
                pair[0].y + pair[0].height + 14 <= pair[1].y,
                "{pair:?} have room between them"
            );
        }
    }
}

/// The nodes of each column from top to bottom.
fn in_columns(layout: &GraphLayout) -> Vec<Vec<NodeBox>> {
    let mut columns = vec![Vec::new(); layout.columns.len()];
    for place in &layout.nodes {
        columns[place.column].push(*place);
    }
    for column in &mut columns {
        column.sort_by_key(|place| place.y);
    }
    columns
}

fn check_ends(from: &NodeBox, to: &NodeBox, path: &EdgePath) {
    let (first, last) = (path.points[0], path.points[path.points.len() - 1]);
    assert_eq!(
        first,
        PathPoint {
            x: from.x + from.width,
            y: from.y + from.height / 2
        }
    );
    assert!(
        last.x == to.x && (to.y..=to.y + to.height).contains(&last.y),
        "{path:?} ends at {to:?}"
    );
    assert_eq!(
        path.backward,
        to.column <= from.column,
        "all other edges go forward"
    );
    if !path.backward {
        assert!(
            path.points.is_sorted_by_key(|point| point.x),
            "{path:?} goes forward all the way"
        );
    }
}

/// Lines are level or upright, within the picture, and pass through no node.
fn check_lines(layout: &GraphLayout, path: &EdgePath) {
    for line in path.points.windows(2) {
        let (a, b) = (line[0], line[1]);
        assert!((a.x == b.x) != (a.y == b.y), "{path:?} has right angles");
        let (left, right) = (a.x.min(b.x), a.x.max(b.x));
        let (top, bottom) = (a.y.min(b.y), a.y.max(b.y));
        assert!(
            left >= 0 && top >= 0 && right <= layout.width && bottom <= layout.height,
            "{path:?}"
        );
        for place in &layout.nodes {
            let beside = right <= place.x || left >= place.x + place.width;
            let apart = bottom < place.y || top > place.y + place.height;
            assert!(beside || apart, "{path:?} passes through {place:?}");
        }
    }
}

/// Upright lines of edges without a common end do not run over each other, if gaps have room.
pub(crate) fn check_apart(edges: &[GraphEdge], layout: &GraphLayout) {
    let upright = |path: &EdgePath| -> Vec<(i32, i32, i32)> {
        let lines = path.points.windows(2).filter(|line| line[0].x == line[1].x);
        lines
            .map(|line| {
                (
                    line[0].x,
                    line[0].y.min(line[1].y),
                    line[0].y.max(line[1].y),
                )
            })
            .collect()
    };
    let lines: Vec<_> = layout.edges.iter().map(upright).collect();
    for (first, lines_of_first) in lines.iter().enumerate() {
        for (second, lines_of_second) in lines.iter().enumerate().skip(first + 1) {
            let (a, b) = (edges[first], edges[second]);
            if a.from == b.from || a.to == b.to {
                continue;
            }
            for (one, other) in lines_of_first
                .iter()
                .flat_map(|one| lines_of_second.iter().map(move |other| (one, other)))
            {
                let apart = one.0 != other.0 || one.2 < other.1 || other.2 < one.1;
                assert!(apart, "{a:?} and {b:?} share the line {one:?}, {other:?}");
            }
        }
    }
}
