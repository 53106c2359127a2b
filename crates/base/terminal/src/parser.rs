//! Bytes to actions on the screen.

use crate::{
    TerminalRow,
    screen::{Erase, LIVE_ROWS, Pen, Screen},
    sgr,
    style::checked_link,
    utf8::Utf8,
};

/// The longest escape sequence. Behind that, and at the end of a line, a sequence that has not
/// ended is dropped, so that none swallows the rest of the output.
const MAX_SEQUENCE: usize = 4096;

const ESCAPE: char = '\u{1b}';

/// A byte that ends any sequence.
const CANCEL: u8 = 0x18;

/// The number of parts of a system command that the parser separates.
const MAX_PARTS: usize = 16;

/// A terminal that is written to.
pub struct Terminal {
    utf8: Utf8,
    input: Input,
}

struct Input {
    parser: vte::Parser,
    /// In an escape sequence: the number of bytes that it may still have.
    inside: Option<usize>,
    screen: Screen,
}

/// A terminal's state between two sequences, without rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminalCheckpoint {
    pen: Pen,
}

impl TerminalCheckpoint {
    /// Returns the first row that a terminal which begins here tells, the first of all being 0.
    pub fn first_row(&self) -> u64 {
        self.pen.rows
    }

    /// Returns the memory that a checkpoint takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.pen.style.link.as_ref().map_or(0, |link| link.len())
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Self::with(Pen::default(), true)
    }
}

impl Terminal {
    fn with(pen: Pen, keeps: bool) -> Self {
        let input = Input {
            parser: vte::Parser::new(),
            inside: None,
            screen: Screen::new(pen, keeps),
        };
        Self {
            utf8: Utf8::default(),
            input,
        }
    }

    /// A terminal that only counts rows: it settles none and keeps none. Its checkpoints are the
    /// same as of any other.
    pub fn counting() -> Self {
        Self::with(Pen::default(), false)
    }

    /// A terminal that begins at a checkpoint, and tells the rows that begin behind it.
    pub fn resume(checkpoint: &TerminalCheckpoint) -> Self {
        Self::with(checkpoint.pen.clone(), true)
    }

    /// Number of rows so far. An empty line that nothing follows is none.
    pub fn rows(&self) -> u64 {
        self.input.screen.pen.rows
    }

    /// Number of rows that nothing will change any more.
    pub fn settled(&self) -> u64 {
        self.rows().saturating_sub(LIVE_ROWS as u64)
    }

    /// Returns the state, if the last bytes ended neither inside a sequence nor inside a character.
    pub fn checkpoint(&self) -> Option<TerminalCheckpoint> {
        let between = self.input.inside.is_none() && !self.utf8.is_inside();
        between.then(|| TerminalCheckpoint {
            pen: self.input.screen.pen.clone(),
        })
    }

    /// Takes bytes that were printed at some time, and gives the rows that they settle, each with
    /// its number, the first row being 0. The time's unit is the caller's.
    pub fn write(&mut self, time: i64, bytes: &[u8], mut settle: impl FnMut(u64, &TerminalRow)) {
        let Self { utf8, input } = self;
        input.screen.time = time;
        utf8.push(bytes, |text| input.write(text, &mut settle));
    }

    /// Says that nothing more comes: a character that was cut off is replaced.
    pub fn end(&mut self, mut settle: impl FnMut(u64, &TerminalRow)) {
        let Self { utf8, input } = self;
        utf8.end(|text| input.write(text, &mut settle));
    }

    /// Drops the rows that are kept, to save memory. Rows that begin later are kept if wanted.
    pub fn drop_rows(&mut self, keep_later: bool) {
        self.input.screen.keep_rows(keep_later);
    }

    /// Rows that may still change and that are kept, with their numbers.
    pub fn live(&self) -> impl Iterator<Item = (u64, &TerminalRow)> {
        self.input.screen.live()
    }
}

impl Input {
    fn write(&mut self, mut text: &str, settle: &mut impl FnMut(u64, &TerminalRow)) {
        while !text.is_empty() {
            text = match self.inside {
                Some(left) => self.sequence(text, left, settle),
                None => {
                    let end = text.find(ESCAPE).unwrap_or(text.len());
                    let (plain, rest) = text.split_at(end);
                    plain_text(&mut self.screen, plain, settle);
                    self.inside = (!rest.is_empty()).then_some(MAX_SEQUENCE);
                    rest
                }
            }
        }
    }

    /// Reads of a sequence what is there, and returns the text after that.
    fn sequence<'a>(
        &mut self,
        text: &'a str,
        left: usize,
        settle: &mut impl FnMut(u64, &TerminalRow),
    ) -> &'a str {
        let most = text.floor_char_boundary(left);
        let is_end = |(at, byte): (usize, &u8)| *byte == b'\n' || (at > 0 && *byte == ESCAPE as u8);
        let part = &text.as_bytes()[..most];
        let end = part.iter().enumerate().position(is_end).unwrap_or(most);
        let mut actions = Actions {
            screen: &mut self.screen,
            settle,
            ended: false,
            dropped: false,
        };
        let taken = self
            .parser
            .advance_until_terminated(&mut actions, &part[..end]);
        if actions.ended {
            self.inside = None;
            // Sequences end with ASCII.
            return text.get(taken..).unwrap_or_default();
        }
        let rest = &text[end..];
        if end > 0 && (rest.is_empty() || rest.starts_with(ESCAPE)) {
            self.inside = Some(left - end);
        } else {
            actions.dropped = true;
            self.parser.advance(&mut actions, &[CANCEL]);
            self.inside = None;
        }
        rest
    }
}

/// Writes text that has no escape sequences in it.
fn plain_text(screen: &mut Screen, text: &str, settle: &mut impl FnMut(u64, &TerminalRow)) {
    let is_control = |character: char| character.is_control() && character != '\t';
    let mut rest = text;
    while let Some(at) = rest.find(is_control) {
        let (shown, tail) = rest.split_at(at);
        screen.write(shown, settle);
        let mut tail = tail.chars();
        if let Some(character) = tail.next() {
            control(screen, character, settle);
        }
        rest = tail.as_str();
    }
    screen.write(rest, settle);
}

fn control(screen: &mut Screen, character: char, settle: &mut impl FnMut(u64, &TerminalRow)) {
    match character {
        '\n' => screen.break_line(settle),
        '\r' => screen.return_carriage(),
        '\u{8}' => screen.move_left(1),
        _ => {}
    }
}

/// Does what the parser finds in a sequence.
struct Actions<'a, S> {
    screen: &'a mut Screen,
    settle: &'a mut S,
    /// The sequence is over.
    ended: bool,
    /// The sequence is being dropped: nothing of it has an effect.
    dropped: bool,
}

impl<S: FnMut(u64, &TerminalRow)> vte::Perform for Actions<'_, S> {
    /// Printing shows that the sequence ended in a way that is not told.
    fn print(&mut self, character: char) {
        let mut buffer = [0; 4];
        plain_text(self.screen, character.encode_utf8(&mut buffer), self.settle);
        self.ended = true;
    }

    fn execute(&mut self, byte: u8) {
        control(self.screen, byte.into(), self.settle);
        self.ended |= matches!(byte, CANCEL | 0x1a);
    }

    fn csi_dispatch(
        &mut self,
        params: &vte::Params,
        intermediates: &[u8],
        ignore: bool,
        action: char,
    ) {
        self.ended = true;
        // Private sequences and those with too many parts.
        if !intermediates.is_empty() || (ignore && action != 'm') {
            return;
        }
        let first = params
            .iter()
            .next()
            .and_then(|param| param.first().copied());
        let first = first.unwrap_or(0);
        let count = first.max(1);
        let screen = &mut *self.screen;
        match action {
            'm' => sgr::apply(&mut screen.pen.style, params.iter()),
            'A' => screen.move_up(count),
            'B' => screen.move_down(count),
            'C' => screen.move_right(count),
            'D' => screen.move_left(count),
            'E' => {
                screen.move_down(count);
                screen.return_carriage();
            }
            'F' => {
                screen.move_up(count);
                screen.return_carriage();
            }
            'G' => screen.move_to_column(count - 1),
            'K' => match first {
                0 => screen.erase(Erase::ToEnd),
                1 => screen.erase(Erase::ToCursor),
                2 => screen.erase(Erase::All),
                _ => {}
            },
            's' => screen.save_cursor(),
            'u' => screen.restore_cursor(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        self.ended = true;
        match (intermediates, byte) {
            ([], b'7') => self.screen.save_cursor(),
            ([], b'8') => self.screen.restore_cursor(),
            ([], b'D') => self.screen.move_down(1),
            ([], b'E') => self.screen.break_line(self.settle),
            ([], b'M') => self.screen.move_up(1),
            _ => {}
        }
    }

    /// A link begins or ends: `8 ; parameters ; address`, where the address may have semicolons.
    fn osc_dispatch(&mut self, parts: &[&[u8]], bell: bool) {
        // Else an ESC has come, which begins `ESC \`.
        self.ended |= bell;
        if let [b"8", _, address @ ..] = parts
            && !self.dropped
            && parts.len() < MAX_PARTS
        {
            self.screen.pen.style.link = checked_link(&address.join(&b';'));
        }
    }

    fn terminated(&self) -> bool {
        self.ended
    }
}
