//! The source of a `docker-image`, in the words of `registry-image`.

use serde_json::{Map, Value, json};

type Source = Map<String, Value>;

/// Keys that mean the same in both.
const SAME: &[&str] = &[
    "repository",
    "username",
    "password",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
];

/// Keys for Docker's own daemon, which is not there.
const OF_THE_DAEMON: &[&str] = &[
    "additional_private_registries",
    "client_certs",
    "insecure_registries",
    "max_concurrent_downloads",
    "max_concurrent_uploads",
    "ca_certs",
    "registry_mirror",
    "tag",
];

/// The source for `registry-image`. A key that neither type has stays, so that `registry-image`
/// complains of it.
pub(super) fn registry_source(mut docker: Source) -> Source {
    let mut source = Source::new();
    source.insert("tag".to_owned(), tag(&docker));
    if is_insecure(&docker) {
        source.insert("insecure".to_owned(), Value::Bool(true));
    }
    if let Some(certificates) = certificates(&docker) {
        source.insert("ca_certs".to_owned(), certificates);
    }
    if let Some(mirror) = mirror(&docker) {
        source.insert("registry_mirror".to_owned(), mirror);
    }
    let region = ecr_region(&docker);
    for key in SAME {
        if let Some(value) = docker.remove(*key) {
            source.insert((*key).to_owned(), value);
        }
    }
    if let Some((account, region, repository)) = region {
        source.insert("aws_account_id".to_owned(), json!(account));
        source.insert("aws_region".to_owned(), json!(region));
        source.insert("repository".to_owned(), json!(repository));
    }
    docker.retain(|key, _| !OF_THE_DAEMON.contains(&key.as_str()));
    source.extend(docker);
    source
}

/// Docker's type means `latest` where it says nothing; `registry-image` would look at all tags.
fn tag(docker: &Source) -> Value {
    match docker.get("tag") {
        None | Some(Value::Null) => json!("latest"),
        Some(Value::Number(number)) => json!(number.to_string()),
        Some(tag) => tag.clone(),
    }
}

/// The registry in the repository's name, if there is one.
fn host(docker: &Source) -> Option<&str> {
    let (first, _) = docker.get("repository")?.as_str()?.split_once('/')?;
    let is_host = first.contains(['.', ':']) || first == "localhost";
    is_host.then_some(first)
}

fn is_insecure(docker: &Source) -> bool {
    let insecure = docker.get("insecure_registries").and_then(Value::as_array);
    let host = host(docker);
    insecure.is_some_and(|hosts| {
        hosts
            .iter()
            .any(|other| other.as_str() == host && host.is_some())
    })
}

/// The certificates for the repository's own host.
fn certificates(docker: &Source) -> Option<Value> {
    let host = host(docker)?;
    let given = docker.get("ca_certs")?.as_array()?.iter();
    let own = given.filter(|given| given["domain"].as_str() == Some(host));
    let certificates: Vec<&Value> = own.map(|given| &given["cert"]).collect();
    (!certificates.is_empty()).then(|| json!(certificates))
}

/// `https://mirror.example.com` is the mirror's host there.
fn mirror(docker: &Source) -> Option<Value> {
    let address = docker.get("registry_mirror")?.as_str()?;
    let host = address.split_once("://").map_or(address, |(_, host)| host);
    Some(json!({"host": host.trim_end_matches('/')}))
}

/// Account, region and name of a repository at Amazon's registry that keys are given for.
fn ecr_region(docker: &Source) -> Option<(String, String, String)> {
    docker.get("aws_access_key_id")?;
    let (host, name) = docker.get("repository")?.as_str()?.split_once('/')?;
    let (account, rest) = host.split_once(".dkr.ecr.")?;
    let region = rest.strip_suffix(".amazonaws.com")?;
    Some((account.to_owned(), region.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(docker: Value) -> Value {
        let Value::Object(docker) = docker else {
            return Value::Null;
        };
        Value::Object(registry_source(docker))
    }

    #[test]
    fn keys_are_those_of_registry_image() {
        assert_eq!(
            mapped(json!({"repository": "busybox"})),
            json!({"repository": "busybox", "tag": "latest"})
        );
        assert_eq!(
            mapped(json!({
                "repository": "r.example:5000/a/b", "tag": 3.9, "username": "((u))", "password": "((p))",
                "insecure_registries": ["other:1", "r.example:5000"], "max_concurrent_downloads": 3,
                "ca_certs": [{"domain": "r.example:5000", "cert": "PEM"}, {"domain": "x", "cert": "no"}],
                "registry_mirror": "https://mirror.example/",
            })),
            json!({
                "repository": "r.example:5000/a/b", "tag": "3.9", "username": "((u))", "password": "((p))",
                "insecure": true, "ca_certs": ["PEM"], "registry_mirror": {"host": "mirror.example"},
            })
        );
        assert_eq!(
            mapped(json!({
                "repository": "012.dkr.ecr.eu-west-1.amazonaws.com/team/app", "tag": "((t))",
                "aws_access_key_id": "id", "aws_secret_access_key": "secret",
            })),
            json!({
                "repository": "team/app", "tag": "((t))", "aws_account_id": "012", "aws_region": "eu-west-1",
                "aws_access_key_id": "id", "aws_secret_access_key": "secret",
            })
        );
        assert_eq!(
            mapped(json!({"repository": "a", "repositry": "b"})),
            json!({"repository": "a", "tag": "latest", "repositry": "b"}),
            "what is not known is complained of later"
        );
    }
}
