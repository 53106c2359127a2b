//! Turns between two columns: which vertical lines share an x, and in which order they stand.

use std::collections::HashMap;

/// The least width of a gap, the most that turns may widen it to, and the distance of two vertical
/// lines.
const GAP: i32 = 35;
const MAX_GAP: i32 = 240;
const TRACK_DISTANCE: i32 = 8;
/// Room for the corner at the left, the corner at the right, and an arrow before a job.
const MARGIN: i32 = 12;
const ARROW_MARGIN: i32 = 16;
/// Gaps with more nets are ordered by a rule instead of by counting crossings.
const MAX_COMPARED: usize = 64;
/// Cost of two lines that run over each other, in crossings.
const OVERLAP_COST: usize = 8;

/// The reason why hops share a vertical line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NetKey {
    /// All that leaves a vertex, solid and dashed apart.
    From { vertex: usize, solid: bool },
    /// All that joins before a resource.
    Into { vertex: usize, solid: bool },
    /// A part of an edge that shares nothing.
    Own { edge: usize, part: usize },
}

/// A vertical line and the heights at which horizontal ones join it at both sides.
#[derive(Default)]
struct Net {
    left: Vec<i32>,
    right: Vec<i32>,
    low: i32,
    high: i32,
    x: i32,
}

impl Net {
    fn close(&mut self) {
        for side in [&mut self.left, &mut self.right] {
            side.sort_unstable();
            side.dedup();
        }
        let all = || self.left.iter().chain(&self.right).copied();
        (self.low, self.high) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
    }

    /// Crossings and overlaps if this net stands at the left of another.
    fn cost(&self, other: &Net) -> usize {
        if self.high < other.low || other.high < self.low {
            return 0;
        }
        let overlaps = self
            .right
            .iter()
            .filter(|height| other.left.binary_search(height).is_ok())
            .count();
        within(&other.left, self) + within(&self.right, other) + OVERLAP_COST * overlaps
    }

    /// Places upward nets before downward ones, each so that parallel nets do not cross.
    fn rule(&self) -> (bool, i64) {
        let middle = |side: &[i32]| {
            side.iter().map(|&height| i64::from(height)).sum::<i64>() / side.len().max(1) as i64
        };
        let (from, to) = (middle(&self.left), middle(&self.right));
        if to < from {
            (false, from)
        } else {
            (true, -from)
        }
    }
}

fn within(heights: &[i32], net: &Net) -> usize {
    let from = heights.partition_point(|&height| height <= net.low);
    let to = heights.partition_point(|&height| height < net.high);
    to.saturating_sub(from)
}

/// All vertical lines of a graph, by gap.
pub(crate) struct Tracks {
    gaps: Vec<Vec<Net>>,
    numbers: HashMap<(usize, NetKey), usize>,
}

impl Tracks {
    pub(crate) fn new(gaps: usize) -> Self {
        Tracks {
            gaps: (0..gaps).map(|_| Vec::new()).collect(),
            numbers: HashMap::new(),
        }
    }

    /// Adds a line between heights at the left and right of a gap. Returns its number in the gap.
    pub(crate) fn join(&mut self, gap: usize, key: NetKey, left: &[i32], right: &[i32]) -> usize {
        let nets = &mut self.gaps[gap];
        let number = *self.numbers.entry((gap, key)).or_insert_with(|| {
            nets.push(Net::default());
            nets.len() - 1
        });
        nets[number].left.extend(left);
        nets[number].right.extend(right);
        number
    }

    /// The x of a line, from the left end of its gap.
    pub(crate) fn x(&self, gap: usize, number: usize) -> i32 {
        self.gaps[gap][number].x
    }

    /// Gives each line of a gap its x. Returns the width of the gap.
    pub(crate) fn settle(&mut self, gap: usize, outer: bool, before_jobs: bool) -> i32 {
        let nets = &mut self.gaps[gap];
        if nets.is_empty() {
            return if outer { 0 } else { GAP };
        }
        nets.iter_mut().for_each(Net::close);
        let order = order(nets);
        let tracks = assign(nets, &order);
        let count = tracks.iter().max().map_or(1, |last| last + 1) as i32;
        let right = if before_jobs { ARROW_MARGIN } else { MARGIN };
        let between = count.saturating_sub(1).saturating_mul(TRACK_DISTANCE);
        let width = between.saturating_add(MARGIN + right).clamp(GAP, MAX_GAP);
        let room = width - MARGIN - right;
        let used = between.min(room);
        let start = MARGIN + (room - used) / 2;
        for (net, track) in nets.iter_mut().zip(tracks) {
            net.x = start + (i64::from(used) * track as i64 / i64::from((count - 1).max(1))) as i32;
        }
        width
    }
}

/// The order of nets from left to right.
fn order(nets: &[Net]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nets.len()).collect();
    order.sort_by_key(|&net| nets[net].rule());
    if nets.len() > MAX_COMPARED {
        return order;
    }
    let mut placed: Vec<usize> = Vec::with_capacity(order.len());
    for net in order {
        // The cost at the left end, then what each step to the right changes.
        let at_left: Vec<i64> = placed
            .iter()
            .map(|&other| nets[net].cost(&nets[other]) as i64)
            .collect();
        let mut cost: i64 = at_left.iter().sum();
        let mut best = (cost, 0);
        for (place, &other) in placed.iter().enumerate() {
            cost += nets[other].cost(&nets[net]) as i64 - at_left[place];
            if cost <= best.0 {
                best = (cost, place + 1);
            }
        }
        placed.insert(best.1, net);
    }
    placed
}

/// Gives each net the leftmost track at the right of all earlier nets that it would touch.
fn assign(nets: &[Net], order: &[usize]) -> Vec<usize> {
    /// Slots of the height; in tall gaps a slot is higher than a line is wide.
    const SLOTS: i64 = 1024;
    let low = nets.iter().map(|net| i64::from(net.low)).min().unwrap_or(0);
    let high = nets
        .iter()
        .map(|net| i64::from(net.high))
        .max()
        .unwrap_or(0);
    let slot_height = ((high - low) / SLOTS + 1).max(6);
    let slot = |height: i32| ((i64::from(height) - low) / slot_height) as usize;
    let mut next = vec![0; slot(high as i32) + 2];
    let mut tracks = vec![0; nets.len()];
    for &net in order {
        let span = slot(nets[net].low)..=slot(nets[net].high) + 1;
        let track = next[span.clone()].iter().copied().max().unwrap_or(0);
        next[span].fill(track + 1);
        tracks[net] = track;
    }
    tracks
}
