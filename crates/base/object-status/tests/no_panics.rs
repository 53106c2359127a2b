//! Whatever an object or a path is, there is a verdict and no panic.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use airside_object_status::{FieldPath, FieldTest, StatusRules, judge};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Words that rules look for, so that arbitrary objects reach them.
const WORDS: &[&str] = &[
    "metadata",
    "generation",
    "uid",
    "status",
    "spec",
    "conditions",
    "type",
    "Ready",
    "Succeeded",
    "Stalled",
    "Reconciling",
    "Failed",
    "Complete",
    "True",
    "False",
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "phase",
    "sync",
    "health",
    "source",
    "sources",
    "comparedTo",
    "containerStatuses",
    "state",
    "terminated",
    "exitCode",
    "loadBalancer",
    "ingress",
    "updateStrategy",
    "rollingUpdate",
    "partition",
    "operationState",
    "",
];

const KINDS: &[(&str, &str)] = &[
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolumeClaim"),
    ("batch/v1", "Job"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "ReplicaSet"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("argoproj.io/v1alpha1", "Application"),
    ("argoproj.io/v1alpha1", "Workflow"),
    ("kpack.io/v1alpha2", "Image"),
    ("", ""),
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(WORDS).prop_map(str::to_owned),
        1 => ".{0,8}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn no_object_panics(spec in value(), status in value(), metadata in value(), kind in proptest::sample::select(KINDS)) {
        let object = json!({
            "apiVersion": kind.0, "kind": kind.1, "spec": spec, "status": status, "metadata": metadata,
        });
        let path = FieldPath::parse("status.conditions[type=Ready].status").unwrap();
        let rules = StatusRules {
            fail: vec![FieldTest::AtLeast { path, value: 1.0 }],
            has_status: true,
            ..StatusRules::default()
        };
        for object in [&object, &spec] {
            for rules in [&rules, &StatusRules::default()] {
                prop_assert!(judge(object, rules).to_string().len() < 20_000);
            }
        }
    }

    #[test]
    fn no_path_panics(path in "[a-c.\\[\\]=\"0-9$]{0,40}", mut object in value()) {
        if let Ok(path) = FieldPath::parse(&path) {
            let _ = path.find(&object);
            if path.write(&mut object, json!("new")).is_ok() {
                prop_assert_eq!(path.find(&object), Some(&json!("new")));
            }
        }
    }
}
