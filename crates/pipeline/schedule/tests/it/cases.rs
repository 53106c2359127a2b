//! Input resolution by its table: `tests/cases/*.txt`, a file for each rule.
//!
//! A case is a line `== what it shows`, a world (see `world/text.rs`) and the outcome behind `=>`.
//! Each is resolved with everything at hand, and through an empty view that asks page by page.

use std::path::Path;

use airside_schedule::{View, resolve};

use crate::world::parse;

struct Case<'a> {
    name: &'a str,
    world: String,
    expected: Vec<&'a str>,
}

fn read(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            cases.push(Case {
                name,
                world: String::new(),
                expected: Vec::new(),
            });
        } else if let Some(case) = cases.last_mut() {
            match line.strip_prefix("=> ") {
                Some(line) => case.expected.push(line),
                None => case.world = format!("{}{line}\n", case.world),
            }
        }
    }
    cases
}

fn check(folder: &Path) -> (usize, Vec<String>) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for case in read(&text) {
            count += 1;
            let world = parse(&case.world);
            let Ok(resolution) = resolve(&world, &world.job());
            let (lazily, _) = world.resolve_with(&mut View::default());
            let (row_by_row, _) = world.resolve_with(&mut View::with_pages_of(1));
            for (how, got) in [
                ("whole", &resolution),
                ("by pages", &lazily),
                ("row by row", &row_by_row),
            ] {
                let got = world.show(got);
                if got != case.expected {
                    let file = path.file_name().unwrap().to_string_lossy().into_owned();
                    let expected = &case.expected;
                    wrong.push(format!(
                        "{file}: {} ({how})\n  expected {expected:?}\n  got      {got:?}",
                        case.name
                    ));
                }
            }
        }
    }
    (count, wrong)
}

#[test]
fn every_case_resolves_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let (count, wrong) = check(&folder);
    assert!(count >= 50, "only {count} cases were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
