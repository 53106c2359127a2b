//! Just enough of Kubernetes quantities to find a typing mistake before the API server does.

/// Whether a text is a positive quantity such as `100m`, `1.5` or `128Mi`.
pub(super) fn is_positive(text: &str) -> bool {
    let digits = text
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.')
        .count();
    let (number, suffix) = text.split_at(digits);
    let known = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
    known.contains(&suffix) && number.parse::<f64>().is_ok_and(|n| n > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        for (text, expected) in [
            ("100m", true),
            ("1", true),
            ("1.5", true),
            ("128Mi", true),
            ("2G", true),
            ("0", false),
            ("", false),
            ("Mi", false),
            ("128MB", false),
            ("-1", false),
            ("1..5", false),
        ] {
            assert_eq!(is_positive(text), expected, "{text}");
        }
    }
}
