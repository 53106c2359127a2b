//! Images that are artifacts, and resource types of a pipeline's own, all made from `mock`.

use airside_scenarios::{Fly, Server, ServerOptions, mock_image};

fn printed(fly: &Fly, job: &str) -> String {
    let output = fly.trigger_and_watch(job).succeeded();
    output.lines().join("\n")
}

const PIPELINE: &str = r#"
resource_types:
- {name: outer, type: inner, source: {mirror_self: true, initial_version: outer-1}}
- {name: inner, type: mock, source: {mirror_self: true, initial_version: inner-1}}

resources:
- {name: image, type: mock, source: {mirror_self: true, force_version: i1}}
- {name: thing, type: outer, source: {create_files: {text: made by the outer type}}}

jobs:
- name: images
  plan:
  - get: image
  - task: artifact
    image: image
    config: {platform: linux, run: {path: sh, args: [-c, 'echo from $MIRRORED_VERSION, $(id -un)']}}
  - task: resource
    config:
      platform: linux
      image_resource: {type: mock, source: {mirror_self: true, initial_version: i2}}
      run: {path: sh, args: [-c, 'echo from $MIRRORED_VERSION; ls -1 /opt/resource']}
- name: types
  plan:
  - get: thing
  - task: show
    image: image
    config: {platform: linux, run: {path: 'true'}}
    on_error: {put: thing, params: {version: pushed}}
"#;

#[test]
fn images_and_types_come_from_resources() {
    let folder = tempfile::tempdir().unwrap();
    let image = mock_image(folder.path());
    let server = ServerOptions::new().args(["--mock-image", &image]).start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    let text = printed(&fly, "p/images");
    assert!(text.contains("\nfrom i1, root\n"), "{text}");
    assert!(text.contains("initializing check: image\n"), "{text}");
    assert!(text.contains("\nfrom i2\ncheck\nin\nout\n"), "{text}");

    // The outer type is the mock of an image made by the inner one, and says so as its first
    // version.
    let output = fly.trigger_and_watch("p/types").ended_with(2);
    let text = output.lines().join("\n");
    // The check of the resource has fetched that one already.
    assert!(text.contains("initializing check: inner\n"), "{text}");
    assert!(text.contains("fetching version: outer-1\n"), "{text}");
    assert!(
        text.contains("missing image artifact source: image"),
        "{text}"
    );
    assert!(text.contains("pushing version: pushed\n"), "{text}");
}

#[test]
fn without_an_image_mock_says_what_to_do() {
    let server = Server::start();
    let fly = server.fly();
    fly.pipeline("p", PIPELINE);
    let output = fly.trigger_and_watch("p/images").ended_with(1);
    assert!(output.stdout.contains("--mock-image"), "{output:?}");
}
