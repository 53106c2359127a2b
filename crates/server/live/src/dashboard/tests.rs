use std::collections::BTreeSet;

use airside_model::TeamId;
use serde_json::{Value, json};

use super::*;
use crate::item::tests::pipeline;

fn teams(teams: &[i64]) -> LiveSight {
    let teams = teams.iter().map(|team| TeamId(*team));
    LiveSight::Teams(teams.collect::<BTreeSet<_>>())
}

/// The ids of the items in each list of a patch.
fn seen(patch: &Option<DashboardPatch>, sight: &LiveSight) -> Value {
    let Some(fields) = patch.as_ref().and_then(|patch| patch.render(sight)) else {
        return Value::Null;
    };
    let mut patch: Value = serde_json::from_str(&format!("{{{fields}}}")).unwrap();
    if let Some(Value::Array(items)) = patch.get_mut("items") {
        for item in items {
            *item = item[0].take();
        }
    }
    patch
}

fn ids(state: &DashboardState, sight: &LiveSight) -> Vec<i64> {
    let items: Vec<Value> = serde_json::from_str(&format!("[{}]", state.render(sight))).unwrap();
    items.iter().map(|item| item[0].as_i64().unwrap()).collect()
}

/// Pipelines 1 and 2 of team 1, 3 and 4 of team 2; 4 is exposed.
fn stage() -> (DashboardState, Vec<DashboardPipeline>) {
    let mut all = vec![
        pipeline(1, 1),
        pipeline(2, 1),
        pipeline(3, 2),
        pipeline(4, 2),
    ];
    all[3].public = true;
    let mut state = DashboardState::default();
    assert!(state.replace(&all).is_some());
    assert_eq!(state.replace(&all), None, "nothing changed");
    (state, all)
}

#[test]
fn each_reader_sees_its_teams_and_what_is_exposed() {
    let (state, _) = stage();
    for (sight, expected) in [
        (LiveSight::All, vec![1, 2, 3, 4]),
        (teams(&[1, 2]), vec![1, 2, 3, 4]),
        (teams(&[1]), vec![1, 2, 4]),
        (teams(&[2]), vec![3, 4]),
        (teams(&[]), vec![4]),
    ] {
        assert_eq!(ids(&state, &sight), expected, "{sight:?}");
    }
}

#[test]
fn a_change_is_for_those_who_see_it() {
    let (mut state, mut all) = stage();
    all[0].paused = true;
    all[0].paused_by = Some("ann".to_owned());
    let patch = state.update(&[(PipelineId(1), Some(all[0].clone()))]);
    let expected = json!({"items": [1]});
    assert_eq!(seen(&patch, &teams(&[1])), expected);
    assert_eq!(seen(&patch, &LiveSight::All), expected);
    assert_eq!(seen(&patch, &teams(&[2])), Value::Null);
    assert_eq!(seen(&patch, &teams(&[])), Value::Null);
    assert_eq!(state.update(&[(PipelineId(1), Some(all[0].clone()))]), None);

    // Of what is exposed, strangers see that it is paused, not who did it.
    all[3].paused = true;
    all[3].paused_by = Some("bob".to_owned());
    let patch = state
        .update(&[(PipelineId(4), Some(all[3].clone()))])
        .unwrap();
    assert!(patch.render(&teams(&[2])).unwrap().contains("bob"));
    assert!(!patch.render(&teams(&[1])).unwrap().contains("bob"));
}

#[test]
fn what_is_hidden_is_gone_and_what_is_exposed_comes() {
    let (mut state, mut all) = stage();
    all[3].public = false;
    let patch = state.update(&[(PipelineId(4), Some(all[3].clone()))]);
    assert_eq!(seen(&patch, &teams(&[])), json!({"gone": [4]}));
    let stranger = json!({"gone": [4], "order": [1, 2]});
    assert_eq!(seen(&patch, &teams(&[1])), stranger);
    let own = json!({"items": [4], "order": [3, 4]});
    assert_eq!(seen(&patch, &teams(&[2])), own);
    assert_eq!(ids(&state, &teams(&[])), Vec::<i64>::new());

    all[1].public = true;
    let patch = state.update(&[(PipelineId(2), Some(all[1].clone()))]);
    let comes = json!({"items": [2], "order": [2, 3, 4]});
    assert_eq!(seen(&patch, &teams(&[2])), comes);
    assert_eq!(ids(&state, &teams(&[2])), [2, 3, 4]);
}

#[test]
fn pipelines_come_move_and_go() {
    let (mut state, mut all) = stage();
    let patch = state.update(&[(PipelineId(2), None)]);
    assert_eq!(seen(&patch, &teams(&[1])), json!({"gone": [2]}));
    assert_eq!(
        seen(&patch, &teams(&[2])),
        Value::Null,
        "not even that it was"
    );
    assert_eq!(ids(&state, &teams(&[1])), [1, 4]);
    assert!(!state.has(PipelineId(2)) && state.has(PipelineId(1)));

    all[1] = pipeline(5, 1);
    all.swap(0, 1);
    let patch = state.replace(&all);
    let expected = json!({"items": [5], "order": [5, 1, 4]});
    assert_eq!(seen(&patch, &teams(&[1])), expected);
    all.swap(0, 1);
    let patch = state.replace(&all);
    assert_eq!(seen(&patch, &teams(&[1])), json!({"order": [1, 5, 4]}));
    assert_eq!(seen(&patch, &teams(&[])), json!({"order": [4]}));
    let patch = state.replace(&all[..1]);
    assert_eq!(
        seen(&patch, &LiveSight::All)["gone"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}
