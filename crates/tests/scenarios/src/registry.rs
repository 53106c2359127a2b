//! Small images as OCI layouts, and a registry on loopback that serves one.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{Environment, dev_tool};

/// Name under which the image is served.
const NAME: &str = "small/image";

fn run(command: &mut Command) {
    let ended = command.status().expect("the program runs");
    assert!(ended.success(), "{command:?}");
}

/// The small root file system as a layout.
pub fn layout(folder: &Path) -> PathBuf {
    layout_of(&Environment::get().rootfs, folder)
}

fn layout_of(rootfs: &Path, folder: &Path) -> PathBuf {
    let path = folder.join("layout");
    run(Command::new(dev_tool::path("image"))
        .arg("layout")
        .arg(rootfs)
        .arg(&path));
    path
}

/// Makes a layout of an image for a resource type whose `check` is this script.
pub fn type_layout(folder: &Path, check: &str) -> PathBuf {
    layout_of(&type_rootfs(folder, &[("check", check)]), folder)
}

/// The root file system of a resource type with these scripts.
pub fn type_rootfs(folder: &Path, scripts: &[(&str, &str)]) -> PathBuf {
    let (tree, rootfs) = (folder.join("tree"), folder.join("rootfs.tar"));
    let programs = tree.join("opt/resource");
    fs::create_dir_all(&programs).expect("the folder is ours");
    for (name, script) in scripts {
        let path = programs.join(name);
        fs::write(&path, script).expect("the folder is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }
    fs::copy(Environment::get().rootfs, &rootfs).expect("the root file system is there");
    run(Command::new("tar")
        .arg("--append")
        .args(["--owner=0", "--group=0", "-C"])
        .arg(&tree)
        .arg("-f")
        .arg(&rootfs)
        .arg("opt"));
    rootfs
}

/// Adds to what the image of a layout says of itself.
pub fn describe_image(layout: &Path, more: &Value) {
    let read = |name: &str| -> Value {
        let text = fs::read(layout.join(name)).expect("the layout is ours");
        serde_json::from_slice(&text).expect("the layout is ours")
    };
    let keep = |document: &Value| {
        let text = document.to_string();
        let hex = hex::encode(Sha256::digest(text.as_bytes()));
        fs::write(layout.join("blobs/sha256").join(&hex), &text).expect("the layout is ours");
        (format!("sha256:{hex}"), text.len())
    };
    let blob = |document: &Value| {
        let digest = document["digest"].as_str().expect("the layout is ours");
        read(&format!("blobs/sha256/{}", &digest["sha256:".len()..]))
    };
    let mut index = read("index.json");
    let mut manifest = blob(&index["manifests"][0]);
    let mut config = blob(&manifest["config"]);
    for (key, value) in more.as_object().expect("the layout is ours") {
        config["config"][key] = value.clone();
    }
    let (digest, size) = keep(&config);
    manifest["config"]["digest"] = digest.into();
    manifest["config"]["size"] = size.into();
    let (digest, size) = keep(&manifest);
    index["manifests"][0]["digest"] = digest.into();
    index["manifests"][0]["size"] = size.into();
    fs::write(layout.join("index.json"), index.to_string()).expect("the layout is ours");
}

/// `dev/registry` with one image, until it is dropped.
pub struct Registry {
    process: Child,
    pub port: String,
}

impl Registry {
    pub fn start(layout: &Path, more: &[&str]) -> Self {
        let served = format!("{NAME}={}", layout.display());
        let (process, port) = dev_tool::start_tool("registry", &[more, &[&served]].concat());
        Self { process, port }
    }

    /// Returns the image's name for an image resource.
    pub fn repository(&self) -> String {
        format!("127.0.0.1:{}/{NAME}", self.port)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
