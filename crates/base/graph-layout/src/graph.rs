//! Plain data: the graph that goes in and the geometry that comes out, in whole pixels.

/// The kind of a node, with its index in the caller's list of jobs or resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A job; edges enter it 12 px apart.
    Job { job: usize },
    /// A resource at one place; equal indices light up together.
    Resource { resource: usize },
}

impl NodeKind {
    /// Returns true for a job.
    pub fn is_job(self) -> bool {
        matches!(self, NodeKind::Job { .. })
    }
}

/// A node to place. Sizes are at most 4,096 px; larger ones are cut to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphNode {
    pub kind: NodeKind,
    pub width: i32,
    pub height: i32,
}

/// An edge between two nodes, by their indices in the list of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    pub from: usize,
    pub to: usize,
    /// True if new versions trigger the consumer: drawn solid, otherwise dashed.
    pub trigger: bool,
    /// Index of the resource that travels along the edge.
    pub resource: usize,
}

/// The rectangle of a node. Its width is the width of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeBox {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
    /// Index in [`GraphLayout::columns`].
    pub column: usize,
}

/// A column of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnBox {
    pub x: i32,
    pub width: i32,
}

/// A point of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPoint {
    pub x: i32,
    pub y: i32,
}

/// The corners of an edge, from the right side of its source to the left side of its target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgePath {
    pub points: Vec<PathPoint>,
    /// True if the edge closes a cycle and therefore runs from right to left.
    pub backward: bool,
}

/// Places and paths of a graph; the indices are those of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLayout {
    pub nodes: Vec<NodeBox>,
    pub edges: Vec<EdgePath>,
    pub columns: Vec<ColumnBox>,
    pub width: i32,
    pub height: i32,
    /// Crossings between neighbouring columns, before edges turn.
    pub crossings: u64,
    /// Steps that the search for a good order took: a measure of work that no clock disturbs.
    pub work: u64,
}

impl GraphLayout {
    pub(crate) fn empty(edges: usize) -> Self {
        GraphLayout {
            nodes: Vec::new(),
            edges: vec![EdgePath::default(); edges],
            columns: Vec::new(),
            width: 0,
            height: 0,
            crossings: 0,
            work: 0,
        }
    }
}
