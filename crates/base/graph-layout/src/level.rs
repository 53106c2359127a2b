//! More level links: what stands in the way moves along, as long as what was level stays level.

use crate::place::Rows;

/// Vertices that move together at most, and the visits of vertices that the whole search may take.
const MAX_MOVED: usize = 48;
const MAX_VISITS: usize = 400_000;
/// Rows by which other links may become longer for one that becomes level.
const MAX_LONGER: i64 = 8;
/// Rows by which the drawing may grow upward and downward.
const MAX_GROWTH: i64 = 8;

/// Makes links level one after another, links between added vertices first.
pub(crate) fn level_links(rows: &mut Rows<'_>) {
    let links = &rows.layers.links;
    let added = |link: &(usize, usize)| rows.added(link.0) && rows.added(link.1);
    let (long, short): (Vec<_>, Vec<_>) = links.iter().partition(|&link| added(link));
    let least = rows.row.iter().copied().min().unwrap_or(0) - MAX_GROWTH;
    let most = rows.row.iter().copied().max().unwrap_or(0) + MAX_GROWTH;
    let mut group = Group {
        member: vec![false; rows.row.len()],
        list: Vec::new(),
        visits: 0,
        least,
        most,
    };
    for _ in 0..3 {
        let mut moved = false;
        for &&(left, right) in long.iter().chain(&short) {
            let delta = rows.row[left] - rows.row[right];
            if delta != 0 && group.visits < MAX_VISITS {
                moved |=
                    group.shift(rows, right, left, delta) || group.shift(rows, left, right, -delta);
            }
        }
        if !moved {
            return;
        }
    }
}

/// Vertices that move together.
struct Group {
    member: Vec<bool>,
    list: Vec<usize>,
    visits: usize,
    /// The first and last row that the drawing may have.
    least: i64,
    most: i64,
}

impl Group {
    /// Moves a vertex, and all that this takes along, to the height of another. Returns false if
    /// that does not pay.
    fn shift(&mut self, rows: &mut Rows<'_>, vertex: usize, fixed: usize, delta: i64) -> bool {
        let pays =
            self.collect(rows, vertex, fixed, delta) && self.longer(rows, delta) <= MAX_LONGER;
        for &moved in &self.list {
            self.member[moved] = false;
            if pays {
                rows.row[moved] += delta;
            }
        }
        self.visits += self.list.len();
        self.list.clear();
        pays
    }

    fn add(&mut self, vertex: usize) {
        if !std::mem::replace(&mut self.member[vertex], true) {
            self.list.push(vertex);
        }
    }

    /// Collects what must move with a vertex: level neighbours, and those in its way.
    fn collect(&mut self, rows: &Rows<'_>, vertex: usize, fixed: usize, delta: i64) -> bool {
        self.add(vertex);
        let mut done = 0;
        while let Some(&next) = self.list.get(done) {
            done += 1;
            let row = rows.row[next];
            if !(self.least..=self.most).contains(&(row + delta)) {
                return false;
            }
            let (left, right) = rows.sides(next);
            self.visits += left.len() + right.len();
            let level = |other: &&u32| rows.row[**other as usize] == row;
            left.iter()
                .chain(right)
                .filter(level)
                .for_each(|&other| self.add(other as usize));
            if delta > 0 {
                let below = rows.below[next]
                    .filter(|&below| rows.row[below] - row - delta < rows.distance[below]);
                below.into_iter().for_each(|below| self.add(below));
            } else {
                let above = rows.above[next]
                    .filter(|&above| row + delta - rows.row[above] < rows.distance[next]);
                above.into_iter().for_each(|above| self.add(above));
            }
            if self.list.len() > MAX_MOVED || self.member[fixed] {
                return false;
            }
        }
        true
    }

    /// The rows by which links of the group become longer, or shorter if negative.
    fn longer(&self, rows: &Rows<'_>, delta: i64) -> i64 {
        let mut sum = 0;
        for &vertex in &self.list {
            let (left, right) = rows.sides(vertex);
            for &other in left
                .iter()
                .chain(right)
                .filter(|&&other| !self.member[other as usize])
            {
                let gap = rows.row[vertex] - rows.row[other as usize];
                sum += (gap + delta).abs() - gap.abs();
            }
        }
        sum
    }
}
