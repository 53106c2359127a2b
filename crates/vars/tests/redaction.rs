//! Redaction does the same however output is cut into pieces, and never lets a secret through.

use airside_vars::{End, REDACTED, Secrets};
use proptest::prelude::*;
use serde_json::json;

/// Feeds `text` in pieces of the given sizes, as a step's output arrives.
fn in_pieces(secrets: &Secrets, text: &[u8], sizes: &[usize]) -> Vec<u8> {
    let (mut shown, mut held, mut rest) = (Vec::new(), Vec::new(), text);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().map_or(1, |size| (*size).clamp(1, rest.len()));
        held.extend_from_slice(&rest[..size]);
        rest = &rest[size..];
        let (more, taken) = secrets.cut(&held, End::Open);
        shown.extend_from_slice(&more);
        held.drain(..taken);
    }
    shown.extend_from_slice(&secrets.cut(&held, End::Final).0);
    shown
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        texts in prop::collection::vec("[ab]{1,5}", 0..5),
        text in "[abc]{0,60}",
        sizes in prop::collection::vec(1usize..7, 1..5),
    ) {
        let secrets = Secrets::default();
        secrets.add(&json!(texts.join("\n")));
        let whole = secrets.cut(text.as_bytes(), End::Final).0.into_owned();
        prop_assert_eq!(in_pieces(&secrets, text.as_bytes(), &sizes), whole);
    }

    #[test]
    fn no_secret_is_left(
        texts in prop::collection::vec("[ab]{2,6}", 1..5),
        text in "[abc]{0,60}",
    ) {
        let secrets = Secrets::default();
        secrets.add(&json!(texts.join("\n")));
        for piece in secrets.redact(&text).split(REDACTED) {
            for secret in &texts {
                prop_assert!(!piece.contains(secret), "{secret} in {piece}");
            }
        }
    }

    #[test]
    fn without_secrets_nothing_changes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let cut = Secrets::default().cut(&bytes, End::Open);
        prop_assert_eq!(cut, (bytes.as_slice().into(), bytes.len()));
    }
}
