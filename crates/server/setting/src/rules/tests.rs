use airside_store::DeletionPolicy;

use super::*;

const MODES: [FlyMode; 4] = [
    FlyMode::Store,
    FlyMode::Judge,
    FlyMode::Proxy,
    FlyMode::Refuse,
];

fn control(fly: FlyMode) -> TeamControl {
    TeamControl {
        cluster: "c".into(),
        namespace: "ci-main".into(),
        fly,
        clear_secrets: false,
    }
}

fn owner(namespace: &str) -> PipelineObject {
    PipelineObject {
        cluster: "c".into(),
        namespace: namespace.into(),
        name: "app".into(),
        uid: "u".into(),
        generation: 1,
        hash: "h".into(),
        deletion_policy: DeletionPolicy::Archive,
        applied_paused: None,
        applied_exposed: None,
    }
}

const OWNED: &str =
    "pipeline app is set by pipeline.ci.airside.dev/app in ci-main; change it there";
const OBJECTS_ALONE: &str = "pipeline app is not set here: objects of kind pipeline.ci.airside.dev in ci-main of cluster c \
    set the pipelines of its team";

#[test]
fn the_mode_and_the_owner_decide_how_a_pipeline_is_set() {
    use SaveClaim::{Object, Release, Server};
    use SetRoute::{Judge, Proxy, Save};
    let (own, elsewhere) = (owner("ci-main"), owner("ci-old"));
    // Columns: store, judge, proxy, refuse.
    let by_people = [
        (
            None,
            [
                Ok(Save(Server)),
                Ok(Judge(Server)),
                Ok(Proxy),
                Err(OBJECTS_ALONE),
            ],
        ),
        (Some(&own), [Err(OWNED), Err(OWNED), Ok(Proxy), Err(OWNED)]),
        (
            Some(&elsewhere),
            [
                Ok(Save(Release)),
                Ok(Judge(Release)),
                Ok(Proxy),
                Err(OBJECTS_ALONE),
            ],
        ),
    ];
    for (owner, expected) in by_people {
        for (mode, expected) in MODES.into_iter().zip(expected) {
            for through in [SetThrough::Fly, SetThrough::Step] {
                let route = set_route(Some(&control(mode)), owner, through, "app");
                assert_eq!(
                    route.as_ref().map_err(String::as_str),
                    expected.as_ref().map_err(|words| *words),
                    "{mode}"
                );
            }
        }
    }
    for owner in [None, Some(&own), Some(&elsewhere)] {
        for (mode, expected) in
            MODES
                .into_iter()
                .zip([Save(Object), Judge(Object), Judge(Object), Judge(Object)])
        {
            let route = set_route(Some(&control(mode)), owner, SetThrough::Object, "app");
            assert_eq!(route, Ok(expected), "{mode}");
        }
        for through in [SetThrough::Fly, SetThrough::Step] {
            assert_eq!(set_route(None, owner, through, "app"), Ok(Save(Release)));
        }
        set_route(None, owner, SetThrough::Object, "app").unwrap_err();
    }
}

#[test]
fn the_mode_and_the_owner_decide_what_else_may_be_done() {
    let own = owner("ci-main");
    let all = [
        PipelineChange::Rename,
        PipelineChange::Archive,
        PipelineChange::Destroy,
        PipelineChange::Pause,
        PipelineChange::Unpause,
        PipelineChange::Expose,
        PipelineChange::Hide,
    ];
    for mode in MODES {
        let control = control(mode);
        for change in all {
            let route = change_route(Some(&control), Some(&own), change, "app");
            match change {
                PipelineChange::Destroy if mode == FlyMode::Proxy => {
                    assert_eq!(route, Ok(ChangeRoute::DeleteObject(&own)));
                }
                PipelineChange::Rename | PipelineChange::Archive | PipelineChange::Destroy => {
                    let words = route.unwrap_err();
                    let start = "pipeline app is set by pipeline.ci.airside.dev/app in ci-main; ";
                    assert!(words.starts_with(start), "{words}");
                }
                _ => assert_eq!(route, Ok(ChangeRoute::Proceed), "{mode} {change:?}"),
            }
            // What no object of the team's own namespace sets is the team's.
            for owner in [None, Some(&owner("ci-old"))] {
                let route = change_route(Some(&control), owner, change, "app");
                assert_eq!(route, Ok(ChangeRoute::Proceed));
            }
            let route = change_route(None, Some(&own), change, "app");
            assert_eq!(route, Ok(ChangeRoute::Proceed));
        }
    }
}

#[test]
fn modes_are_read_as_they_are_shown() {
    for mode in MODES {
        let read: FlyMode = serde_json::from_value(mode.to_string().into()).unwrap();
        assert_eq!(read, mode);
    }
    assert_eq!(FlyMode::default(), FlyMode::Judge);
}
