//! Inputs and outputs in, over and under each other, and whose they are.

use std::{fs, os::unix::fs::MetadataExt};

use airside_model::VolumeId;

use super::volumes::{folder, the_output};
use crate::{
    Bench,
    step::{input, output},
};

/// A sealed volume with one file in it, and one in a folder; root's, as a `get` leaves it.
fn sealed(bench: &Bench, name: &str, file: &str) -> VolumeId {
    let tree = bench.ground.dir.path().join(format!("{name}-tree"));
    fs::create_dir_all(tree.join("deep")).unwrap();
    fs::write(tree.join(file), format!("{name}\n")).unwrap();
    fs::write(tree.join("deep/file"), format!("deep {name}\n")).unwrap();
    let volume = VolumeId::new(name);
    bench.ground.volumes.adopt(&tree, &volume).unwrap();
    volume
}

pub async fn an_input_may_lie_in_another(bench: &Bench) {
    let (outer, inner) = (sealed(bench, "outer", "a"), sealed(bench, "inner", "b"));
    let ran = bench
        .run(
            "cat outer/a outer/new/b outer/deep/b outer/deep/deep/file",
            |request| {
                // In an order that is not the one to mount them in.
                request.inputs = vec![
                    input(&inner, "/step/outer/new"),
                    input(&inner, "/step/outer/deep"),
                    input(&outer, "/step/outer"),
                ];
            },
        )
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "outer\ninner\ninner\ndeep inner\n", "{ran:#?}");
}

pub async fn an_input_may_lie_in_an_output(bench: &Bench) {
    let volume = sealed(bench, "nested", "a");
    let ran = bench
        .run(
            "cat out/in/a; echo changed >out/in/a; echo new >out/file",
            |request| {
                request.inputs = vec![input(&volume, "/step/out/in")];
                request.outputs = vec![output("out", "/step/out")];
            },
        )
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "nested\n", "{ran:#?}");
    let next = the_output(&ran, "out").clone();
    let ran = bench
        .run("ls in; cat in/file", |request| {
            request.inputs = vec![input(&next, "/step/in")];
        })
        .await;
    assert_eq!(ran.stdout, "file\nin\nnew\n", "{ran:#?}");
    let kept = fs::read_to_string(folder(bench, &volume).join("a")).unwrap();
    assert_eq!(kept, "nested\n");
}

pub async fn an_output_may_lie_in_an_input(bench: &Bench) {
    let volume = sealed(bench, "around", "a");
    let ran = bench
        .run(
            "echo new >in/deep/out/file; cat in/deep/file; echo x >in/b",
            |request| {
                request.inputs = vec![input(&volume, "/step/in")];
                request.outputs = vec![output("out", "/step/in/deep/out")];
            },
        )
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "deep around\n", "{ran:#?}");
    let out = folder(bench, the_output(&ran, "out"));
    assert_eq!(fs::read_to_string(out.join("file")).unwrap(), "new\n");
    let untouched = folder(bench, &volume);
    assert!(!untouched.join("b").exists() && !untouched.join("deep/out").exists());
}

/// An output at `.`, with an input and another output inside.
pub async fn the_working_folder_may_be_an_output(bench: &Bench) {
    let volume = sealed(bench, "within", "a");
    let ran = bench
        .run(
            "cat in/a; echo x >in/new; echo bar >at-root; echo o >other/o",
            |request| {
                request.inputs = vec![input(&volume, "/step/in")];
                request.outputs = vec![output("all", "/step"), output("other", "/step/other")];
            },
        )
        .await;
    ran.assert_exited(0);
    let all = folder(bench, the_output(&ran, "all"));
    assert_eq!(fs::read_to_string(all.join("at-root")).unwrap(), "bar\n");
    let other = folder(bench, the_output(&ran, "other"));
    assert_eq!(fs::read_to_string(other.join("o")).unwrap(), "o\n");
    assert!(!folder(bench, &volume).join("new").exists());
}

/// A task cache that lies in an input is an output that begins as the last build left it.
pub async fn a_cache_may_lie_over_an_input(bench: &Bench) {
    let (source, cache) = (sealed(bench, "source", "a"), sealed(bench, "cache", "kept"));
    let ran = bench
        .run(
            "cat in/a in/deep/kept; ls in/deep; echo more >in/deep/more",
            |request| {
                request.inputs = vec![input(&source, "/step/in"), input(&cache, "/step/in/deep")];
                request.outputs = vec![output("cache", "/step/in/deep")];
            },
        )
        .await;
    ran.assert_exited(0);
    assert_eq!(ran.stdout, "source\ncache\ndeep\nkept\n", "{ran:#?}");
    let kept = folder(bench, the_output(&ran, "cache"));
    assert!(kept.join("more").exists() && kept.join("kept").exists());
    assert!(!folder(bench, &cache).join("more").exists());
}

const OWNERS: &str = "stat -c '%u:%g %n' in in/a in/deep/file out";

pub async fn root_finds_everything_its_own(bench: &Bench) {
    let volume = sealed(bench, "roots", "a");
    let ran = bench
        .run(&format!("{OWNERS}; touch in/x out/x"), |request| {
            request.inputs = vec![input(&volume, "/step/in")];
            request.outputs = vec![output("out", "/step/out")];
        })
        .await;
    ran.assert_exited(0);
    let expected = "0:0 in\n0:0 in/a\n0:0 in/deep/file\n0:0 out\n";
    assert_eq!(ran.stdout, expected, "{ran:#?}");
}

/// Others get all of it, for this step alone.
pub async fn another_user_gets_its_mounts(bench: &Bench) {
    let volume = sealed(bench, "given", "a");
    let script = format!("{OWNERS}; echo mine >>in/a; rm in/deep/file; echo o >out/o; mkdir out/d");
    let ran = bench
        .run(&script, |request| {
            request.user = Some("nonroot".to_owned());
            request.inputs = vec![input(&volume, "/step/in")];
            request.outputs = vec![output("out", "/step/out")];
        })
        .await;
    ran.assert_exited(0);
    let expected = "65532:65532 in\n65532:65532 in/a\n65532:65532 in/deep/file\n65532:65532 out\n";
    assert_eq!(ran.stdout, expected, "{ran:#?}");
    // What the step began with is as it was.
    let file = folder(bench, &volume).join("a");
    assert_eq!(fs::read_to_string(&file).unwrap(), "given\n");
    assert_eq!(fs::metadata(&file).unwrap().uid(), 0);

    // Root takes it as it is, but for the folder itself; a third user gets it anew.
    let out = the_output(&ran, "out").clone();
    let next = |user: Option<&'static str>| {
        let out = out.clone();
        bench.run("stat -c '%u %n' in in/o in/d", move |request| {
            request.user = user.map(str::to_owned);
            request.inputs = vec![input(&out, "/step/in")];
        })
    };
    let as_root = next(None).await.stdout;
    assert_eq!(as_root, "0 in\n65532 in/o\n65532 in/d\n");
    let as_adm = next(Some("adm")).await.stdout;
    assert_eq!(as_adm, "3 in\n3 in/o\n3 in/d\n");
}

/// An input and an output at one path, for a user that is not root.
pub async fn another_user_may_change_an_input_into_an_output(bench: &Bench) {
    let volume = sealed(bench, "both-given", "a");
    let ran = bench
        .run("echo more >>tree/a; stat -c %u tree/a", |request| {
            request.user = Some("daemon".to_owned());
            request.inputs = vec![input(&volume, "/step/tree")];
            request.outputs = vec![output("other-name", "/step/tree")];
        })
        .await;
    assert_eq!(ran.stdout, "2\n", "{ran:#?}");
    let tree = folder(bench, the_output(&ran, "other-name"));
    assert_eq!(
        fs::read_to_string(tree.join("a")).unwrap(),
        "both-given\nmore\n"
    );
    assert_eq!(
        fs::metadata(folder(bench, &volume).join("a"))
            .unwrap()
            .uid(),
        0
    );
}
