//! The custom resources.

use airside_kube_objects::Manifest;

/// Returns the definitions of `ImageSet` and `NodeImages`, which are applied before their objects.
pub fn definitions() -> Manifest {
    let definitions = airside_image_rules::definitions();
    definitions
        .iter()
        .fold(Manifest::new(), |manifest, it| manifest.with(it))
}
