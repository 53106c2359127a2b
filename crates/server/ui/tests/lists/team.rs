//! Pages of teams, and of fly.

use airside_ui::{
    DestroyForm, DownloadPage, FlyProgram, PageTime, TeamPage, TeamPipeline, TeamRole, TeamRow,
    TeamsPage,
};

use crate::{HOSTILE, button, snapshot};

const NOW: i64 = 1_795_121_089;

fn pipeline(id: i64, name: &str) -> TeamPipeline {
    TeamPipeline {
        id,
        name: name.to_owned(),
        vars: None,
        href: format!("/teams/main/pipelines/{name}"),
        is_paused: false,
        is_archived: false,
        is_public: false,
        paused_by: None,
        updated: PageTime::new(NOW - 7200, NOW),
        leads: true,
        expose: Some(button("hidden")),
        moves: vec![button("Up").moves("up"), button("Down").moves("down")],
        actions: vec![button("Rename").ask("name", "New name".to_owned(), name.to_owned())],
        destroy: Some(format!("/airside/teams/main?destroy={id}#destroy")),
    }
}

fn team() -> TeamPage {
    TeamPage {
        name: "main".to_owned(),
        href: "/airside/teams/main".to_owned(),
        role: "owner",
        is_admin: true,
        actions: vec![button("Rename team")],
        roles: vec![
            TeamRole {
                name: "owner",
                users: vec!["local:ana".to_owned()],
                groups: Vec::new(),
            },
            TeamRole {
                name: "viewer",
                users: Vec::new(),
                groups: vec!["oidc:staff".to_owned()],
            },
        ],
        pipelines: vec![
            pipeline(1, "web"),
            TeamPipeline {
                vars: Some("env: prod".to_owned()),
                is_paused: true,
                paused_by: Some("ana".to_owned()),
                ..pipeline(2, "deploy")
            },
            TeamPipeline {
                leads: false,
                is_archived: true,
                moves: Vec::new(),
                expose: None,
                ..pipeline(3, "deploy")
            },
        ],
        destroy: None,
    }
}

#[test]
fn a_team_shows_its_roles_and_pipelines() {
    snapshot("team", &team().page());
}

#[test]
fn destroying_asks_for_the_name() {
    let mut page = team();
    page.destroy = Some(DestroyForm {
        name: "web".to_owned(),
        vars: Some("env: prod".to_owned()),
        url: "/api/v1/teams/main/pipelines/web".to_owned(),
        archive: Some(button("Archive")),
    });
    page.pipelines.clear();
    snapshot("team_destroy", &page.page());
}

#[test]
fn teams_are_listed() {
    let page = TeamsPage {
        teams: vec![TeamRow {
            name: "main".to_owned(),
            href: "/airside/teams/main".to_owned(),
            role: "owner",
            is_admin: true,
            users: 2,
            groups: 1,
            pipelines: 12,
        }],
    };
    snapshot("teams", &page.page());
    assert!(TeamsPage::default().page().body.contains("no team yet"));
}

#[test]
fn fly_is_offered_or_words() {
    let page = DownloadPage {
        version: "8.3.0".to_owned(),
        external_url: "https://ci.example.com".to_owned(),
        programs: vec![FlyProgram {
            system: "Linux",
            machine: "x86-64",
            href: "/api/v1/cli?platform=linux&arch=amd64".to_owned(),
        }],
    };
    snapshot("download", &page.page());
    let none = DownloadPage {
        programs: Vec::new(),
        ..page
    };
    assert!(none.page().body.contains("gives out no fly"));
}

#[test]
fn hostile_names_stay_text_on_teams() {
    let mut page = team();
    page.name = HOSTILE.to_owned();
    page.roles[0].users = vec![HOSTILE.to_owned()];
    page.roles[0].groups = vec![HOSTILE.to_owned()];
    page.pipelines[0] = TeamPipeline {
        vars: Some(HOSTILE.to_owned()),
        is_paused: true,
        paused_by: Some(HOSTILE.to_owned()),
        ..pipeline(1, HOSTILE)
    };
    page.destroy = Some(DestroyForm {
        name: HOSTILE.to_owned(),
        vars: Some(HOSTILE.to_owned()),
        url: HOSTILE.to_owned(),
        archive: None,
    });
    let whole = page.page();
    assert!(!whole.body.contains("<script") && whole.body.contains("&#60;script"));
    assert!(!whole.render(&Default::default()).contains("<script>"));
}
