//! The graph by columns: edges over several columns get a vertex in each column between.

use std::collections::HashMap;

use crate::graph::{GraphEdge, GraphNode};
use crate::ranks::Ranks;

/// Columns that all edges together may cross, and vertices that may be added. Edges beyond pass
/// above the graph.
const MAX_SPANS: usize = 150_000;
const MAX_ADDED: usize = 40_000;

/// A vertex of a layered graph is a node (by its index), or one that was added for a long edge.
pub(crate) struct Layers {
    pub(crate) nodes: usize,
    /// True for nodes that are jobs.
    pub(crate) jobs: Vec<bool>,
    /// Column of each vertex.
    pub(crate) column: Vec<usize>,
    pub(crate) columns: usize,
    /// Links between neighbouring columns, from left to right, each once.
    pub(crate) links: Vec<(usize, usize)>,
    /// Vertices of each edge, in the direction of the edge, ends included.
    pub(crate) chains: Vec<Chain>,
}

/// The way of an edge through the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    /// One end is unknown: nothing is drawn.
    Nothing,
    /// Source, added vertices, target; each one column further.
    Forward(Vec<usize>),
    /// Source, added vertices from the source's column to the target's column, target.
    Backward(Vec<usize>),
    /// Source and target; the way between them is above all nodes.
    Above {
        from: usize,
        to: usize,
        backward: bool,
    },
}

struct Builder<'a> {
    ranks: &'a Ranks,
    column: Vec<usize>,
    links: Vec<(usize, usize)>,
    linked: HashMap<(usize, usize), ()>,
    /// The vertex that continues all long edges of a node or added vertex.
    onward: HashMap<usize, usize>,
    spans: usize,
}

impl Layers {
    pub(crate) fn build(nodes: &[GraphNode], edges: &[GraphEdge], ranks: &Ranks) -> Self {
        let mut builder = Builder {
            ranks,
            column: ranks.column.clone(),
            links: Vec::new(),
            linked: HashMap::new(),
            onward: HashMap::new(),
            spans: 0,
        };
        let mut chains = vec![Chain::Nothing; edges.len()];
        // Short edges first: if the bounds are met, the longest edges go above.
        let known = |edge: &GraphEdge| edge.from < nodes.len() && edge.to < nodes.len();
        let mut order: Vec<usize> = (0..edges.len())
            .filter(|&edge| known(&edges[edge]))
            .collect();
        order.sort_by_key(|&edge| {
            ranks.column[edges[edge].from].abs_diff(ranks.column[edges[edge].to])
        });
        for edge in order {
            chains[edge] = builder.chain(&edges[edge], ranks.backward[edge], nodes.len());
        }
        let Builder {
            column, mut links, ..
        } = builder;
        links.sort_unstable();
        let mut jobs: Vec<bool> = nodes.iter().map(|node| node.kind.is_job()).collect();
        jobs.resize(column.len(), false);
        Layers {
            nodes: nodes.len(),
            jobs,
            column,
            columns: ranks.columns,
            links,
            chains,
        }
    }
}

impl Builder<'_> {
    fn chain(&mut self, edge: &GraphEdge, backward: bool, nodes: usize) -> Chain {
        let (from, to) = (self.ranks.column[edge.from], self.ranks.column[edge.to]);
        let span = from.abs_diff(to) + 1;
        let full = self.spans + span > MAX_SPANS || self.column.len() - nodes + span > MAX_ADDED;
        if full && (backward || span > 2) {
            return Chain::Above {
                from: edge.from,
                to: edge.to,
                backward,
            };
        }
        self.spans += span;
        if backward {
            self.backward_chain(edge, from, to)
        } else {
            self.forward_chain(edge, from, to)
        }
    }

    fn forward_chain(&mut self, edge: &GraphEdge, from: usize, to: usize) -> Chain {
        let mut chain = vec![edge.from];
        let mut last = edge.from;
        for column in from + 1..to {
            let next = match self.onward.get(&last) {
                Some(&next) => next,
                None => {
                    let next = self.add(column);
                    self.onward.insert(last, next);
                    next
                }
            };
            self.link(last, next);
            chain.push(next);
            last = next;
        }
        self.link(last, edge.to);
        chain.push(edge.to);
        Chain::Forward(chain)
    }

    /// A backward edge leaves its source to the right, turns, and runs left; the ends share columns
    /// with vertices.
    fn backward_chain(&mut self, edge: &GraphEdge, from: usize, to: usize) -> Chain {
        let mut chain = vec![edge.from];
        for column in (to..=from).rev() {
            let next = self.add(column);
            if column < from {
                let last = chain[chain.len() - 1];
                self.link(next, last);
            }
            chain.push(next);
        }
        chain.push(edge.to);
        Chain::Backward(chain)
    }

    fn add(&mut self, column: usize) -> usize {
        self.column.push(column);
        self.column.len() - 1
    }

    fn link(&mut self, left: usize, right: usize) {
        if self.linked.insert((left, right), ()).is_none() {
            self.links.push((left, right));
        }
    }
}
