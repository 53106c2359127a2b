//! Settings of `kubernetes` in `source` and `params`.

use std::{collections::BTreeMap, time::Duration};

use airside_blocking_http::Address;
use airside_model::{chain, read_duration};
use airside_object_status::{FieldPath, FieldTest, FieldTestForm};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

use super::{
    kinds::{ObjectKind, is_name},
    kubeconfig,
};
use crate::{
    Failure, Object, Part,
    inspect::{Form, Forms, field_names},
    lenient::{flag, switch, text, texts},
    request::read as read_settings,
};

/// Time that a put waits where it does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Most parts of a version, files of a get, or fields that a put sets.
const MAX_ENTRIES: usize = 50;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SourceForm {
    #[serde(deserialize_with = "text")]
    kind: Option<String>,
    #[serde(deserialize_with = "text")]
    namespace: Option<String>,
    #[serde(deserialize_with = "text")]
    name: Option<String>,
    #[serde(deserialize_with = "selector")]
    selector: Option<String>,
    version: Option<BTreeMap<String, String>>,
    until: Vec<FieldTestForm>,
    fail: Vec<FieldTestForm>,
    #[serde(deserialize_with = "flag")]
    ignore_generation: bool,
    kubeconfig: Option<Value>,
    #[serde(deserialize_with = "text")]
    server: Option<String>,
    #[serde(deserialize_with = "text")]
    certificate_authority: Option<String>,
    #[serde(deserialize_with = "text")]
    token: Option<String>,
}

/// The identity of requests, and the API server that they go to.
#[derive(Clone)]
pub(super) enum Credentials {
    ServiceAccount,
    Kubeconfig(Value),
    Token {
        server: String,
        certificate_authority: Option<String>,
        token: String,
    },
}

/// The objects that a resource is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ObjectChoice {
    Named(String),
    /// All that have these labels, in the form of a query.
    Selected(String),
    /// The one that a put makes, whatever its name.
    Any,
}

/// The tests of a caller for an object that is done.
#[derive(Clone, Default)]
pub(super) struct EndTests {
    pub(super) until: Vec<FieldTest>,
    pub(super) fail: Vec<FieldTest>,
    pub(super) ignore_generation: bool,
}

/// A source that was understood.
pub(super) struct Source {
    pub(super) kind: ObjectKind,
    pub(super) namespace: Option<String>,
    pub(super) choice: ObjectChoice,
    /// Parts of a version by name; empty where the version is uid, generation and result.
    pub(super) version: Vec<(String, FieldPath)>,
    pub(super) tests: EndTests,
    pub(super) credentials: Credentials,
}

impl Source {
    pub(super) fn read(object: Object) -> Result<Self, Failure> {
        let form: SourceForm = read_settings(Part::Source, object)?;
        let kind = kind(form.kind.as_deref())?;
        let choice = match (&form.name, &form.selector) {
            (Some(_), Some(_)) => {
                let words = "cannot stand beside `name`: an object has a name, several have labels";
                return Err(Failure::source("selector", words));
            }
            (Some(name), None) => ObjectChoice::Named(checked_name("name", name)?),
            (None, Some(selector)) => ObjectChoice::Selected(selector.clone()),
            (None, None) => ObjectChoice::Any,
        };
        let namespace = form.namespace.as_deref();
        let namespace = namespace
            .map(|name| checked_name("namespace", name))
            .transpose()?;
        let version = paths(Part::Source, "version", form.version.unwrap_or_default())?;
        let tests = EndTests {
            until: tests(Part::Source, "until", form.until)?,
            fail: tests(Part::Source, "fail", form.fail)?,
            ignore_generation: form.ignore_generation,
        };
        let credentials = credentials(
            form.kubeconfig,
            form.server,
            form.certificate_authority,
            form.token,
        )?;
        Ok(Self {
            kind,
            namespace,
            choice,
            version,
            tests,
            credentials,
        })
    }
}

fn kind(written: Option<&str>) -> Result<ObjectKind, Failure> {
    let advice = "write the kind like Image.kpack.io/v1alpha2 or Pod/v1";
    let Some(written) = written else {
        return Err(Failure::source("kind", format!("is missing: {advice}")));
    };
    ObjectKind::parse(written)
        .ok_or_else(|| Failure::source("kind", format!("is {written:?}: {advice}")))
}

fn checked_name(key: &str, name: &str) -> Result<String, Failure> {
    if is_name(name) {
        Ok(name.to_owned())
    } else {
        Err(Failure::source(
            key,
            format!("is {name:?}, which is not a valid name in Kubernetes"),
        ))
    }
}

fn credentials(
    kubeconfig: Option<Value>,
    server: Option<String>,
    certificate_authority: Option<String>,
    token: Option<String>,
) -> Result<Credentials, Failure> {
    let missing =
        |key: &str, other: &str| Failure::source(key, format!("is missing beside `{other}`"));
    match (kubeconfig, server, token) {
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
            let words = "has its own server and token; give one or the other";
            Err(Failure::source("kubeconfig", words))
        }
        (Some(config), None, None) => {
            let config = kubeconfig::read(config)?;
            kubeconfig::access(&config)?;
            Ok(Credentials::Kubeconfig(config))
        }
        (None, Some(server), Some(token)) => Ok(Credentials::Token {
            server: server_address("server", &server)?,
            certificate_authority,
            token,
        }),
        (None, Some(_), None) => Err(missing("token", "server")),
        (None, None, Some(_)) => Err(missing("server", "token")),
        (None, None, None) if certificate_authority.is_some() => {
            Err(missing("server", "certificate_authority"))
        }
        (None, None, None) => Ok(Credentials::ServiceAccount),
    }
}

/// Checks the address of an API server; returns it without a slash at the end.
pub(super) fn server_address(key: &str, url: &str) -> Result<String, Failure> {
    let bad = |why: String| Failure::source(key, format!("is not valid: {why}"));
    let address = Address::parse(url).map_err(|error| bad(chain(&error)))?;
    if address.target().contains('?') {
        return Err(bad("the address of an API server has no query".to_owned()));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn tests(part: Part, key: &str, forms: Vec<FieldTestForm>) -> Result<Vec<FieldTest>, Failure> {
    if forms.len() > MAX_ENTRIES {
        return Err(bad(part, key, format!("has more than {MAX_ENTRIES} tests")));
    }
    let tests = forms.into_iter().map(FieldTest::try_from);
    let tests: Result<Vec<_>, _> = tests.collect();
    tests.map_err(|error| bad(part, key, format!("is not valid: {}", chain(&error))))
}

fn bad(part: Part, key: &str, words: String) -> Failure {
    match part {
        Part::Source => Failure::source(key, words),
        Part::Params | Part::Version => Failure::params(key, words),
    }
}

/// Reads a map of names and paths. The names become names of files.
fn paths(
    part: Part,
    key: &str,
    written: BTreeMap<String, String>,
) -> Result<Vec<(String, FieldPath)>, Failure> {
    if written.len() > MAX_ENTRIES {
        return Err(bad(
            part,
            key,
            format!("has more than {MAX_ENTRIES} entries"),
        ));
    }
    let entry = |(name, path): (String, String)| {
        let is_taken = matches!(name.as_str(), "object" | "object.json" | "object.yml");
        if !is_name(&name) || name.starts_with('.') || is_taken {
            let words = format!("has {name:?}, which cannot be the name of its file");
            return Err(bad(part, key, words));
        }
        let path = FieldPath::parse(&path)
            .map_err(|error| bad(part, key, format!("has {name:?}: {}", chain(&error))))?;
        Ok((name, path))
    };
    written.into_iter().map(entry).collect()
}

/// Reads labels: a map, or the text that `kubectl -l` takes.
fn selector<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let written = match Value::deserialize(from)? {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        Value::Object(labels) => {
            let mut pairs = Vec::new();
            for (key, value) in labels {
                match value {
                    Value::String(value) => pairs.push(format!("{key}={value}")),
                    value @ (Value::Number(_) | Value::Bool(_)) => {
                        pairs.push(format!("{key}={value}"));
                    }
                    _ => return Err(D::Error::custom(format!("the label {key:?} has no text"))),
                }
            }
            pairs.join(",")
        }
        other => return Err(D::Error::custom(format!("{other} is no map of labels"))),
    };
    if written.trim().is_empty() || written.len() > 4096 {
        return Err(D::Error::custom("labels are missing, or too long"));
    }
    Ok(Some(written))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PutForm {
    #[serde(deserialize_with = "texts")]
    manifests: Vec<String>,
    set: Map<String, Value>,
    until: Option<Vec<FieldTestForm>>,
    fail: Option<Vec<FieldTestForm>>,
    #[serde(deserialize_with = "switch")]
    ignore_generation: Option<bool>,
    #[serde(deserialize_with = "text")]
    timeout: Option<String>,
    follow: FollowSwitch,
    #[serde(deserialize_with = "text")]
    on_abort: Option<String>,
    prune: Option<PruneForm>,
    #[serde(deserialize_with = "flag")]
    force_conflicts: bool,
}

/// `follow: false`, or a map of what is followed.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum FollowSwitch {
    All(bool),
    Some(FollowForm),
}

impl Default for FollowSwitch {
    fn default() -> Self {
        Self::All(true)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FollowForm {
    #[serde(deserialize_with = "switch")]
    logs: Option<bool>,
    #[serde(deserialize_with = "switch")]
    events: Option<bool>,
    #[serde(deserialize_with = "selector")]
    selector: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PruneForm {
    #[serde(deserialize_with = "text")]
    group: Option<String>,
    #[serde(deserialize_with = "texts")]
    kinds: Vec<String>,
}

/// The parts of an object's pods that go to the build's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FollowChoice {
    pub(super) logs: bool,
    pub(super) events: bool,
    /// Labels of the pods, where the kind does not say.
    pub(super) selector: Option<String>,
}

/// The objects that a put removes because it no longer has them.
#[derive(Clone, Debug)]
pub(super) struct PruneChoice {
    pub(super) group: String,
    pub(super) kinds: Vec<ObjectKind>,
}

/// Params of a put that were understood.
pub(super) struct PutParams {
    pub(super) manifests: Vec<String>,
    pub(super) set: Vec<(FieldPath, Value)>,
    pub(super) until: Option<Vec<FieldTest>>,
    pub(super) fail: Option<Vec<FieldTest>>,
    pub(super) ignore_generation: Option<bool>,
    pub(super) timeout: Duration,
    pub(super) follow: FollowChoice,
    pub(super) delete_on_abort: bool,
    pub(super) prune: Option<PruneChoice>,
    pub(super) force_conflicts: bool,
}

impl PutParams {
    pub(super) fn read(object: Object) -> Result<Self, Failure> {
        let form: PutForm = read_settings(Part::Params, object)?;
        let optional = |key: &str, forms: Option<Vec<FieldTestForm>>| {
            forms
                .map(|forms| tests(Part::Params, key, forms))
                .transpose()
        };
        Ok(Self {
            manifests: form.manifests,
            set: set(form.set)?,
            until: optional("until", form.until)?,
            fail: optional("fail", form.fail)?,
            ignore_generation: form.ignore_generation,
            timeout: timeout(form.timeout.as_deref())?,
            follow: follow(form.follow),
            delete_on_abort: match form.on_abort.as_deref() {
                None | Some("leave") => false,
                Some("delete") => true,
                Some(other) => {
                    let words = format!("is {other:?}; it is either leave or delete");
                    return Err(Failure::params("on_abort", words));
                }
            },
            prune: form.prune.map(prune).transpose()?,
            force_conflicts: form.force_conflicts,
        })
    }
}

fn set(written: Map<String, Value>) -> Result<Vec<(FieldPath, Value)>, Failure> {
    if written.len() > MAX_ENTRIES {
        let words = format!("has more than {MAX_ENTRIES} fields");
        return Err(Failure::params("set", words));
    }
    let entry = |(path, value): (String, Value)| {
        let path = FieldPath::parse(&path);
        let path = path
            .map_err(|error| Failure::params("set", format!("is not valid: {}", chain(&error))))?;
        Ok((path, value))
    };
    written.into_iter().map(entry).collect()
}

fn timeout(written: Option<&str>) -> Result<Duration, Failure> {
    let Some(written) = written else {
        return Ok(DEFAULT_TIMEOUT);
    };
    read_duration(written)
        .map_err(|why| Failure::params("timeout", format!("is {written:?}, which {why}")))
}

fn follow(written: FollowSwitch) -> FollowChoice {
    match written {
        FollowSwitch::All(all) => FollowChoice {
            logs: all,
            events: all,
            selector: None,
        },
        FollowSwitch::Some(form) => FollowChoice {
            logs: form.logs.unwrap_or(true),
            events: form.events.unwrap_or(true),
            selector: form.selector,
        },
    }
}

fn prune(form: PruneForm) -> Result<PruneChoice, Failure> {
    let group = form.group.unwrap_or_default();
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends_well = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let is_fine = group.len() <= 63
        && group.bytes().all(is_label)
        && ends_well(group.bytes().next())
        && ends_well(group.bytes().next_back());
    if !is_fine {
        let words = format!("is {group:?}: give a value that a label may have");
        return Err(Failure::params("prune.group", words));
    }
    if form.kinds.is_empty() || form.kinds.len() > MAX_ENTRIES {
        let words = format!("is no list of 1 to {MAX_ENTRIES} kinds, such as apps/v1/Deployment");
        return Err(Failure::params("prune.kinds", words));
    }
    let kind = |text: String| {
        ObjectKind::parse(&text).ok_or_else(|| {
            let words = format!("has {text:?}: write a kind like apps/v1/Deployment");
            Failure::params("prune.kinds", words)
        })
    };
    let kinds = form.kinds.into_iter().map(kind).collect::<Result<_, _>>()?;
    Ok(PruneChoice { group, kinds })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct GetForm {
    outputs: BTreeMap<String, String>,
    #[serde(deserialize_with = "flag")]
    secrets: bool,
}

/// Params of a get that were understood.
pub(super) struct GetParams {
    pub(super) outputs: Vec<(String, FieldPath)>,
    pub(super) secrets: bool,
}

impl GetParams {
    pub(super) fn read(object: Object) -> Result<Self, Failure> {
        let form: GetForm = read_settings(Part::Params, object)?;
        Ok(Self {
            outputs: paths(Part::Params, "outputs", form.outputs)?,
            secrets: form.secrets,
        })
    }
}

/// The readers of the type's settings.
pub(crate) const FORMS: Forms = Forms {
    source: Form {
        keys: field_names::<SourceForm>,
        read: |object| Source::read(object).map(drop),
    },
    get: Form {
        keys: field_names::<GetForm>,
        read: |object| GetParams::read(object).map(drop),
    },
    put: Form {
        keys: field_names::<PutForm>,
        read: |object| PutParams::read(object).map(drop),
    },
};
