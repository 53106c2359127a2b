use airside_model::plan::TypeImage;
use serde_json::json;

use super::*;

fn get(change: impl FnOnce(&mut GetPlan)) -> GetPlan {
    let mut get = GetPlan {
        name: "image".to_owned(),
        type_: "registry-image".to_owned(),
        source: source(json!({})),
        ..GetPlan::default()
    };
    change(&mut get);
    get
}

fn source(more: Value) -> Map<String, Value> {
    let mut source = json!({"repository": "r.example.com/a", "tag": "1"});
    for (key, value) in more.as_object().unwrap() {
        source[key] = value.clone();
    }
    source.as_object().unwrap().clone()
}

fn version() -> Version {
    Version::from([("digest", "sha256:1"), ("tag", "1")])
}

#[test]
fn only_what_a_node_can_pull_as_it_is_may_be_described() {
    let plain = get(|_| {});
    let may = |get: &GetPlan, more: Value| may_be_described(get, &source(more), &version());
    assert!(may(&plain, json!({})));
    assert!(may(
        &plain,
        json!({"username": "u", "password": "p", "insecure": true})
    ));
    for more in [
        json!({"ca_certs": ["x"]}),
        json!({"registry_mirror": {"host": "m"}}),
        json!({"aws_region": "eu-1"}),
        json!({"platform": {"architecture": "arm64"}}),
        json!({"repository": 3}),
        json!({"unknown": 1}),
    ] {
        assert!(!may(&plain, more.clone()), "{more}");
    }
    let params = |value: Value| get(|get| get.params = value.as_object().unwrap().clone());
    for params in [
        params(json!({"format": "rootfs"})),
        params(json!({"format": "oci"})),
        params(json!({"skip_download": true})),
        get(|get| get.type_ = "git".to_owned()),
        get(|get| {
            let inner = Plan::new(PlanId::new("i"), PlanNode::Get(GetPlan::default()));
            get.image = TypeImage {
                get_plan: Some(Box::new(inner)),
                ..TypeImage::default()
            };
        }),
    ] {
        assert!(!may(&params, json!({})), "{params:?}");
    }
    let without = Version::from([("tag", "1")]);
    assert!(!may_be_described(&plain, &source(json!({})), &without));
}

fn task(id: &str, image: &str, tags: &[&str]) -> Value {
    json!({"id": id, "task": {
        "name": id, "privileged": false, "hermetic": false, "image": image, "tags": tags,
    }})
}

#[test]
fn tasks_are_found_wherever_they_are() {
    let template = json!({"id": "t", "do": [
        task("5", "inner", &["((.:tag))"]), task("6", "((.:name))", &[]),
    ]});
    let plan = json!({"id": "1", "do": [
        task("2", "image", &["k"]),
        task("3", "", &["k"]),
        {"id": "4", "across": {
            "vars": [], "substep_template": template.to_string(), "fail_fast": false,
        }},
        {"id": "7", "on_failure": {"step": task("8", "other", &[]), "on_failure": task("9", "image", &[])}},
    ]});
    let uses = Uses::of(&serde_json::from_value(plan).unwrap());
    let tags = |name: &str| uses.tags(name).to_vec();
    let none = Vec::<Vec<String>>::new();
    assert_eq!(tags("image"), [vec!["k".to_owned()], vec![]]);
    assert_eq!(tags("inner"), [["((.:tag))".to_owned()]]);
    assert_eq!(tags("other"), [Vec::<String>::new()]);
    assert_eq!(tags("missing"), none);
    assert_eq!(tags(""), none);
}

#[test]
fn a_reference_names_the_digest_and_can_be_fetched() {
    let get = get(|get| get.version = Some(version()));
    let reference = Arc::new(Reference { get });
    let Image::Registry {
        reference: name, ..
    } = reference.image()
    else {
        panic!("no image of a registry");
    };
    assert_eq!(name, "r.example.com/a@sha256:1");
    let plan = fetching(&PlanId::new("5"), "image", &reference);
    assert_eq!(plan.id, PlanId::new("5/fetch-image"));
    let PlanNode::Get(get) = plan.node else {
        panic!("no get");
    };
    assert!(!may_be_described(&get, &get.source, &version()));
}
