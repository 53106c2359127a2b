//! Compares our reading of each document with that of Concourse's own reader.

use std::path::Path;

use serde_json::Value;

#[test]
fn every_golden_document_reads_as_in_concourse() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let expected: serde_json::Map<String, Value> =
        serde_json::from_str(&std::fs::read_to_string(directory.join("expected.json")).unwrap())
            .unwrap();
    assert_eq!(expected.len(), 91);

    let mut wrong = Vec::new();
    for (name, expected) in &expected {
        let text = std::fs::read_to_string(directory.join(format!("{name}.yml"))).unwrap();
        let got = airside_yaml::parse(&text).and_then(|node| node.to_json());
        let same = match (&got, expected.get("json")) {
            (Ok(got), Some(json)) => got == json,
            (Err(_), None) => true,
            _ => false,
        };
        if !same {
            wrong.push(format!("{name}: got {got:?}, expected {expected}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of 91 differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
