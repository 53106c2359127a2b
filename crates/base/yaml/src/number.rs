//! Numbers as Go reads and prints them, since that is what pipelines were written against.

use crate::Value;

/// `None` if the text is not a number.
pub(crate) fn parse(text: &str) -> Option<Value> {
    match text.as_bytes().first()? {
        b'.' => finite(text).map(Value::Float),
        b'+' | b'-' | b'0'..=b'9' => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| {
                let float = if is_float(&digits) {
                    finite(&digits)
                } else {
                    None
                };
                float.map(Value::Float)
            })
        }
        _ => None,
    }
}

/// Decimal, `0x`, `0o`, `0b`, or octal behind a bare `0`.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = digits.len() != text.len();
    let (radix, digits) = radix(digits);
    // The standard library would take another sign.
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    let small = if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    };
    match small {
        Some(value) => Some(Value::Int(value)),
        None if signed => None,
        None => Some(Value::UInt(magnitude)),
    }
}

fn radix(digits: &str) -> (u32, &str) {
    let bytes = digits.as_bytes();
    if bytes.len() < 2 || bytes[0] != b'0' {
        return (10, digits);
    }
    match bytes[1] {
        b'x' | b'X' => (16, &digits[2..]),
        b'o' | b'O' => (8, &digits[2..]),
        b'b' | b'B' => (2, &digits[2..]),
        _ => (8, &digits[1..]),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    let exponent_fits = exponent
        .is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)));
    mantissa_fits && exponent_fits
}

/// Reads a finite number; one that overflows is not a number.
fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A float where a string is wanted: the fewest digits that distinguish it from other 32-bit
/// floats.
pub(crate) fn short_text(value: f64) -> String {
    let value = value as f32;
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 {
            "+Inf".into()
        } else {
            "-Inf".into()
        };
    }
    let (sign, digits, exponent) = parts(&format!("{value:e}"));
    if (-4..6).contains(&exponent) {
        value.to_string()
    } else {
        with_exponent(sign, &digits, exponent, 2)
    }
}

pub(crate) fn key_text(value: f64) -> String {
    match short_text(value).as_str() {
        "+Inf" => ".inf".into(),
        "-Inf" => "-.inf".into(),
        "NaN" => ".nan".into(),
        text => text.into(),
    }
}

/// A finite float as Go's JSON has it: no `.0`, exponents only for the very large and very small.
pub fn json_text(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let (sign, digits, exponent) = parts(&format!("{value:e}"));
        return with_exponent(sign, &digits, exponent, 1);
    }
    value.to_string()
}

/// Splits Rust's `-1.25e7` into sign, digits and exponent.
fn parts(text: &str) -> (&'static str, String, i32) {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = mantissa.replace('.', "");
    (
        sign,
        digits,
        exponent.parse().expect("an exponent that was just printed"),
    )
}

fn with_exponent(sign: &str, digits: &str, exponent: i32, width: usize) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let direction = if exponent < 0 { '-' } else { '+' };
    let exponent = exponent.unsigned_abs();
    format!("{sign}{first}{point}{rest}e{direction}{exponent:0width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        for (value, short, json) in [
            (1.5, "1.5", "1.5"),
            (1234567.0, "1.234567e+06", "1234567"),
            (100000.0, "100000", "100000"),
            (1e6, "1e+06", "1000000"),
            (0.0001, "0.0001", "0.0001"),
            (0.00001, "1e-05", "0.00001"),
            (16777217.0, "1.6777216e+07", "16777217"),
            (1e21, "1e+21", "1e+21"),
            (-2.5e-9, "-2.5e-09", "-2.5e-9"),
            (0.0, "0", "0"),
            (1e300, "+Inf", "1e+300"),
        ] {
            assert_eq!(short_text(value), short);
            assert_eq!(json_text(value), json);
        }
    }

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        for (text, value) in [
            ("1_000", Value::Int(1000)),
            ("-0755", Value::Int(-493)),
            ("+0x1F", Value::Int(31)),
            ("0b101", Value::Int(5)),
            ("08", Value::Float(8.0)),
            ("-9223372036854775808", Value::Int(i64::MIN)),
            ("18446744073709551615", Value::UInt(u64::MAX)),
            (
                "+18446744073709551615",
                Value::Float(18446744073709551615.0),
            ),
            ("1.", Value::Float(1.0)),
            (".5e1", Value::Float(5.0)),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        for text in [
            "", "+", "-", "--1", "+-1", "0x", "0x-1", "1e", "1E400", ".", "1.2.3", "é",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
