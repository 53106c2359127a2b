//! Numbers of bytes as people write and read them.

use std::{fmt, str::FromStr};

/// A number of bytes as people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = (self.0.max(1).ilog2() / 10).min(UNITS.len() as u32 - 1);
        let unit = UNITS[steps as usize];
        if steps == 0 {
            return write!(f, "{} {unit}", self.0);
        }
        let tenths = (u128::from(self.0) * 10) >> (10 * steps);
        write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
    }
}

impl FromStr for Bytes {
    type Err = String;

    /// Reads `50GiB`, `50G` or a plain number of bytes; every unit is a power of 1024.
    fn from_str(text: &str) -> Result<Self, String> {
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(wrong(text)),
        };
        let number: u64 = number.parse().map_err(|_| wrong(text))?;
        let bytes = number.checked_mul(1 << shift).ok_or_else(|| wrong(text))?;
        Ok(Self(bytes))
    }
}

fn wrong(text: &str) -> String {
    format!("{text:?} is not a number of bytes; write it as 500MiB, 50GiB or 1TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_readable() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1_572_864, "1.5 MiB"),
            (20 << 30, "20.0 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn bytes_are_read_with_and_without_a_unit() {
        for (text, bytes) in [
            ("0", 0),
            ("17", 17),
            ("1k", 1 << 10),
            ("2MiB", 2 << 20),
            ("3 GB", 3 << 30),
            ("4tib", 4 << 40),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "GiB", "-1", "1.5GiB", "1x", "99999999999TiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
