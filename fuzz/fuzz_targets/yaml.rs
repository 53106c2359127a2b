//! No text may panic, overflow the stack or eat the memory, and what is read must be writable.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(node) = airside_yaml::parse(text) else {
        return;
    };
    assert!(node.span.start.offset <= text.len());
    let Ok(json) = node.to_json() else {
        return;
    };
    // JSON is YAML: what was read reads as itself.
    let again = airside_yaml::parse(&json.to_string()).expect("JSON is YAML");
    assert_eq!(again.to_json().expect("it was JSON"), json);
});
