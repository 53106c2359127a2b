use airside_model::TeamId;
use serde_json::json;

use super::{Decision::*, *};
use crate::principal::Claims;

fn team(name: &str, admin: bool) -> Team {
    let auth = json!({
        "viewer": {"users": ["local:viewer"]},
        "pipeline-operator": {"users": ["local:pipeline-operator"]},
        "member": {"users": ["local:member"]},
        "owner": {"users": ["local:owner"]},
    });
    Team {
        id: TeamId(1),
        name: name.into(),
        admin,
        auth,
    }
}

fn principal(name: &str) -> Principal {
    let mut main = team("main", true);
    main.auth = json!({"owner": {"users": ["local:admin"]}});
    let teams = [main, team("t", false)];
    Principal::new(Claims::from(crate::Identity::local(name)), &teams)
}

/// Returns the decisions for an action on a hidden object of the team, from a visitor to an admin.
fn decisions(action: Action) -> Vec<Decision> {
    let team = team("t", false);
    let target = Target {
        team: Some(&team),
        exposure: Exposure::Hidden,
    };
    let mut decisions = vec![authorize(action, None, target)];
    for name in [
        "stranger",
        "viewer",
        "pipeline-operator",
        "member",
        "owner",
        "admin",
    ] {
        decisions.push(authorize(action, Some(&principal(name)), target));
    }
    decisions
}

/// Written out by hand from Concourse's own table: the callers that are let in, from a visitor to
/// an admin.
#[test]
fn each_action_needs_what_the_table_says() {
    const A: Decision = Allow;
    const U: Decision = Unauthenticated;
    const F: Decision = Forbidden;
    let mut counts = std::collections::BTreeMap::new();
    for &action in Action::ALL {
        let (kind, expected) = match action.access() {
            RequiredAccess::Public => ("public", [A, A, A, A, A, A, A]),
            RequiredAccess::Filtered => ("filtered", [A, A, A, A, A, A, A]),
            RequiredAccess::Token => ("token", [U, A, A, A, A, A, A]),
            RequiredAccess::SomeTeam => ("some team", [U, F, A, A, A, A, A]),
            RequiredAccess::ExposedPipeline => ("pipeline", [U, F, A, A, A, A, A]),
            RequiredAccess::ExposedJob => ("job", [U, F, A, A, A, A, A]),
            RequiredAccess::Role(Role::Viewer) => ("viewer", [U, F, A, A, A, A, A]),
            RequiredAccess::WorkerTeam(Role::Viewer) => ("worker viewer", [U, F, A, A, A, A, A]),
            RequiredAccess::Role(Role::PipelineOperator) => ("operator", [U, F, F, A, A, A, A]),
            RequiredAccess::Role(Role::Member) => ("member", [U, F, F, F, A, A, A]),
            RequiredAccess::WorkerTeam(_) => ("worker member", [U, F, F, F, A, A, A]),
            RequiredAccess::Role(Role::Owner) => ("owner", [U, F, F, F, F, A, A]),
            RequiredAccess::Role(Role::Admin) => ("admin", [U, F, F, F, F, F, A]),
        };
        *counts.entry(kind).or_insert(0) += 1;
        assert_eq!(decisions(action), expected, "{action:?}");
    }
    // A route that changes its kind, or a new one, is a change of this list.
    let counts: Vec<_> = counts.into_iter().collect();
    assert_eq!(
        counts,
        [
            ("admin", 23),
            ("filtered", 12),
            ("job", 7),
            ("member", 13),
            ("operator", 19),
            ("owner", 1),
            ("pipeline", 26),
            ("public", 8),
            ("some team", 3),
            ("token", 1),
            ("viewer", 9),
            ("worker member", 5),
            ("worker viewer", 2),
        ]
    );
}

#[test]
fn what_is_exposed_may_be_seen_by_anybody_and_no_more() {
    let team = team("t", false);
    for &action in Action::ALL {
        for exposure in [Exposure::Hidden, Exposure::Pipeline, Exposure::Job] {
            let decision = authorize(
                action,
                None,
                Target {
                    team: Some(&team),
                    exposure,
                },
            );
            let allowed = match action.access() {
                RequiredAccess::Public | RequiredAccess::Filtered => true,
                RequiredAccess::Token
                | RequiredAccess::SomeTeam
                | RequiredAccess::Role(_)
                | RequiredAccess::WorkerTeam(_) => false,
                RequiredAccess::ExposedPipeline => exposure != Exposure::Hidden,
                RequiredAccess::ExposedJob => exposure == Exposure::Job,
            };
            assert_eq!(decision == Allow, allowed, "{action:?} {exposure:?}");
        }
    }
}

#[test]
fn what_does_not_exist_is_for_admins_only() {
    for &action in Action::ALL {
        if matches!(
            action.access(),
            RequiredAccess::Public
                | RequiredAccess::Filtered
                | RequiredAccess::Token
                | RequiredAccess::SomeTeam
        ) {
            continue;
        }
        let nothing = Target::default();
        assert_eq!(authorize(action, None, nothing), Unauthenticated);
        assert_eq!(
            authorize(action, Some(&principal("owner")), nothing),
            Forbidden
        );
        assert_eq!(authorize(action, Some(&principal("admin")), nothing), Allow);
    }
}

#[test]
fn no_two_actions_share_a_route() {
    for (index, one) in Action::ALL.iter().enumerate() {
        for other in &Action::ALL[index + 1..] {
            assert_ne!((one.method(), one.path()), (other.method(), other.path()));
        }
    }
}
