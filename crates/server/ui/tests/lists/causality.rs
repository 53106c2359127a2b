//! The page of a version's causality.

use std::collections::BTreeMap;

use airside_model::Version;
use airside_ui::{CausalityColumn, CausalityPage, Crumb, PageStatus, RelatedJob, RelatedNode};

use crate::{HOSTILE, snapshot};

fn node(text: &str, status: Option<PageStatus>) -> RelatedNode {
    RelatedNode {
        text: text.to_owned(),
        whole: text.to_owned(),
        href: "/teams/main/pipelines/web".to_owned(),
        status,
    }
}

fn page(name: &str) -> CausalityPage {
    CausalityPage {
        crumbs: vec![Crumb::new("main", "/"), Crumb::new("9f04e1c", "/x")],
        resource: name.to_owned(),
        icon: "i-branch",
        version: Version(BTreeMap::from([("ref".to_owned(), "9f04e1c".to_owned())])),
        upstream: "/u".to_owned(),
        downstream: "/d".to_owned(),
        versions: "/v".to_owned(),
        columns: vec![
            CausalityColumn::Builds(vec![RelatedJob {
                name: name.to_owned(),
                builds: vec![node("#340", Some(PageStatus::Succeeded))],
                more: 4,
            }]),
            CausalityColumn::Versions(vec![node(name, None)]),
        ],
        ..CausalityPage::default()
    }
}

#[test]
fn causality_stands_in_columns() {
    snapshot("causality", &page("repo").page());
}

#[test]
fn too_large_and_not_used_are_told() {
    let mut large = page("repo");
    large.is_too_large = true;
    large.columns.clear();
    assert!(large.page().body.contains("Too large"));
    large.is_too_large = false;
    assert!(large.page().body.contains("Not used"));
    large.is_upstream = true;
    assert!(large.page().body.contains("Not made by a build"));
}

#[test]
fn hostile_names_stay_text_in_causality() {
    let whole = page(HOSTILE).page().render(&Default::default());
    assert!(!whole.contains("<script>") && whole.contains("&#60;script"));
}
