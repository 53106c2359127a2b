//! The sources of a step's root file system.

use std::{fs, process::Command};

use airside_model::VolumeId;
use airside_runtime::Image;

use super::isolation;
use crate::{
    Bench,
    step::{input, output},
};

/// A sealed volume as a get of an image leaves it: `rootfs` and what is beside it.
fn artifact(bench: &Bench) -> Image {
    let tree = bench.ground.dir.path().join("image-tree");
    let root = tree.join("rootfs");
    fs::create_dir_all(&root).unwrap();
    fs::write(tree.join("metadata.json"), "{}").unwrap();
    let archive =
        std::env::var_os("AIRSIDE_ROOTFS").expect("AIRSIDE_ROOTFS names a root file system");
    let mut tar = Command::new("tar");
    tar.arg("-xpf").arg(archive).arg("-C").arg(&root);
    assert!(tar.status().unwrap().success());
    fs::write(root.join("etc/made-by"), "a build\n").unwrap();
    // Images have such links, which lead nowhere outside a running system, or out of their root.
    let _ = fs::remove_file(root.join("etc/resolv.conf"));
    std::os::unix::fs::symlink("../../run/resolve/stub", root.join("etc/resolv.conf")).unwrap();
    sealed(bench, "image", &tree)
}

fn sealed(bench: &Bench, name: &str, tree: &std::path::Path) -> Image {
    let volume = VolumeId::new(name);
    bench.ground.volumes.adopt(tree, &volume).unwrap();
    Image::Volume { volume }
}

pub async fn an_image_that_does_not_exist_is_named(bench: &Bench) {
    let (image, name) = bench.site.missing_image();
    let ran = bench
        .run("echo never", |request| request.image = image)
        .await;
    assert!(ran.error().contains(&name), "{ran:#?}");
    assert_eq!(ran.stdout, "");
    bench.wait_until_empty().await;
}

/// A step in an artifact finds all that one in any other image finds.
pub async fn an_artifact_is_an_image(bench: &Bench) {
    let image = artifact(bench);
    let given = bench.ground.dir.path().join("given-tree");
    fs::create_dir(&given).unwrap();
    fs::write(given.join("word"), "given\n").unwrap();
    let volume = VolumeId::new("given");
    bench.ground.volumes.adopt(&given, &volume).unwrap();
    let script = "set -e; cat /etc/made-by in/word; pwd; id -u; echo $USER; echo made >out/made; \
        test -e /was-here && echo dirty; touch /tmp/was-here; readlink /proc/self/cwd; \
        head -c 3 /dev/zero | wc -c; echo x >/dev/null; ls /dev/pts /sys/class >/dev/null; \
        test -f /etc/resolv.conf && echo names; test -e /airside-shim && echo shim; grep -c ' / ' /proc/self/mounts";
    for _ in 0..2 {
        let ran = bench
            .run(script, |request| {
                request.image = image.clone();
                request.user = Some("nobody".to_owned());
                request.inputs = vec![input(&volume, "/step/in")];
                request.outputs = vec![output("out", "/step/out")];
            })
            .await;
        ran.assert_exited(0);
        assert_eq!(
            ran.stdout, "a build\ngiven\n/step\n65534\nnobody\n/step\n3\nnames\n1\n",
            "{ran:#?}"
        );
        let made = super::volumes::folder(bench, super::volumes::the_output(&ran, "out"));
        assert_eq!(fs::read_to_string(made.join("made")).unwrap(), "made\n");
    }
}

pub async fn an_artifact_without_a_root_is_told(bench: &Bench) {
    let tree = bench.ground.dir.path().join("no-image-tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "").unwrap();
    let image = sealed(bench, "no-image", &tree);
    let ran = bench
        .run("echo never", |request| request.image = image)
        .await;
    assert!(
        ran.error().contains("it has no folder `rootfs`"),
        "{ran:#?}"
    );
    assert_eq!(ran.stdout, "");
}

pub async fn whoever_is_in_an_artifact_has_the_rights_of_any(bench: &Bench) {
    let image = artifact(bench);
    isolation::has_the_rights_of_any(bench, |request| request.image = image).await;
}

pub async fn nobody_escapes_from_an_artifact(bench: &Bench) {
    let image = artifact(bench);
    isolation::nobody_escapes(bench, |request| request.image = image).await;
}
