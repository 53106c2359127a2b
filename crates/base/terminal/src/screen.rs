//! The rows that may still change, and the cursor in them.

use std::{collections::VecDeque, mem};

use crate::{MAX_COLUMNS, TerminalRow, TerminalStyle};

/// Number of rows at the end that the cursor reaches. Rows above are settled.
pub const LIVE_ROWS: usize = 200;

/// A place of the cursor. The row is at most one behind the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) row: u64,
    pub(crate) column: u32,
}

/// All of a screen but its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pen {
    /// Number of rows that there are.
    pub(crate) rows: u64,
    pub(crate) cursor: Cursor,
    pub(crate) saved: Option<Cursor>,
    pub(crate) style: TerminalStyle,
}

pub(crate) struct Screen {
    pub(crate) pen: Pen,
    /// The last rows; none of those before the place where this screen began to keep them.
    live: VecDeque<TerminalRow>,
    /// False if rows are only counted.
    keeps: bool,
    /// The time of what is being written.
    pub(crate) time: i64,
    /// A row that was given away, whose memory the next one takes.
    spare: TerminalRow,
}

/// The part of a line that is erased.
#[derive(Clone, Copy)]
pub(crate) enum Erase {
    ToEnd,
    ToCursor,
    All,
}

impl Screen {
    pub(crate) fn new(pen: Pen, keeps: bool) -> Self {
        Self {
            pen,
            live: VecDeque::new(),
            keeps,
            time: 0,
            spare: TerminalRow::default(),
        }
    }

    /// The rows that may still change, with their numbers, the first row being 0.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u64, &TerminalRow)> {
        (self.first_live()..).zip(&self.live)
    }

    /// Keeps the rows that begin from now on, or none. Rows that are kept already are dropped.
    pub(crate) fn keep_rows(&mut self, keep: bool) {
        self.live = VecDeque::new();
        self.spare = TerminalRow::default();
        self.keeps = keep;
    }

    fn first_live(&self) -> u64 {
        self.pen.rows - self.live.len() as u64
    }

    /// The highest row that the cursor reaches.
    fn top(&self) -> u64 {
        self.pen.rows.saturating_sub(LIVE_ROWS as u64)
    }

    /// Writes text without control characters.
    pub(crate) fn write(&mut self, text: &str, settle: &mut impl FnMut(u64, &TerminalRow)) {
        if text.is_empty() {
            return;
        }
        self.begin_row(settle);
        let Cursor { row, column } = self.pen.cursor;
        let count = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        self.pen.cursor.column = column.saturating_add(count);
        let is_last = row + 1 == self.pen.rows;
        let time = self.time;
        let style = mem::take(&mut self.pen.style);
        if let Some(row) = self.row() {
            row.write(column, text, &style);
            if is_last {
                row.set_time(time);
            }
        }
        self.pen.style = style;
    }

    /// Ends the line, and goes to the beginning of the next one.
    pub(crate) fn break_line(&mut self, settle: &mut impl FnMut(u64, &TerminalRow)) {
        self.begin_row(settle);
        self.pen.cursor.row += 1;
        self.pen.cursor.column = 0;
    }

    /// Makes the row of the cursor if it is behind the last one.
    fn begin_row(&mut self, settle: &mut impl FnMut(u64, &TerminalRow)) {
        if self.pen.cursor.row < self.pen.rows {
            return;
        }
        self.pen.rows += 1;
        if !self.keeps {
            return;
        }
        let mut row = mem::take(&mut self.spare);
        row.reset();
        row.set_time(self.time);
        self.live.push_back(row);
        if self.live.len() > LIVE_ROWS {
            let number = self.first_live();
            self.spare = self.live.pop_front().unwrap_or_default();
            settle(number, &self.spare);
        }
    }

    /// Returns the row of the cursor, if it is there and known.
    fn row(&mut self) -> Option<&mut TerminalRow> {
        let index = self.pen.cursor.row.checked_sub(self.first_live())?;
        self.live.get_mut(usize::try_from(index).ok()?)
    }

    pub(crate) fn return_carriage(&mut self) {
        self.pen.cursor.column = 0;
    }

    pub(crate) fn move_up(&mut self, by: u16) {
        let row = self.pen.cursor.row.saturating_sub(by.into());
        self.pen.cursor.row = row.max(self.top());
    }

    /// Moves down, no farther than where the next row begins: rows are not made by moving.
    pub(crate) fn move_down(&mut self, by: u16) {
        self.pen.cursor.row = (self.pen.cursor.row + u64::from(by)).min(self.pen.rows);
    }

    pub(crate) fn move_right(&mut self, by: u16) {
        let column = self.pen.cursor.column;
        self.pen.cursor.column = column.max((column.saturating_add(by.into())).min(MAX_COLUMNS));
    }

    pub(crate) fn move_left(&mut self, by: u16) {
        self.pen.cursor.column = self.pen.cursor.column.saturating_sub(by.into());
    }

    /// Moves to a column of the same row, the first being 0.
    pub(crate) fn move_to_column(&mut self, column: u16) {
        self.pen.cursor.column = u32::from(column).min(MAX_COLUMNS);
    }

    pub(crate) fn save_cursor(&mut self) {
        self.pen.saved = Some(self.pen.cursor);
    }

    pub(crate) fn restore_cursor(&mut self) {
        if let Some(saved) = self.pen.saved {
            let row = saved.row.max(self.top());
            self.pen.cursor = Cursor { row, ..saved };
        }
    }

    pub(crate) fn erase(&mut self, part: Erase) {
        let column = self.pen.cursor.column;
        let Some(row) = self.row() else { return };
        match part {
            Erase::ToEnd => row.erase_from(column),
            Erase::ToCursor => row.erase_to(column),
            Erase::All => row.erase_from(0),
        }
    }
}
