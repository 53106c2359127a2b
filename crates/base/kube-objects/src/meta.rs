//! Names, namespaces and labels of objects.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

/// Label by which Services, selectors and people find the pods of one program.
const NAME_LABEL: &str = "app.kubernetes.io/name";

/// Metadata of an object that is in no namespace.
pub fn cluster_wide(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

/// Metadata of an object in a namespace.
pub fn namespaced(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(namespace.to_owned()),
        ..cluster_wide(name)
    }
}

/// Metadata of an object in a namespace, labelled with its own name.
pub fn labelled(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        labels: Some(name_labels(name)),
        ..namespaced(namespace, name)
    }
}

/// Labels of the pods of one program.
pub fn name_labels(name: &str) -> BTreeMap<String, String> {
    [(NAME_LABEL.to_owned(), name.to_owned())].into()
}

/// Selector of the pods of one program.
pub fn name_selector(name: &str) -> LabelSelector {
    LabelSelector {
        match_labels: Some(name_labels(name)),
        match_expressions: None,
    }
}
