//! The points of edges: level through columns, up or down between them.

use crate::graph::{ColumnBox, EdgePath, GraphEdge, GraphLayout, GraphNode, NodeBox, PathPoint};
use crate::layers::{Chain, Layers};
use crate::order::Ordered;
use crate::place::{Heights, size};
use crate::ports::Ports;
use crate::tracks::{NetKey, Tracks};

/// Heights above all nodes at which edges pass that had no room between them.
const LANES: usize = 8;
const LANE_DISTANCE: i32 = 8;
const LANE_MARGIN: i32 = 16;

/// A change of height in a gap: the number of its vertical line, and where it goes.
struct Hop {
    gap: usize,
    net: usize,
    from: i32,
    to: i32,
}

struct Router<'a> {
    nodes: &'a [GraphNode],
    edges: &'a [GraphEdge],
    layers: &'a Layers,
    ordered: &'a Ordered,
    heights: &'a Heights,
    ports: Ports,
    tracks: Tracks,
}

pub(crate) fn route_edges(
    nodes: &[GraphNode],
    edges: &[GraphEdge],
    layers: &Layers,
    heights: &Heights,
    ordered: &Ordered,
) -> GraphLayout {
    let ports = Ports::assign(nodes, layers, heights);
    let tracks = Tracks::new(layers.columns + 1);
    let mut router = Router {
        nodes,
        edges,
        layers,
        ordered,
        heights,
        ports,
        tracks,
    };
    let hops: Vec<Vec<Hop>> = (0..edges.len()).map(|edge| router.hops(edge)).collect();
    let (columns, gaps, width) = router.columns();
    let above = layers
        .chains
        .iter()
        .any(|chain| matches!(chain, Chain::Above { .. }));
    let top = if above {
        LANE_MARGIN + LANES as i32 * LANE_DISTANCE
    } else {
        0
    };
    let boxes = nodes.iter().enumerate().map(|(node, shape)| {
        let (column, height) = (layers.column[node], size(shape.height));
        let ColumnBox { x, width } = columns[column];
        NodeBox {
            x,
            y: top + heights.centre[node] - height / 2,
            width,
            height,
            column,
        }
    });
    let nodes = boxes.collect();
    let paths = hops
        .iter()
        .enumerate()
        .map(|(edge, hops)| router.path(edge, hops, &columns, &gaps, top));
    let edges = paths.collect();
    let height = heights.height + top;
    GraphLayout {
        nodes,
        edges,
        columns,
        width,
        height,
        crossings: ordered.crossings,
        work: ordered.work,
    }
}

impl Router<'_> {
    fn hops(&mut self, edge: usize) -> Vec<Hop> {
        let layers = self.layers;
        match &layers.chains[edge] {
            Chain::Nothing => Vec::new(),
            Chain::Forward(chain) => self.forward(edge, chain),
            Chain::Backward(chain) => self.backward(edge, chain),
            Chain::Above { from, to, .. } => self.above(edge, *from, *to),
        }
    }

    /// The height at which a link enters its right end.
    fn entry(&self, before: usize, vertex: usize) -> i32 {
        self.ports
            .height(before, vertex)
            .unwrap_or(self.heights.centre[vertex])
    }

    fn hop(&mut self, gap: usize, key: NetKey, from: i32, to: i32) -> Hop {
        // A level hop needs no line, but its number must exist.
        let net = if from == to {
            usize::MAX
        } else {
            self.tracks.join(gap, key, &[from], &[to])
        };
        Hop { gap, net, from, to }
    }

    fn forward(&mut self, edge: usize, chain: &[usize]) -> Vec<Hop> {
        let mut hops = Vec::with_capacity(chain.len());
        for pair in chain.windows(2) {
            let (left, right) = (pair[0], pair[1]);
            let key = self.shared(left, right, self.edges[edge].trigger);
            let (from, to) = (self.heights.centre[left], self.entry(left, right));
            hops.push(self.hop(self.layers.column[right], key, from, to));
        }
        hops
    }

    /// Which hops share the line of a link: those into a resource from vertices that go nowhere
    /// else, or those that leave a vertex.
    fn shared(&self, left: usize, right: usize, trigger: bool) -> NetKey {
        let added = right >= self.layers.nodes;
        let solid = trigger || added;
        let joins = self.ordered.left.of(right).len() > 1 && self.ordered.right.of(left).len() == 1;
        if !added && !self.nodes[right].kind.is_job() && joins {
            NetKey::Into {
                vertex: right,
                solid,
            }
        } else {
            NetKey::From {
                vertex: left,
                solid,
            }
        }
    }

    fn backward(&mut self, edge: usize, chain: &[usize]) -> Vec<Hop> {
        let mut hops = Vec::with_capacity(chain.len());
        let last = chain.len() - 2;
        for (part, pair) in chain.windows(2).enumerate() {
            let (right, left) = (pair[0], pair[1]);
            let (from, key) = (self.heights.centre[right], NetKey::Own { edge, part });
            let hop = match part {
                0 => {
                    let (gap, to) = (self.layers.column[right] + 1, self.heights.centre[left]);
                    Hop {
                        gap,
                        net: self.tracks.join(gap, key, &[from, to], &[]),
                        from,
                        to,
                    }
                }
                part if part == last => {
                    let (gap, to) = (self.layers.column[left], self.entry(right, left));
                    Hop {
                        gap,
                        net: self.tracks.join(gap, key, &[], &[from, to]),
                        from,
                        to,
                    }
                }
                _ => {
                    let (gap, to) = (self.layers.column[right], self.heights.centre[left]);
                    let net = self.tracks.join(gap, key, &[to], &[from]);
                    Hop { gap, net, from, to }
                }
            };
            hops.push(hop);
        }
        hops
    }

    fn above(&mut self, edge: usize, from: usize, to: usize) -> Vec<Hop> {
        let lane = -LANE_MARGIN - (edge % LANES) as i32 * LANE_DISTANCE;
        let (out, into) = (self.layers.column[from] + 1, self.layers.column[to]);
        let (start, end) = (self.heights.centre[from], self.entry(from, to));
        let up = self
            .tracks
            .join(out, NetKey::Own { edge, part: 0 }, &[start], &[lane]);
        let down = self
            .tracks
            .join(into, NetKey::Own { edge, part: 1 }, &[lane], &[end]);
        vec![
            Hop {
                gap: out,
                net: up,
                from: start,
                to: lane,
            },
            Hop {
                gap: into,
                net: down,
                from: lane,
                to: end,
            },
        ]
    }

    /// Columns, the left end of each gap, and the width of all.
    fn columns(&mut self) -> (Vec<ColumnBox>, Vec<i32>, i32) {
        let mut widths = vec![0; self.layers.columns];
        let mut jobs = vec![false; self.layers.columns + 1];
        for (node, shape) in self.nodes.iter().enumerate() {
            let column = self.layers.column[node];
            widths[column] = size(shape.width).max(widths[column]);
            jobs[column] |= shape.kind.is_job();
        }
        let (mut columns, mut gaps, mut x) = (Vec::new(), Vec::new(), 0);
        for (gap, &before_jobs) in jobs.iter().enumerate() {
            gaps.push(x);
            let outer = gap == 0 || gap == self.layers.columns;
            x += self.tracks.settle(gap, outer, before_jobs);
            if let Some(&width) = widths.get(gap) {
                columns.push(ColumnBox { x, width });
                x += width;
            }
        }
        (columns, gaps, x)
    }

    fn path(
        &self,
        edge: usize,
        hops: &[Hop],
        columns: &[ColumnBox],
        gaps: &[i32],
        top: i32,
    ) -> EdgePath {
        let (Some(first), Some(last)) = (hops.first(), hops.last()) else {
            return EdgePath::default();
        };
        let (from, to) = (self.edges[edge].from, self.edges[edge].to);
        let (source, target) = (
            columns[self.layers.column[from]],
            columns[self.layers.column[to]],
        );
        let mut points = vec![PathPoint {
            x: source.x + source.width,
            y: first.from + top,
        }];
        for hop in hops.iter().filter(|hop| hop.from != hop.to) {
            let x = gaps[hop.gap] + self.tracks.x(hop.gap, hop.net);
            points.push(PathPoint {
                x,
                y: hop.from + top,
            });
            points.push(PathPoint { x, y: hop.to + top });
        }
        points.push(PathPoint {
            x: target.x,
            y: last.to + top,
        });
        let chain = &self.layers.chains[edge];
        let backward = matches!(
            chain,
            Chain::Backward(_) | Chain::Above { backward: true, .. }
        );
        EdgePath { points, backward }
    }
}
