//! The order of vertices in each column: medians in both directions with transposition, the best of
//! 24 sweeps.

use crate::crossings::{Neighbours, Pair, Places, Scratch, count, transpose};
use crate::layers::Layers;

/// Vertices of each column from top to bottom.
pub(crate) struct Ordered {
    pub(crate) columns: Vec<Vec<usize>>,
    pub(crate) left: Neighbours,
    pub(crate) right: Neighbours,
    pub(crate) crossings: u64,
    pub(crate) work: u64,
}

/// Sweeps without a better order after which a start is given up.
const FRUITLESS_SWEEPS: usize = 4;
/// Work after which no further sweep begins. A unit is about four nanoseconds of a release build.
const MAX_WORK: u64 = 6_000_000;

/// The freedom of a sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    /// Jobs keep the order of the lists, all else is placed around them.
    JobsStay,
    /// Neighbours are swapped only where that removes crossings.
    SwapsOnly,
    Free,
}

pub(crate) fn order_columns(layers: &Layers) -> Ordered {
    let mut search = Search::new(layers);
    let listed = search.listed();
    let followed = search.followed();
    // If the work runs out, it was spent on the start that is usually better.
    search.improve(followed, &[Sweep::Free; 10]);
    let by_list = [
        Sweep::JobsStay,
        Sweep::JobsStay,
        Sweep::JobsStay,
        Sweep::SwapsOnly,
    ];
    search.improve(listed, &[&by_list[..], &[Sweep::Free; 10]].concat());
    let Search {
        best,
        best_crossings,
        left,
        right,
        work,
        ..
    } = search;
    Ordered {
        columns: best,
        left,
        right,
        crossings: best_crossings,
        work,
    }
}

struct Search<'a> {
    layers: &'a Layers,
    left: Neighbours,
    right: Neighbours,
    position: Vec<u32>,
    best: Vec<Vec<usize>>,
    best_crossings: u64,
    /// Crossings, and jobs against the order of the lists: people know their pipelines by that
    /// order.
    best_score: u64,
    work: u64,
    scratch: Scratch,
}

impl<'a> Search<'a> {
    fn new(layers: &'a Layers) -> Self {
        Search {
            layers,
            left: Neighbours::left(layers),
            right: Neighbours::right(layers),
            position: vec![0; layers.column.len()],
            best: Vec::new(),
            best_crossings: u64::MAX,
            best_score: u64::MAX,
            work: 0,
            scratch: Scratch::default(),
        }
    }

    /// The order of the lists.
    fn listed(&self) -> Vec<Vec<usize>> {
        let mut columns = vec![Vec::new(); self.layers.columns];
        for (vertex, &column) in self.layers.column.iter().enumerate() {
            columns[column].push(vertex);
        }
        columns
    }

    /// The order in which a search in depth meets vertices: what belongs together begins together.
    fn followed(&self) -> Vec<Vec<usize>> {
        let mut columns = vec![Vec::new(); self.layers.columns];
        let mut seen = vec![false; self.layers.column.len()];
        let mut roots: Vec<usize> = (0..seen.len()).collect();
        roots.sort_by_key(|&vertex| self.layers.column[vertex]);
        let mut stack = Vec::new();
        for root in roots {
            stack.push(root);
            while let Some(vertex) = stack.pop() {
                if std::mem::replace(&mut seen[vertex], true) {
                    continue;
                }
                columns[self.layers.column[vertex]].push(vertex);
                stack.extend(
                    self.right
                        .of(vertex)
                        .iter()
                        .rev()
                        .map(|&next| next as usize),
                );
            }
        }
        columns
    }

    fn improve(&mut self, mut columns: Vec<Vec<usize>>, sweeps: &[Sweep]) {
        self.number(&columns);
        self.keep(&columns);
        let (mut own_best, mut fruitless) = (u64::MAX, 0);
        for (number, &sweep) in sweeps.iter().enumerate() {
            if fruitless == FRUITLESS_SWEEPS || self.work > MAX_WORK || own_best == 0 {
                return;
            }
            self.sweep(&mut columns, sweep, number);
            let crossings = self.keep(&columns);
            fruitless = if crossings < own_best {
                0
            } else {
                fruitless + 1
            };
            own_best = own_best.min(crossings);
        }
    }

    fn number(&mut self, columns: &[Vec<usize>]) {
        for column in columns {
            for (place, &vertex) in column.iter().enumerate() {
                self.position[vertex] = place as u32;
            }
        }
    }

    /// Remembers an order if it is the best so far. Returns its crossings.
    fn keep(&mut self, columns: &[Vec<usize>]) -> u64 {
        let crossings = count(columns, &self.position, &self.right);
        self.work += 4 * self.layers.links.len() as u64;
        let (disorder, mirrored) = disorder(columns, &self.layers.jobs);
        let score = crossings + disorder.min(mirrored);
        if score < self.best_score {
            (self.best_score, self.best_crossings) = (score, crossings);
            self.best = columns.to_vec();
            if mirrored < disorder {
                self.best.iter_mut().for_each(|column| column.reverse());
            }
        }
        crossings
    }

    fn sweep(&mut self, columns: &mut [Vec<usize>], sweep: Sweep, number: usize) {
        let rightward = number.is_multiple_of(2);
        let numbers = 0..columns.len();
        let numbers: Vec<usize> = if rightward {
            numbers.collect()
        } else {
            numbers.rev().collect()
        };
        if sweep != Sweep::SwapsOnly {
            for &column in numbers.iter().skip(1) {
                self.sort_by_medians(&mut columns[column], sweep, number);
            }
        }
        let jobs = &self.layers.jobs;
        let may_swap = |pair: Pair| {
            let both = jobs[pair.upper] && jobs[pair.lower];
            // Between equals, the order of the lists decides for jobs, and nearness for others.
            let tie = if both {
                pair.lower < pair.upper
            } else {
                pair.drawn_apart
            };
            (pair.gain > 0 || pair.gain == 0 && tie) && !(sweep == Sweep::JobsStay && both)
        };
        for &number in &numbers {
            if self.work > MAX_WORK {
                return;
            }
            let size = |number: Option<usize>| {
                number
                    .and_then(|number| columns.get(number))
                    .map_or(0, Vec::len)
            };
            let places = Places {
                position: &self.position,
                sides: (&self.left, &self.right),
                sizes: (size(number.checked_sub(1)), size(Some(number + 1))),
            };
            let column = &mut columns[number];
            self.work += transpose(column, places, &mut self.scratch, may_swap);
            for (place, &vertex) in column.iter().enumerate() {
                self.position[vertex] = place as u32;
            }
        }
    }

    /// Sorts a column by the medians of its neighbours. Vertices without neighbours keep their
    /// places.
    fn sort_by_medians(&mut self, column: &mut [usize], sweep: Sweep, number: usize) {
        let side = if number.is_multiple_of(2) {
            &self.left
        } else {
            &self.right
        };
        let flip_ties = number % 4 >= 2;
        let mut positions = Vec::new();
        let mut movable = Vec::new();
        let mut places = Vec::new();
        for (place, &vertex) in column.iter().enumerate() {
            positions.clear();
            positions.extend(
                side.of(vertex)
                    .iter()
                    .map(|&other| u64::from(self.position[other as usize])),
            );
            self.work += 6 + 4 * positions.len() as u64;
            if positions.is_empty() || sweep == Sweep::JobsStay && self.layers.jobs[vertex] {
                continue;
            }
            positions.sort_unstable();
            let tie = if flip_ties {
                column.len() - place
            } else {
                place
            };
            movable.push((median(&positions), tie, vertex));
            places.push(place);
        }
        movable.sort_unstable();
        for (&place, &(_, _, vertex)) in places.iter().zip(&movable) {
            column[place] = vertex;
        }
        for (place, &vertex) in column.iter().enumerate() {
            self.position[vertex] = place as u32;
        }
    }
}

/// Counts neighbouring jobs that stand against the order of the lists, and those if all columns
/// were upside down.
fn disorder(columns: &[Vec<usize>], jobs: &[bool]) -> (u64, u64) {
    let (mut against, mut along) = (0, 0);
    let mut listed: Vec<usize> = Vec::new();
    for column in columns {
        listed.clear();
        listed.extend(column.iter().copied().filter(|&vertex| jobs[vertex]));
        for pair in listed.windows(2) {
            if pair[0] > pair[1] {
                against += 1
            } else {
                along += 1
            }
        }
    }
    (against, along)
}

/// The weighted median of sorted positions, times 1,024: nearer to the side where positions are
/// closer.
fn median(positions: &[u64]) -> u64 {
    let middle = positions.len() / 2;
    match positions {
        [] => 0,
        [first, second] => (first + second) * 512,
        [first, .., last] if positions.len().is_multiple_of(2) => {
            let (below, above) = (positions[middle - 1] - first, last - positions[middle]);
            if below + above == 0 {
                return (positions[middle - 1] + positions[middle]) * 512;
            }
            (positions[middle - 1] * above + positions[middle] * below) * 1024 / (below + above)
        }
        _ => positions[middle] * 1024,
    }
}
