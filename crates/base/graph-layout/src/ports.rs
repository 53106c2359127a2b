//! Heights at which edges enter nodes: resources in their middle, jobs 12 px apart in the order of
//! the sources.

use std::collections::HashMap;

use crate::graph::GraphNode;
use crate::layers::{Chain, Layers};
use crate::place::{Heights, size};

/// Distance of two edges that enter a job, and their distance from its corners.
const PORT_DISTANCE: i32 = 12;
const PORT_MARGIN: i32 = 4;

/// The height at which the edges of one source enter a node, by the last vertex before the node and
/// the node.
pub(crate) struct Ports {
    heights: HashMap<(usize, usize), i32>,
}

impl Ports {
    pub(crate) fn assign(nodes: &[GraphNode], layers: &Layers, heights: &Heights) -> Self {
        let mut sources: Vec<Vec<(i32, usize)>> = vec![Vec::new(); nodes.len()];
        for chain in &layers.chains {
            if let Some((height, before, node)) = entry(chain, heights) {
                sources[node].push((height, before));
            }
        }
        let mut ports = HashMap::new();
        for (node, mut sources) in sources.into_iter().enumerate() {
            sources.sort_unstable();
            sources.dedup();
            let centre = heights.centre[node];
            let entries = if nodes[node].kind.is_job() {
                entries(&sources, centre, size(nodes[node].height))
            } else {
                vec![centre; sources.len()]
            };
            ports.extend(
                sources
                    .iter()
                    .zip(entries)
                    .map(|(source, height)| ((source.1, node), height)),
            );
        }
        Ports { heights: ports }
    }

    pub(crate) fn height(&self, before: usize, node: usize) -> Option<i32> {
        self.heights.get(&(before, node)).copied()
    }
}

/// The height from which a chain comes to its target, the last vertex before it, and the target.
fn entry(chain: &Chain, heights: &Heights) -> Option<(i32, usize, usize)> {
    match chain {
        Chain::Nothing => None,
        Chain::Forward(chain) | Chain::Backward(chain) => match chain[..] {
            [.., before, node] => Some((heights.centre[before], before, node)),
            _ => None,
        },
        // It comes down from above all nodes.
        Chain::Above { from, to, .. } => Some((i32::MIN, *from, *to)),
    }
}

/// Spreads entries around the middle of a job; one whose source is level with the job gets the
/// middle.
fn entries(sources: &[(i32, usize)], centre: i32, height: i32) -> Vec<i32> {
    let count = sources.len() as i32;
    let room = (height / 2 - PORT_MARGIN).max(0);
    let level = sources
        .iter()
        .position(|source| source.0 == centre)
        .map(|index| index as i32);
    (0..count)
        .map(|index| match level {
            Some(level) => {
                centre
                    + spread(
                        index - level,
                        level.max(count - 1 - level),
                        PORT_DISTANCE,
                        room,
                    )
            }
            // Half distances, so that an even number lies around the middle.
            None => centre + spread(2 * index - (count - 1), count - 1, PORT_DISTANCE / 2, room),
        })
        .collect()
}

/// The offset of a step when `most` steps must stay within `room`.
fn spread(step: i32, most: i32, distance: i32, room: i32) -> i32 {
    match most.checked_mul(distance) {
        Some(needed) if needed <= room => step * distance,
        _ => (i64::from(step) * i64::from(room) / i64::from(most)) as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::entries;

    fn at(sources: &[i32]) -> Vec<i32> {
        let sources: Vec<(i32, usize)> = sources.iter().copied().zip(0..).collect();
        entries(&sources, 100, 48)
    }

    #[test]
    fn entries_are_12_apart_and_level_ones_are_straight() {
        assert_eq!(at(&[7]), [100]);
        assert_eq!(at(&[40, 140]), [94, 106]);
        assert_eq!(at(&[40, 100]), [88, 100]);
        assert_eq!(at(&[40, 90, 140]), [88, 100, 112]);
        assert_eq!(at(&[100, 140, 150]), [100, 110, 120]);
        assert_eq!(at(&[]), [0; 0]);
    }

    #[test]
    fn many_entries_stay_within_the_job() {
        let sources: Vec<i32> = (0..500).collect();
        let entries = at(&sources);
        assert!(entries.is_sorted());
        assert!(entries.iter().all(|entry| (80..=120).contains(entry)));
    }
}
