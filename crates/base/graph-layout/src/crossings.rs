//! Crossings between neighbouring columns, and swaps of neighbours that remove some.

use crate::layers::Layers;

/// Neighbours of each vertex in the column at its left or right.
pub(crate) struct Neighbours {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Neighbours {
    fn collect(vertices: usize, links: impl Iterator<Item = (usize, usize)> + Clone) -> Self {
        let mut starts = vec![0u32; vertices + 1];
        for (vertex, _) in links.clone() {
            starts[vertex + 1] += 1;
        }
        for index in 0..vertices {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut items = vec![0; starts[vertices] as usize];
        for (vertex, neighbour) in links {
            items[next[vertex] as usize] = neighbour as u32;
            next[vertex] += 1;
        }
        Neighbours { starts, items }
    }

    pub(crate) fn of(&self, vertex: usize) -> &[u32] {
        &self.items[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }

    pub(crate) fn left(layers: &Layers) -> Self {
        Self::collect(
            layers.column.len(),
            layers.links.iter().map(|&(left, right)| (right, left)),
        )
    }

    pub(crate) fn right(layers: &Layers) -> Self {
        Self::collect(layers.column.len(), layers.links.iter().copied())
    }
}

/// Counts all crossings with a Fenwick tree a column: n log n.
pub(crate) fn count(columns: &[Vec<usize>], position: &[u32], right: &Neighbours) -> u64 {
    let mut total = 0;
    let (mut tree, mut ends) = (Vec::new(), Vec::new());
    for pair in columns.windows(2) {
        tree.clear();
        tree.resize(pair[1].len() + 1, 0u64);
        let mut seen = 0;
        for &vertex in &pair[0] {
            ends.clear();
            ends.extend(right.of(vertex).iter().map(|&end| position[end as usize]));
            for &end in &ends {
                total += seen - before(&tree, end as usize + 1);
            }
            for &end in &ends {
                add(&mut tree, end as usize + 1);
                seen += 1;
            }
        }
    }
    total
}

fn before(tree: &[u64], mut index: usize) -> u64 {
    let mut sum = 0;
    while index > 0 {
        sum += tree[index];
        index &= index - 1;
    }
    sum
}

fn add(tree: &mut [u64], mut index: usize) {
    while index < tree.len() {
        tree[index] += 1;
        index += index & index.wrapping_neg();
    }
}

/// Crossings of two vertices' links with the first above the second, minus those with the second
/// above.
fn gain(first: &[u32], second: &[u32]) -> i64 {
    let (mut above, mut below) = (0i64, 0i64);
    let (mut less, mut equal_end) = (0, 0);
    for &position in first {
        while less < second.len() && second[less] < position {
            less += 1;
        }
        equal_end = equal_end.max(less);
        while equal_end < second.len() && second[equal_end] == position {
            equal_end += 1;
        }
        above += less as i64;
        below += (second.len() - equal_end) as i64;
    }
    above - below
}

/// The sorted positions of the neighbours of one column's vertices.
#[derive(Default)]
pub(crate) struct Scratch {
    starts: Vec<(u32, u32, u32)>,
    items: Vec<u32>,
    /// The mean height of all neighbours, as a part of their column.
    means: Vec<u64>,
}

impl Scratch {
    fn fill(&mut self, column: &[usize], places: Places<'_>) {
        let (left, right) = places.sides;
        self.starts.clear();
        self.items.clear();
        self.means.clear();
        for &vertex in column {
            let start = self.items.len();
            self.items.extend(
                left.of(vertex)
                    .iter()
                    .map(|&other| places.position[other as usize]),
            );
            let middle = self.items.len();
            self.items.extend(
                right
                    .of(vertex)
                    .iter()
                    .map(|&other| places.position[other as usize]),
            );
            self.items[start..middle].sort_unstable();
            self.items[middle..].sort_unstable();
            self.starts
                .push((start as u32, middle as u32, self.items.len() as u32));
            let height = |items: &[u32], size: usize| {
                items
                    .iter()
                    .map(|&item| u64::from(item) * 2 + 1)
                    .sum::<u64>()
                    * 65_536
                    / size.max(1) as u64
            };
            let count = (self.items.len() - start).max(1) as u64;
            let (left, right) = (&self.items[start..middle], &self.items[middle..]);
            self.means
                .push((height(left, places.sizes.0) + height(right, places.sizes.1)) / count);
        }
    }

    fn gain(&self, first: usize, second: usize) -> i64 {
        let (a, b) = (self.starts[first], self.starts[second]);
        let part = |from: u32, to: u32| &self.items[from as usize..to as usize];
        gain(part(a.0, a.1), part(b.0, b.1)) + gain(part(a.1, a.2), part(b.1, b.2))
    }

    fn degree(&self, index: usize) -> u64 {
        u64::from(self.starts[index].2 - self.starts[index].0)
    }
}

/// Rounds of swaps in one column at one visit.
const ROUNDS: usize = 6;

/// Positions of all vertices, their neighbours, and the sizes of the columns at the left and right.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) position: &'a [u32],
    pub(crate) sides: (&'a Neighbours, &'a Neighbours),
    pub(crate) sizes: (usize, usize),
}

/// Two vertices that may change places.
pub(crate) struct Pair {
    pub(crate) upper: usize,
    pub(crate) lower: usize,
    /// Crossings that go if they do.
    pub(crate) gain: i64,
    /// True if the neighbours of the lower one are higher.
    pub(crate) drawn_apart: bool,
}

/// Swaps neighbours of a column while `may_swap` says so. Returns the work it took.
pub(crate) fn transpose(
    column: &mut [usize],
    places: Places<'_>,
    scratch: &mut Scratch,
    may_swap: impl Fn(Pair) -> bool,
) -> u64 {
    scratch.fill(column, places);
    let mut order: Vec<usize> = (0..column.len()).collect();
    let mut work = column.len() as u64 + scratch.items.len() as u64;
    // Only pairs beside a swap can have changed.
    let mut changed = vec![true; column.len() + 1];
    for _ in 0..ROUNDS {
        let mut swapped = false;
        for index in 0..column.len().saturating_sub(1) {
            if !(changed[index] || changed[index + 1]) {
                continue;
            }
            work += 2 + scratch.degree(order[index]) + scratch.degree(order[index + 1]);
            changed[index] = false;
            let (first, second) = (order[index], order[index + 1]);
            let pair = Pair {
                upper: column[first],
                lower: column[second],
                gain: scratch.gain(first, second),
                drawn_apart: scratch.means[second] < scratch.means[first],
            };
            if may_swap(pair) {
                order.swap(index, index + 1);
                (changed[index], changed[index + 1]) = (true, true);
                swapped = true;
            }
        }
        if !swapped {
            break;
        }
    }
    let before = column.to_vec();
    for (place, &index) in order.iter().enumerate() {
        column[place] = before[index];
    }
    work
}

#[cfg(test)]
mod tests {
    use super::gain;

    #[test]
    fn a_swap_gains_what_it_removes() {
        assert_eq!(gain(&[1], &[0]), 1);
        assert_eq!(gain(&[0], &[1]), -1);
        assert_eq!(gain(&[0, 3], &[0, 3]), 0);
        assert_eq!(gain(&[2, 3], &[0, 1, 2]), 5);
        assert_eq!(gain(&[], &[0, 1]), 0);
    }
}
