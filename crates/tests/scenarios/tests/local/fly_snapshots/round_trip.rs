//! `fly get-pipeline` prints what was set: setting it again changes nothing. Tried for every
//! example, and for the pipeline with every field that `crates/pipeline/config` is tested with.

use std::{fs, path::Path};

use airside_scenarios::{Database, Transcript};

pub(crate) fn what_was_got_sets_nothing_new(database: Database) {
    let server = super::server(database);
    let session = Transcript::logged_in(&server);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let examples = fs::read_dir(root.join("examples")).unwrap();
    let examples = examples.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = examples
        // No pipeline, but where steps run.
        .filter(|path| !path.ends_with("targets.yml"))
        .collect();
    assert!(!files.is_empty(), "there are examples");
    files.push(root.join("crates/pipeline/config/tests/whole.yml"));
    for file in files {
        session.file("given.yml", &fs::read_to_string(&file).unwrap());
        for (kind, option) in [("yml", ""), ("json", "--json")] {
            let lines = [
                "fly -t main set-pipeline -n -p p -c given.yml > /dev/null".to_owned(),
                format!("fly -t main get-pipeline -p p {option} > got.{kind}"),
            ];
            for line in lines {
                session.quietly(&line).succeeded();
            }
            let again = format!("fly -t main set-pipeline -n -p p -c got.{kind}");
            let said = session.quietly(&again).succeeded().stdout;
            assert_eq!(said, "no changes to apply\n", "{}", file.display());
        }
        let line = "fly -t main destroy-pipeline -n -p p";
        session.quietly(line).succeeded();
    }
}
