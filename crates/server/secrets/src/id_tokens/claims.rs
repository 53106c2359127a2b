//! Claims of a token about its build.

use airside_secret_managers::Asker;
use airside_store::Micros;
use serde_json::{Map, Value, json};

use super::settings::{IdTokenSettings, SubjectScope};

pub(super) fn claims(
    issuer: &str,
    asker: &Asker,
    settings: &IdTokenSettings,
    now: Micros,
) -> Value {
    let mut claims = Map::new();
    let mut claim = |name: &str, value: Value| claims.insert(name.to_owned(), value);
    claim("iss", json!(issuer));
    claim("sub", json!(subject(asker, settings.subject)));
    if !settings.audience.is_empty() {
        claim("aud", json!(settings.audience));
    }
    claim("iat", json!(now.seconds()));
    claim("exp", json!(now.plus(settings.expires_in).seconds()));
    claim("team", json!(asker.team));
    claim(
        "pipeline",
        json!(asker.pipeline.as_deref().unwrap_or_default()),
    );
    claim("job", json!(asker.job.as_deref().unwrap_or_default()));
    if !asker.instance_vars.0.is_empty() {
        claim("instance_vars", json!(asker.instance_vars.0));
    }
    Value::Object(claims)
}

/// Parts of the asker, the widest first. A slash within one cannot be taken for one between two.
fn subject(asker: &Asker, scope: SubjectScope) -> String {
    let parts = [
        asker.team.clone(),
        asker.pipeline.clone().unwrap_or_default(),
        asker.instance_vars.shown(airside_yaml::is_text),
        asker.job.clone().unwrap_or_default(),
    ];
    let count = match scope {
        SubjectScope::Team => 1,
        SubjectScope::Pipeline => 2,
        SubjectScope::Instance => 3,
        SubjectScope::Job => 4,
    };
    parts[..count]
        .iter()
        .map(|part| part.replace('/', "%2F"))
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_names_as_much_as_was_asked_for() {
        let mut asker = Asker {
            team: "t/eam".to_owned(),
            pipeline: Some("p".to_owned()),
            job: Some("j".to_owned()),
            ..Asker::default()
        };
        asker
            .instance_vars
            .0
            .insert("branch".to_owned(), json!("a/b"));
        for (scope, expected) in [
            (SubjectScope::Team, "t%2Feam"),
            (SubjectScope::Pipeline, "t%2Feam/p"),
            (SubjectScope::Instance, "t%2Feam/p/branch:\"a%2Fb\""),
            (SubjectScope::Job, "t%2Feam/p/branch:\"a%2Fb\"/j"),
        ] {
            assert_eq!(subject(&asker, scope), expected);
        }
        let check = Asker {
            team: "t".to_owned(),
            pipeline: Some("p".to_owned()),
            ..Asker::default()
        };
        assert_eq!(subject(&check, SubjectScope::Job), "t/p//");
    }

    #[test]
    fn claims_are_those_of_concourse() {
        let settings = IdTokenSettings::read(&json!({"audience": ["a"], "expires_in": "90s"}));
        let asker = Asker {
            team: "t".to_owned(),
            pipeline: Some("p".to_owned()),
            job: Some("j".to_owned()),
            ..Asker::default()
        };
        let found = claims(
            "http://i",
            &asker,
            &settings.unwrap(),
            Micros(1_000_000_000),
        );
        let expected = json!({"iss": "http://i", "sub": "t/p", "aud": ["a"], "iat": 1000, "exp": 1090,
            "team": "t", "pipeline": "p", "job": "j"});
        assert_eq!(found, expected);
        for (config, words) in [
            (
                json!({"expires_in": "25h"}),
                "its expires_in is longer than 24h",
            ),
            (
                json!({"expires_in": "soon"}),
                "its expires_in, \"soon\", is not a duration; write it like 90s, 5m or 1h30m",
            ),
            (
                json!({"audience": "x"}),
                "its config is wrong: invalid type: string \"x\", expected a sequence",
            ),
        ] {
            assert_eq!(IdTokenSettings::read(&config).unwrap_err(), words);
        }
    }
}
