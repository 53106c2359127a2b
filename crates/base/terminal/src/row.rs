//! One row: characters, and the styles they have.

use crate::TerminalStyle;

/// The most characters of a row that are kept. A longer row is cut, and says by how many.
pub const MAX_COLUMNS: u32 = 16_384;

/// The most styles in one row. Text beyond has the last of them.
pub const MAX_STYLES: usize = 1024;

/// The most bytes of all addresses of links in one row. Text beyond has no link.
pub const MAX_LINK_BYTES: usize = 8 * 1024;

/// The farthest column that blanks are put before, behind a shorter row: moving the cursor to the
/// right takes few bytes, and would take much memory.
const MAX_PADDING: usize = 1024;

/// Number of styles that are compared before a style is kept once more.
const LOOK_BACK: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    character: char,
    /// 0 is the default style; others are in `styles`, one less.
    style: u16,
}

const BLANK: Cell = Cell {
    character: ' ',
    style: 0,
};

/// A row of the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalRow {
    time: i64,
    cells: Vec<Cell>,
    styles: Vec<TerminalStyle>,
    link_bytes: usize,
    /// Number of characters behind the last column that is kept.
    beyond: u32,
}

impl TerminalRow {
    /// Returns the time of the last writing to the row while it was the last one.
    pub fn time(&self) -> i64 {
        self.time
    }

    /// Returns the number of characters that are not kept, since the row is too long.
    pub fn cut(&self) -> u32 {
        self.beyond
    }

    /// Returns the memory that the row takes.
    pub fn bytes(&self) -> usize {
        let cells = self.cells.capacity() * size_of::<Cell>();
        let styles = self.styles.capacity() * size_of::<TerminalStyle>();
        size_of::<Self>() + cells + styles + self.link_bytes
    }

    /// Returns the row's text without styles.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.cells.len());
        self.push_text(&mut text);
        text
    }

    /// Appends the row's text to `text`; for callers that read many rows.
    pub fn push_text(&self, text: &mut String) {
        text.extend(self.cells.iter().map(|cell| cell.character));
    }

    /// Returns the pieces of text that have one style each, from left to right. None has a style
    /// that is the same as its neighbour's.
    pub fn spans(&self) -> impl Iterator<Item = (String, TerminalStyle)> {
        let pieces = self.cells.chunk_by(|left, right| {
            left.style == right.style || self.style(*left) == self.style(*right)
        });
        pieces.filter_map(|cells| {
            let style = self.style(*cells.first()?).cloned().unwrap_or_default();
            Some((cells.iter().map(|cell| cell.character).collect(), style))
        })
    }

    fn style(&self, cell: Cell) -> Option<&TerminalStyle> {
        self.styles.get(usize::from(cell.style).checked_sub(1)?)
    }

    pub(crate) fn set_time(&mut self, time: i64) {
        self.time = time;
    }

    /// Writes characters from a column on, over those that are there.
    pub(crate) fn write(&mut self, column: u32, text: &str, style: &TerminalStyle) {
        let style = self.number(style);
        let end = MAX_COLUMNS as usize;
        let padded = self.cells.len().max(MAX_PADDING);
        let start = (column as usize).min(padded);
        if self.cells.len() < start {
            self.cells.resize(start, BLANK);
        }
        let mut characters = text.chars();
        let old = self.cells.get_mut(start..).unwrap_or_default();
        for cell in old {
            let Some(character) = characters.next() else {
                return;
            };
            *cell = Cell { character, style };
        }
        let room = end - self.cells.len();
        let new = characters.by_ref().take(room);
        self.cells
            .extend(new.map(|character| Cell { character, style }));
        let left = characters.count();
        if left > 0 {
            let before = (column as usize).saturating_sub(end);
            let beyond = u32::try_from(before + left).unwrap_or(u32::MAX);
            self.beyond = self.beyond.max(beyond);
        }
    }

    /// Erases all from a column on.
    pub(crate) fn erase_from(&mut self, column: u32) {
        self.cells.truncate(column as usize);
        self.beyond = self.beyond.min(column.saturating_sub(MAX_COLUMNS));
        if self.cells.is_empty() {
            self.styles.clear();
            self.link_bytes = 0;
        }
    }

    /// Blanks all before a column.
    pub(crate) fn erase_to(&mut self, column: u32) {
        let count = self.cells.len().min(column as usize);
        self.cells[..count].fill(BLANK);
    }

    /// Empties the row for another use.
    pub(crate) fn reset(&mut self) {
        self.erase_from(0);
        self.time = 0;
    }

    /// Returns the number that cells of this style have.
    fn number(&mut self, style: &TerminalStyle) -> u16 {
        if *style == TerminalStyle::default() {
            return 0;
        }
        let mut last = self.styles.iter().enumerate().rev().take(LOOK_BACK);
        let index = match last.find(|(_, known)| *known == style) {
            Some((index, _)) => index,
            None if self.styles.len() < MAX_STYLES => {
                self.keep(style.clone());
                self.styles.len() - 1
            }
            None => MAX_STYLES - 1,
        };
        // There are fewer styles than that.
        u16::try_from(index + 1).unwrap_or(0)
    }

    fn keep(&mut self, mut style: TerminalStyle) {
        let bytes = style.link.as_ref().map_or(0, |link| link.len());
        if self.link_bytes + bytes > MAX_LINK_BYTES {
            style.link = None;
        } else {
            self.link_bytes += bytes;
        }
        self.styles.push(style);
    }
}
