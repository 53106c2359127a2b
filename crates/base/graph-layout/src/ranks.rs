//! Columns of nodes: the longest path over jobs, then each resource next to its consumers.

use crate::graph::{GraphEdge, GraphNode};

/// The column of each node, and which edges run backwards.
pub(crate) struct Ranks {
    pub(crate) column: Vec<usize>,
    pub(crate) columns: usize,
    pub(crate) backward: Vec<bool>,
}

/// Lists of edges by node, in the order of the edges.
pub(crate) struct Adjacency {
    starts: Vec<usize>,
    items: Vec<usize>,
}

impl Adjacency {
    /// Groups the numbers `0..keys.len()` by their key; `None` is left out.
    pub(crate) fn group(size: usize, keys: impl Iterator<Item = Option<usize>> + Clone) -> Self {
        let mut starts = vec![0; size + 1];
        for key in keys.clone().flatten() {
            starts[key + 1] += 1;
        }
        for index in 0..size {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut items = vec![0; starts[size]];
        for (number, key) in keys.enumerate() {
            if let Some(key) = key {
                items[next[key]] = number;
                next[key] += 1;
            }
        }
        Adjacency { starts, items }
    }

    pub(crate) fn of(&self, key: usize) -> &[usize] {
        &self.items[self.starts[key]..self.starts[key + 1]]
    }
}

/// Finds the edges that close a cycle, by a search in depth in the order of the lists.
///
/// Edges with unknown ends count as backward; no later step follows them.
pub(crate) fn backward_edges(size: usize, ends: &[(usize, usize)]) -> Vec<bool> {
    let known = |&(from, to): &(usize, usize)| (from < size && to < size).then_some(from);
    let out = Adjacency::group(size, ends.iter().map(known));
    let mut backward: Vec<bool> = ends.iter().map(|ends| known(ends).is_none()).collect();
    let (mut open, mut seen) = (vec![false; size], vec![false; size]);
    let mut stack = Vec::new();
    for root in 0..size {
        if seen[root] {
            continue;
        }
        (open[root], seen[root]) = (true, true);
        stack.push((root, 0));
        while let Some((node, position)) = stack.pop() {
            let Some(&edge) = out.of(node).get(position) else {
                open[node] = false;
                continue;
            };
            stack.push((node, position + 1));
            let next = ends[edge].1;
            if open[next] {
                backward[edge] = true;
            } else if !seen[next] {
                (open[next], seen[next]) = (true, true);
                stack.push((next, 0));
            }
        }
    }
    backward
}

/// Returns the nodes so that each comes after all sources of its edges, leaving out backward edges.
fn topological(size: usize, edges: &[GraphEdge], backward: &[bool], out: &Adjacency) -> Vec<usize> {
    let mut waiting = vec![0usize; size];
    for (edge, _) in edges.iter().zip(backward).filter(|(_, back)| !**back) {
        waiting[edge.to] += 1;
    }
    let mut order: Vec<usize> = (0..size).filter(|&node| waiting[node] == 0).collect();
    let mut done = 0;
    while let Some(&node) = order.get(done) {
        done += 1;
        for &edge in out.of(node) {
            let next = edges[edge].to;
            waiting[next] -= 1;
            if waiting[next] == 0 {
                order.push(next);
            }
        }
    }
    order
}

/// Distance of two linked nodes. Jobs keep odd ranks and resources even ones, so no column mixes
/// them.
fn step(nodes: &[GraphNode], edge: &GraphEdge) -> usize {
    if nodes[edge.from].kind.is_job() == nodes[edge.to].kind.is_job() {
        2
    } else {
        1
    }
}

pub(crate) fn rank_nodes(nodes: &[GraphNode], edges: &[GraphEdge]) -> Ranks {
    let ends: Vec<_> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let backward = backward_edges(nodes.len(), &ends);
    let forward = edges
        .iter()
        .zip(&backward)
        .map(|(edge, back)| (!back).then_some(edge.from));
    let out = Adjacency::group(nodes.len(), forward);
    let order = topological(nodes.len(), edges, &backward, &out);
    let mut rank: Vec<usize> = nodes
        .iter()
        .map(|node| usize::from(node.kind.is_job()))
        .collect();
    for &node in &order {
        for &edge in out.of(node) {
            let next = edges[edge].to;
            rank[next] = rank[next].max(rank[node] + step(nodes, &edges[edge]));
        }
    }
    for &node in order
        .iter()
        .rev()
        .filter(|&&node| !nodes[node].kind.is_job())
    {
        let latest = out
            .of(node)
            .iter()
            .map(|&edge| rank[edges[edge].to] - step(nodes, &edges[edge]));
        if let Some(latest) = latest.min() {
            rank[node] = latest;
        }
    }
    let mut used = rank.clone();
    used.sort_unstable();
    used.dedup();
    let column = rank
        .iter()
        .map(|rank| used.binary_search(rank).unwrap_or_default())
        .collect();
    Ranks {
        column,
        columns: used.len(),
        backward,
    }
}
