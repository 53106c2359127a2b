//! Heights: each vertex near the middle of its neighbours, without overlaps, on a grid of [`UNIT`]
//! pixels.
//!
//! A column is placed at once: the nearest heights to those wished that keep order and distances
//! are found by joining neighbours that push each other into blocks (regression under order), which
//! is linear. Passes run in both directions; then vertices move to be level with a neighbour where
//! they have room.

use crate::graph::{GraphNode, NodeKind};
use crate::layers::Layers;
use crate::level::level_links;
use crate::order::Ordered;

/// Distance of rows: jobs of 48 px are 8 units apart, resources of 28 px are 4.
pub(crate) const UNIT: i32 = 14;

const JOB_GAP: i32 = 64;
const RESOURCE_GAP: i32 = 28;
const MIXED_GAP: i32 = 46;
/// Between a node and an edge that passes it.
const EDGE_GAP: i32 = 14;
pub(crate) const MAX_SIZE: i32 = 4_096;

/// Centres of all vertices in pixels, and the height of the whole.
pub(crate) struct Heights {
    pub(crate) centre: Vec<i32>,
    pub(crate) height: i32,
}

pub(crate) fn place_rows(nodes: &[GraphNode], layers: &Layers, ordered: &Ordered) -> Heights {
    let mut rows = Rows::new(nodes, layers, ordered);
    for pass in 0..4 {
        rows.align(pass % 2 == 0, false);
    }
    for pass in 0..6 {
        rows.align(pass % 2 == 0, true);
    }
    for pass in 0..6 {
        rows.straighten(pass % 2 == 0);
    }
    level_links(&mut rows);
    rows.finish(nodes)
}

/// Rows of all vertices while they are searched.
pub(crate) struct Rows<'a> {
    pub(crate) layers: &'a Layers,
    ordered: &'a Ordered,
    /// Centre of each vertex in units.
    pub(crate) row: Vec<i64>,
    /// Least distance of each vertex from the one above it in its column.
    pub(crate) distance: Vec<i64>,
    /// The vertices above and below each vertex.
    pub(crate) above: Vec<Option<usize>>,
    pub(crate) below: Vec<Option<usize>>,
}

impl<'a> Rows<'a> {
    fn new(nodes: &[GraphNode], layers: &'a Layers, ordered: &'a Ordered) -> Self {
        let size = layers.column.len();
        let mut rows = Rows {
            layers,
            ordered,
            row: vec![0; size],
            distance: vec![0; size],
            above: vec![None; size],
            below: vec![None; size],
        };
        for column in &ordered.columns {
            for pair in column.windows(2) {
                let (upper, lower) = (pair[0], pair[1]);
                rows.distance[lower] = distance(nodes.get(upper), nodes.get(lower));
                rows.row[lower] = rows.row[upper] + rows.distance[lower];
                rows.above[lower] = Some(upper);
                rows.below[upper] = Some(lower);
            }
        }
        rows
    }

    pub(crate) fn added(&self, vertex: usize) -> bool {
        vertex >= self.layers.nodes
    }

    /// Neighbours at the left, then at the right.
    pub(crate) fn sides(&self, vertex: usize) -> (&[u32], &[u32]) {
        (self.ordered.left.of(vertex), self.ordered.right.of(vertex))
    }

    /// Places all columns in turn by their neighbours at one side, or at both.
    fn align(&mut self, rightward: bool, both: bool) {
        let numbers = 0..self.ordered.columns.len();
        let numbers: Vec<usize> = if rightward {
            numbers.collect()
        } else {
            numbers.rev().collect()
        };
        for number in numbers {
            let column = &self.ordered.columns[number];
            let wishes: Vec<(f64, f64)> = column
                .iter()
                .map(|&vertex| self.wish(vertex, rightward, both))
                .collect();
            self.settle(number, &wishes);
        }
    }

    /// The wished height of a vertex and the weight of the wish.
    fn wish(&self, vertex: usize, rightward: bool, both: bool) -> (f64, f64) {
        let (left, right) = self.sides(vertex);
        let (near, far) = if rightward {
            (left, right)
        } else {
            (right, left)
        };
        let mut heights: Vec<i64> = near.iter().map(|&other| self.row[other as usize]).collect();
        let lonely = heights.is_empty();
        if both || lonely {
            heights.extend(far.iter().map(|&other| self.row[other as usize]));
        }
        if heights.is_empty() {
            return (self.row[vertex] as f64, 0.05);
        }
        heights.sort_unstable();
        let middle = heights.len() / 2;
        let wish = match heights.len() % 2 {
            1 => heights[middle] as f64,
            _ => (heights[middle - 1] + heights[middle]) as f64 / 2.0,
        };
        // Long edges are straight before anything else is; who has one neighbour follows more than
        // leads.
        let weight = match (self.added(vertex), lonely) {
            (true, _) => 4.0,
            (false, true) => 0.3,
            (false, false) => 1.0,
        };
        (wish, weight)
    }

    /// Moves a column to the heights nearest to its wishes that keep order and distances.
    fn settle(&mut self, number: usize, wishes: &[(f64, f64)]) {
        struct Block {
            height: f64,
            weight: f64,
            members: usize,
        }
        let mut blocks: Vec<Block> = Vec::new();
        let mut offset = 0;
        let column = &self.ordered.columns[number];
        for (&vertex, &(wish, weight)) in column.iter().zip(wishes) {
            offset += self.distance[vertex];
            let mut block = Block {
                height: wish - offset as f64,
                weight,
                members: 1,
            };
            while let Some(last) = blocks.pop_if(|last| last.height >= block.height) {
                let weight = last.weight + block.weight;
                block.height = (last.height * last.weight + block.height * block.weight) / weight;
                block.weight = weight;
                block.members += last.members;
            }
            blocks.push(block);
        }
        let (mut offset, mut vertices) = (0, column.iter());
        for block in blocks {
            // Blocks ascend, and so do their rounded heights: distances stay.
            let height = block.height.round() as i64;
            for &vertex in vertices.by_ref().take(block.members) {
                offset += self.distance[vertex];
                self.row[vertex] = height + offset;
            }
        }
    }

    /// Moves each vertex level with a neighbour if it has room and more of its edges become
    /// straight.
    fn straighten(&mut self, rightward: bool) {
        let numbers = 0..self.ordered.columns.len();
        let numbers: Vec<usize> = if rightward {
            numbers.collect()
        } else {
            numbers.rev().collect()
        };
        for number in numbers {
            let column = &self.ordered.columns[number];
            for index in 0..column.len() {
                let vertex = if rightward {
                    column[index]
                } else {
                    column[column.len() - 1 - index]
                };
                self.straighten_one(vertex);
            }
        }
    }

    fn straighten_one(&mut self, vertex: usize) {
        /// Neighbours that are tried; more would not make a line straighter.
        const TRIED: usize = 12;
        let least = self.above[vertex].map(|above| self.row[above] + self.distance[vertex]);
        let most = self.below[vertex].map(|below| self.row[below] - self.distance[below]);
        let room = least.unwrap_or(i64::MIN)..=most.unwrap_or(i64::MAX);
        let (left, right) = self.sides(vertex);
        let others = left.iter().take(TRIED).chain(right.iter().take(TRIED));
        let others: Vec<(i64, i64)> = others
            .map(|&other| other as usize)
            .map(|other| {
                (
                    self.row[other],
                    if self.added(vertex) && self.added(other) {
                        4
                    } else {
                        1
                    },
                )
            })
            .collect();
        let level = |row: i64| {
            others
                .iter()
                .filter(|other| other.0 == row)
                .map(|other| other.1)
                .sum::<i64>()
        };
        let row = self.row[vertex];
        let mut best = (level(row), 0, row);
        for &(wish, _) in others.iter().filter(|other| room.contains(&other.0)) {
            best = best.max((level(wish), -(wish - row).abs(), wish));
        }
        if best.0 > level(row) {
            self.row[vertex] = best.2;
        }
    }

    fn finish(self, nodes: &[GraphNode]) -> Heights {
        let half = |vertex: usize| nodes.get(vertex).map_or(0, |node| size(node.height) / 2);
        let unit = i64::from(UNIT);
        let tops = self
            .row
            .iter()
            .enumerate()
            .map(|(vertex, row)| row * unit - i64::from(half(vertex)));
        let top = tops.min().unwrap_or(0);
        // Rows are at most the sum of all distances, which fits for as many vertices as `layers`
        // allows.
        let pixels = |row: &i64| i32::try_from(row * unit - top).unwrap_or(i32::MAX / 2);
        let centre: Vec<i32> = self.row.iter().map(pixels).collect();
        let bottoms = centre.iter().enumerate().map(|(vertex, centre)| {
            centre
                + nodes
                    .get(vertex)
                    .map_or(0, |node| size(node.height) - half(vertex))
        });
        let height = bottoms.max().unwrap_or(0);
        Heights { centre, height }
    }
}

/// Returns a size within its bounds.
pub(crate) fn size(pixels: i32) -> i32 {
    pixels.clamp(0, MAX_SIZE)
}

/// The least distance of the centres of two vertices of a column, in units; `None` is an added
/// vertex.
fn distance(upper: Option<&GraphNode>, lower: Option<&GraphNode>) -> i64 {
    let height = |node: Option<&GraphNode>| node.map_or(0, |node| size(node.height));
    let gap = match (upper.map(|node| node.kind), lower.map(|node| node.kind)) {
        (Some(NodeKind::Job { .. }), Some(NodeKind::Job { .. })) => JOB_GAP,
        (Some(NodeKind::Resource { .. }), Some(NodeKind::Resource { .. })) => RESOURCE_GAP,
        (Some(_), Some(_)) => MIXED_GAP,
        _ => EDGE_GAP,
    };
    // Halves are rounded up on both sides, since odd heights are not halved evenly.
    let halves = (height(upper) + 1) / 2 + (height(lower) + 1) / 2;
    i64::from((halves + gap + UNIT - 1) / UNIT)
}
