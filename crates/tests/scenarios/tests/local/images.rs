//! Tasks in images that are files on this machine: an OCI layout, with no registry.

use std::path::Path;

use airside_scenarios::{Server, layout, pipelines::job};

fn task(layout: &str, script: &str) -> String {
    format!(
        "  - task: work\n    config:\n      platform: linux\n      \
         image_resource: {{type: oci-layout, source: {{path: {layout}}}}}\n      \
         run: {{path: sh, args: [-c, '{script}']}}\n"
    )
}

#[test]
fn a_task_sees_its_image_and_nothing_of_this_machine() {
    let server = Server::start();
    let fly = server.fly();
    let layout = layout(server.home()).display().to_string();
    let script = "grep -c . /etc/passwd; test -e /etc/debian_version && echo host || echo image; \
        test -e /was-here && echo dirty || echo clean; touch /was-here; id -u";
    fly.pipeline("p", &job(&[task(&layout, script)]));
    for _ in 0..2 {
        let lines = fly.trigger_and_watch("p/job").succeeded().lines();
        assert_eq!(
            lines[lines.len() - 5..],
            ["6", "image", "clean", "0", "succeeded"],
            "{lines:#?}"
        );
    }
    // Unpacked once, for all builds.
    let images = std::fs::read_dir(server.data().join("images/images")).unwrap();
    assert_eq!(images.count(), 1);
}

#[test]
fn a_damaged_layout_ends_in_error() {
    let server = Server::start();
    let fly = server.fly();
    let layout = layout(server.home()).display().to_string();
    let blobs = Path::new(&layout).join("blobs/sha256");
    let sizes = std::fs::read_dir(blobs).unwrap().flatten();
    let largest = sizes
        .max_by_key(|entry| entry.metadata().unwrap().len())
        .unwrap()
        .path();
    let mut layer = std::fs::read(&largest).unwrap();
    let middle = layer.len() / 2;
    layer[middle] ^= 1;
    std::fs::write(&largest, layer).unwrap();
    fly.pipeline("p", &job(&[task(&layout, "echo never")]));
    let output = fly.trigger_and_watch("p/job").ended_with(2);
    assert!(output.stdout.contains("the image is damaged"), "{output:?}");
}
