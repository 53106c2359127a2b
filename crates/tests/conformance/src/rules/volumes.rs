//! Inputs and outputs, whichever way the runtime moves them.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use airside_model::VolumeId;

use crate::{
    Bench,
    step::{Ran, input, output},
};

/// A sealed volume with a file, a program, a link and an empty folder.
fn sealed(bench: &Bench, name: &str) -> VolumeId {
    let tree = bench.ground.dir.path().join(format!("{name}-tree"));
    fs::create_dir_all(tree.join("deep/empty")).unwrap();
    fs::write(tree.join("file"), "sealed\n").unwrap();
    fs::write(tree.join("deep/run"), "#!/bin/sh\necho ran\n").unwrap();
    fs::set_permissions(tree.join("deep/run"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("deep/run", tree.join("link")).unwrap();
    let volume = VolumeId::new(name);
    bench.ground.volumes.adopt(&tree, &volume).unwrap();
    volume
}

pub(super) fn folder(bench: &Bench, volume: &VolumeId) -> PathBuf {
    bench
        .ground
        .volumes
        .path(volume)
        .expect("the volume is there")
}

/// All that a volume holds, as one stream: equal trees give equal bytes.
fn packed(bench: &Bench, volume: &VolumeId) -> Vec<u8> {
    let mut bytes = Vec::new();
    bench.ground.volumes.send(volume, &mut bytes).unwrap();
    bytes
}

pub(super) fn the_output<'a>(ran: &'a Ran, name: &str) -> &'a VolumeId {
    let found = ran.outputs.iter().find(|(known, _)| known == name);
    &found
        .unwrap_or_else(|| panic!("no output {name}: {ran:#?}"))
        .1
}

pub async fn inputs_are_private_copies(bench: &Bench) {
    let volume = sealed(bench, "input");
    let before = packed(bench, &volume);
    let script = "cat in/file && in/link && ls -d in/deep/empty && readlink in/link && \
        echo changed >in/file && rm -r in/deep && echo new >in/new && cat again/file";
    let ran = bench
        .run(script, |request| {
            request.inputs = vec![input(&volume, "/step/in"), input(&volume, "/step/again")];
        })
        .await;
    ran.assert_exited(0);
    assert_eq!(
        ran.stdout, "sealed\nran\nin/deep/empty\ndeep/run\nsealed\n",
        "{ran:#?}"
    );
    assert!(packed(bench, &volume) == before, "the volume has changed");
}

pub async fn outputs_become_volumes_also_of_failures(bench: &Bench) {
    let script = "test -z \"$(ls -A empty)\" || exit 9; mkdir -p out/a/b; echo text >out/a/file; \
        ln -s file out/a/link; printf '#!/bin/sh\\n' >out/run; chmod 751 out/run; exit 4";
    let ran = bench
        .run(script, |request| {
            request.outputs = vec![output("out", "/step/out"), output("empty", "/step/empty")];
        })
        .await;
    ran.assert_exited(4);
    let out = folder(bench, the_output(&ran, "out"));
    assert_eq!(fs::read_to_string(out.join("a/link")).unwrap(), "text\n");
    assert!(out.join("a/b").is_dir());
    let mode = fs::metadata(out.join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o751);
    let empty = folder(bench, the_output(&ran, "empty"));
    assert_eq!(fs::read_dir(empty).unwrap().count(), 0);
}

pub async fn an_output_is_the_next_steps_input(bench: &Bench) {
    let script =
        "seq 1 100000 >out/numbers; mkdir out/mine; chown 2:3 out/mine; chmod 700 out/mine";
    let first = bench
        .run(script, |request| {
            request.outputs = vec![output("out", "/step/out")]
        })
        .await;
    first.assert_exited(0);
    let volume = the_output(&first, "out").clone();
    let script = "wc -l <in/numbers; stat -c '%u %g %a' in/mine";
    let second = bench
        .run(script, |request| {
            request.inputs = vec![input(&volume, "/step/in")]
        })
        .await;
    assert_eq!(second.stdout, "100000\n2 3 700\n", "{second:#?}");
}

pub async fn an_input_may_be_an_output(bench: &Bench) {
    let volume = sealed(bench, "both");
    let before = packed(bench, &volume);
    let ran = bench
        .run(
            "cat tree/file; echo more >>tree/file; rm tree/link",
            |request| {
                request.inputs = vec![input(&volume, "/step/tree")];
                request.outputs = vec![output("tree", "/step/tree")];
            },
        )
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "sealed\n", "{ran:#?}");
    let tree = folder(bench, the_output(&ran, "tree"));
    assert_eq!(
        fs::read_to_string(tree.join("file")).unwrap(),
        "sealed\nmore\n"
    );
    assert!(tree.join("deep/run").exists());
    assert!(fs::symlink_metadata(tree.join("link")).is_err());
    assert!(packed(bench, &volume) == before, "the volume has changed");
}
