//! Attributes and colours, as `ESC [ … m` sets them.

use crate::{TerminalAttributes as Attributes, TerminalColor as Color, TerminalStyle};

/// Applies the parameters of one sequence. Each is a number, or several with colons between them.
pub(crate) fn apply<'a>(style: &mut TerminalStyle, mut params: impl Iterator<Item = &'a [u16]>) {
    while let Some(param) = params.next() {
        let [code, values @ ..] = param else { continue };
        match (code, values) {
            (38, []) => set(&mut style.foreground, separate(&mut params)),
            (48, []) => set(&mut style.background, separate(&mut params)),
            (38, values) => set(&mut style.foreground, joined(values)),
            (48, values) => set(&mut style.background, joined(values)),
            // `4:0` is no underline; the others are kinds of it.
            (4, [0, ..]) => style.attributes.set(Attributes::UNDERLINE, false),
            (code, _) => simple(style, *code),
        }
    }
}

fn set(place: &mut Option<Color>, color: Option<Color>) {
    if color.is_some() {
        *place = color;
    }
}

fn simple(style: &mut TerminalStyle, code: u16) {
    let attributes = &mut style.attributes;
    match code {
        0 => {
            *attributes = Attributes::default();
            (style.foreground, style.background) = (None, None);
        }
        1 => attributes.set(Attributes::BOLD, true),
        2 => attributes.set(Attributes::FAINT, true),
        3 => attributes.set(Attributes::ITALIC, true),
        4 | 21 => attributes.set(Attributes::UNDERLINE, true),
        7 => attributes.set(Attributes::INVERSE, true),
        9 => attributes.set(Attributes::STRUCK, true),
        22 => attributes.set(Attributes::BOLD.and(Attributes::FAINT), false),
        23 => attributes.set(Attributes::ITALIC, false),
        24 => attributes.set(Attributes::UNDERLINE, false),
        27 => attributes.set(Attributes::INVERSE, false),
        29 => attributes.set(Attributes::STRUCK, false),
        30..=37 => style.foreground = Some(indexed(code - 30)),
        39 => style.foreground = None,
        40..=47 => style.background = Some(indexed(code - 40)),
        49 => style.background = None,
        90..=97 => style.foreground = Some(indexed(code - 90 + 8)),
        100..=107 => style.background = Some(indexed(code - 100 + 8)),
        _ => {}
    }
}

/// Returns the colour of `38;5;n` or `38;2;r;g;b`, whose parts are parameters of their own.
fn separate<'a>(params: &mut impl Iterator<Item = &'a [u16]>) -> Option<Color> {
    let mut next = || params.next().and_then(|param| param.first().copied());
    match next()? {
        5 => Some(indexed(next()?)),
        2 => Some(rgb(next()?, next()?, next()?)),
        _ => None,
    }
}

/// Returns the colour of `38:5:n`, `38:2:r:g:b` or `38:2:space:r:g:b`.
fn joined(values: &[u16]) -> Option<Color> {
    match *values {
        [5, number, ..] => Some(indexed(number)),
        [2, red, green, blue] | [2, _, red, green, blue, ..] => Some(rgb(red, green, blue)),
        _ => None,
    }
}

fn indexed(number: u16) -> Color {
    Color::Indexed(byte(number))
}

fn rgb(red: u16, green: u16, blue: u16) -> Color {
    Color::Rgb(byte(red), byte(green), byte(blue))
}

fn byte(number: u16) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}
