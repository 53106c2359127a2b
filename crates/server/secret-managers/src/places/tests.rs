use super::*;

fn asker(team: &str) -> Asker {
    Asker {
        team: team.to_owned(),
        pipeline: Some("p".to_owned()),
        ..Asker::default()
    }
}

fn places(templates: &[&str], allowed: &[&str]) -> Result<Places, Error> {
    let parsed = templates.iter().map(|text| Template::parse(text).unwrap());
    let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
    Places::new(parsed.collect(), Owner::Installation, &allowed)
}

const TEAM: &str = "/concourse/{{.Team}}/{{.Secret}}";

#[test]
fn hostile_names_lead_to_no_other_team() {
    for (shared, name, found) in [
        ("/concourse/{{.Secret}}", "x", Some("/concourse/x")),
        ("/concourse/{{.Secret}}", "victim/x", None),
        (
            "/concourse/{{.Secret}}",
            "common/x",
            Some("/concourse/common/x"),
        ),
        ("/{{.Secret}}", "concourse/victim/x", None),
        ("/conc{{.Secret}}", "ourse/victim/x", None),
        ("/concourse/{{.Pipeline}}/{{.Secret}}", "x", None),
        (
            "/concourse/shared/{{.Secret}}",
            "a/x",
            Some("/concourse/shared/a/x"),
        ),
        ("/elsewhere/{{.Secret}}", "a/x", Some("/elsewhere/a/x")),
    ] {
        let places = places(&[TEAM, shared], &["common/"]).unwrap();
        let mut all = places.paths(&asker("attacker"), name).unwrap().into_iter();
        assert_eq!(all.next(), Some(format!("/concourse/attacker/{name}")));
        assert_eq!(all.next().as_deref(), found, "{shared} {name}");
    }
}

#[test]
fn hostile_names_of_teams_are_no_folders_of_others() {
    let shared = places(&[TEAM, "/concourse/shared/{{.Secret}}"], &[]).unwrap();
    let two = places(&[TEAM, "/concourse/b/{{.Team}}/{{.Secret}}"], &[]).unwrap();
    let partly = places(&[TEAM, "/concourse/b-{{.Team}}/{{.Secret}}"], &[]).unwrap();
    for (places, team, fine) in [
        (&shared, "main", true),
        (&shared, "shared", false),
        (&shared, "shared2", true),
        (&shared, "main/p", false),
        (&shared, "..", false),
        (&shared, "", false),
        (&two, "b", false),
        (&two, "bb", true),
        (&partly, "b-victim", false),
        (&partly, "b", true),
    ] {
        assert_eq!(places.paths(&asker(team), "x").is_ok(), fine, "{team:?}");
    }
}

#[test]
fn templates_that_mix_teams_up_are_refused() {
    for template in [
        "/concourse/{{.Team}}-{{.Secret}}",
        "/concourse/{{.Team}}{{.Secret}}",
        "/concourse/{{.Pipeline}}/{{.Team}}/{{.Secret}}",
        "/concourse/{{.Secret}}/{{.Team}}",
    ] {
        let error = places(&[template], &[]).err().unwrap();
        assert!(error.to_string().contains("{{.Team}}"), "{error}");
    }
    assert!(places(&["teams-{{.Team}}/{{.Secret}}"], &[]).is_ok());
}

#[test]
fn without_folders_of_teams_all_is_shared_and_a_pipelines_own_has_no_fence() {
    let places = places(&["/{{.Secret}}"], &[]).unwrap();
    assert_eq!(places.paths(&asker("t"), "a/b").unwrap(), ["/a/b"]);
    let template = Template::parse("/{{.Team}}-{{.Secret}}").unwrap();
    let own = Places::new(vec![template], Owner::Pipeline, &[]).unwrap();
    assert_eq!(own.paths(&asker("t"), "a/b").unwrap(), ["/t-a/b"]);
    assert!(own.paths(&asker("t"), "a/../b").is_err());
}

#[test]
fn a_place_above_the_folders_of_teams_is_known() {
    let shared = places(&[TEAM, "/concourse/{{.Secret}}"], &[]).unwrap();
    for (place, holds) in [
        ("/concourse", true),
        ("/concourse/victim", true),
        ("/concourse/victim/x", false),
        ("/elsewhere/x", false),
    ] {
        assert_eq!(shared.may_hold_teams(place), holds, "{place}");
    }
}
