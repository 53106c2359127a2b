//! Secrets are cut out of a stream wherever its pieces end, and nothing else is.
#![no_main]

use airside_vars::{End, Secrets};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: (Vec<String>, u8, String)| {
    let (words, piece, text) = input;
    let secrets = Secrets::default();
    for word in &words {
        if secrets.add(&Value::String(word.clone())).is_err() {
            return;
        }
    }
    let expected = secrets.redact(&text);
    let (mut held, mut shown) = (Vec::new(), Vec::new());
    for piece in text.as_bytes().chunks(usize::from(piece).max(1)) {
        held.extend_from_slice(piece);
        let (out, taken) = secrets.cut(&held, End::Open);
        assert!(taken <= held.len());
        shown.extend_from_slice(&out);
        drop(out);
        held.drain(..taken);
    }
    let (out, _) = secrets.cut(&held, End::Final);
    shown.extend_from_slice(&out);
    assert_eq!(String::from_utf8_lossy(&shown), expected);
});
