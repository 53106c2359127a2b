//! Credentials for one registry.

use airside_runtime::{Image, PlacementSpec};
use serde_json::{Value, json};

use crate::own_images::Login;

/// The kubelet's name for the registry of images without one in their name.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// A user of one registry, on behalf of one team. It holds a password, so it does not show itself.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Credential {
    pub(super) team: String,
    registry: String,
    username: String,
    password: String,
}

impl Credential {
    /// Returns the credential of a step's image source; none where the nodes' own rights are
    /// enough.
    pub(crate) fn of(spec: &PlacementSpec) -> Option<Self> {
        let Image::Registry {
            reference, source, ..
        } = &spec.image
        else {
            return None;
        };
        let text = |key: &str| source.0.get(key).and_then(Value::as_str);
        let (username, password) = (text("username")?, text("password")?);
        if username.is_empty() {
            return None;
        }
        Some(Self {
            team: spec.labels.team.clone(),
            registry: registry(reference),
            username: username.to_owned(),
            password: password.to_owned(),
        })
    }

    /// Returns a team's credential for the server's own registry.
    pub(crate) fn own(team: &str, registry: &str, login: Login) -> Self {
        Self {
            team: team.to_owned(),
            registry: registry.to_owned(),
            username: login.username,
            password: login.password,
        }
    }

    /// Returns the configuration file that `docker login` would write.
    pub(super) fn docker_config(&self) -> String {
        let user = json!({"username": self.username, "password": self.password});
        json!({"auths": {self.registry.as_str(): user}}).to_string()
    }
}

fn registry(reference: &str) -> String {
    match reference.split_once('/') {
        Some(("docker.io" | "index.docker.io" | "registry-1.docker.io", _)) => {
            DOCKER_HUB.to_owned()
        }
        Some((host, _)) if host.contains(['.', ':']) || host == "localhost" => host.to_owned(),
        _ => DOCKER_HUB.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use airside_runtime::PullSource;

    use super::*;
    use crate::pod::tests::spec;

    fn with(reference: &str, source: Value) -> PlacementSpec {
        let Value::Object(source) = source else {
            panic!("{source}")
        };
        PlacementSpec {
            image: Image::Registry {
                reference: reference.to_owned(),
                source: PullSource(source),
                ask_registry: true,
                user: None,
            },
            ..spec()
        }
    }

    #[test]
    fn the_registry_is_named_as_the_kubelet_does() {
        for (reference, expected) in [
            ("busybox", DOCKER_HUB),
            ("library/busybox:1", DOCKER_HUB),
            ("docker.io/library/busybox", DOCKER_HUB),
            ("registry.example/a/b@sha256:00", "registry.example"),
            ("registry:5000/a", "registry:5000"),
            ("localhost/a", "localhost"),
        ] {
            assert_eq!(registry(reference), expected, "{reference}");
        }
    }

    #[test]
    fn only_a_whole_login_is_one() {
        let whole = with("r.example/a", json!({"username": "u", "password": "p\""}));
        let config = Credential::of(&whole).unwrap().docker_config();
        let config: Value = serde_json::from_str(&config).unwrap();
        let expected = json!({"auths": {"r.example": {"username": "u", "password": "p\""}}});
        assert_eq!(config, expected);
        for source in [
            json!({}),
            json!({"username": "u"}),
            json!({"password": "p"}),
            json!({"username": "", "password": "p"}),
            json!({"username": 1, "password": "p"}),
        ] {
            assert!(Credential::of(&with("r.example/a", source)).is_none());
        }
        assert!(Credential::of(&spec()).is_none());
    }

    #[test]
    fn teams_do_not_share_one() {
        let source = json!({"username": "u", "password": "p"});
        let ours = with("r.example/a", source);
        let mut theirs = ours.clone();
        theirs.labels.team = "other".to_owned();
        assert!(Credential::of(&ours) == Credential::of(&ours.clone()));
        assert!(Credential::of(&ours) != Credential::of(&theirs));
    }
}
