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
    Principal::new(Claims::local(name), &[main])
}

/// From nobody to admin: what each sees for an action on a hidden thing of the team.
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

#[test]
fn each_action_needs_what_the_table_says() {
    const A: Decision = Allow;
    const U: Decision = Unauthenticated;
    const F: Decision = Forbidden;
    for &action in Action::ALL {
        let expected = match action {
            Action::GetInfo
            | Action::GetWall
            | Action::ListTeams
            | Action::ListAllPipelines
            | Action::ListPipelines
            | Action::ListBuilds => [A, A, A, A, A, A, A],
            Action::GetUser | Action::ListWorkers => [U, A, A, A, A, A, A],
            Action::GetTeam
            | Action::GetConfig
            | Action::GetPipeline
            | Action::ListPipelineBuilds
            | Action::ListJobs
            | Action::GetJob
            | Action::ListJobBuilds
            | Action::GetJobBuild
            | Action::ListResources
            | Action::ListTeamBuilds
            | Action::GetBuild
            | Action::GetBuildPlan
            | Action::BuildEvents
            | Action::GetBuildPreparation
            | Action::ListContainers => [U, F, A, A, A, A, A],
            Action::PausePipeline
            | Action::UnpausePipeline
            | Action::CreateJobBuild
            | Action::AbortBuild => [U, F, F, A, A, A, A],
            Action::SaveConfig
            | Action::DeletePipeline
            | Action::ExposePipeline
            | Action::HidePipeline => [U, F, F, F, A, A, A],
        };
        assert_eq!(decisions(action), expected, "{action:?}");
    }
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
                Access::Public | Access::Filtered => true,
                Access::Token | Access::Role(_) => false,
                Access::ExposedPipeline => exposure != Exposure::Hidden,
                Access::ExposedJob => exposure == Exposure::Job,
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
            Access::Public | Access::Filtered | Access::Token
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
