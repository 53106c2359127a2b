//! Just enough of Kubernetes quantities to compare them, and to find a typing mistake before the
//! API server does.

const FACTORS: [(&str, f64); 14] = [
    ("", 1e3),
    ("m", 1.0),
    ("k", 1e6),
    ("M", 1e9),
    ("G", 1e12),
    ("T", 1e15),
    ("P", 1e18),
    ("Ki", 1024e3),
    ("Mi", 1_048_576e3),
    ("Gi", 1_073_741_824e3),
    ("Ti", 1_099_511_627_776e3),
    ("Pi", 1_125_899_906_842_624e3),
    ("u", 1e-3),
    ("n", 1e-6),
];

/// Returns true if a text is a positive quantity such as `100m`, `1.5` or `128Mi`.
pub(super) fn is_positive(text: &str) -> bool {
    thousandths(text).is_some_and(|amount| amount > 0)
}

/// Reads a quantity, in thousandths of one.
pub(crate) fn thousandths(text: &str) -> Option<i128> {
    let digits = text
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.')
        .count();
    let (number, suffix) = text.split_at(digits);
    let (_, factor) = FACTORS.iter().find(|(name, _)| *name == suffix)?;
    let number = number.parse::<f64>().ok()?;
    Some((number * factor).ceil() as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        for (text, expected) in [
            ("100m", Some(100)),
            ("1", Some(1000)),
            ("1.5", Some(1500)),
            ("128Mi", Some(134_217_728_000)),
            ("2G", Some(2_000_000_000_000)),
            ("0", Some(0)),
            ("", None),
            ("Mi", None),
            ("128MB", None),
            ("-1", None),
            ("1..5", None),
        ] {
            assert_eq!(thousandths(text), expected, "{text}");
            assert_eq!(
                is_positive(text),
                expected.is_some_and(|it| it > 0),
                "{text}"
            );
        }
    }
}
