//! What a step's root file system comes from.

use crate::Bench;

pub async fn an_image_that_does_not_exist_is_named(bench: &Bench) {
    let (image, name) = bench.site.missing_image();
    let ran = bench
        .run("echo never", |request| request.image = image)
        .await;
    assert!(ran.error().contains(&name), "{ran:#?}");
    assert_eq!(ran.stdout, "");
    bench.wait_until_empty().await;
}
