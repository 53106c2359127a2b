//! A secret, its use wherever one can be used, and a search for where it stayed.

use std::{fs, io::Read as _, path::Path};

use serde_json::{Value, json};

use crate::plans::task;

/// Secret that no file may hold. It is like nothing else, so that a search finds it.
pub const SECRET: &str = "sw0rdf1sh-8d1f-qzv";

/// Bytes of one file that are looked through.
const MOST_OF_A_FILE: u64 = 64 << 20;

/// Files under a folder that hold a text.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // What vanishes meanwhile, or hangs when it is read, is not a file that stays.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() && !path.ends_with("rootfs") && !path.ends_with("merged") {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = contents(&path);
                let holds = bytes
                    .windows(text.len())
                    .any(|part| part == text.as_bytes());
                found.extend(holds.then(|| path.display().to_string()));
            }
        }
    }
    found
}

/// Returns the contents of a file, decompressed if it is compressed.
fn contents(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap_or_default();
    if path.extension().is_none_or(|extension| extension != "zst") {
        return bytes;
    }
    let mut read = Vec::new();
    let decoder = zstd::Decoder::new(bytes.as_slice()).unwrap();
    // A segment still being written ends in the middle; what could be read of it counts.
    _ = decoder.take(MOST_OF_A_FILE).read_to_end(&mut read);
    read
}

/// Uses a secret wherever one can be without being kept: a resource's source, a task's params,
/// script and image.
pub fn everywhere(name: &str, first: &str) -> Value {
    let word = format!("(({name}))");
    let script = format!("{first}; echo script (({name})); echo param $WORD | tr a-z A-Z");
    let mut step = task("use", &script);
    step["params"] = json!({"WORD": word});
    step["config"]["params"] = json!({"WORD": ""});
    step["config"]["image_resource"]["source"]["note"] = json!(word);
    json!({
        "resources": [
            {"name": "src", "type": "mock", "webhook_token": word,
                "source": {"force_version": "1", "log": word}},
            {"name": "out", "type": "mock", "source": {"initial_version": "x", "log": word}},
        ],
        "jobs": [{"name": "job", "plan": [
            {"get": "src"},
            step,
            {"put": "out", "params": {"version": "2"}},
        ]}],
    })
}

pub fn expect_redacted(printed: &str) {
    assert!(printed.contains("script ((redacted))"), "{printed}");
    let loud = format!("PARAM {}", SECRET.to_uppercase());
    assert!(printed.contains(&loud), "{printed}");
    assert!(!printed.contains(SECRET), "{printed}");
}
